// Which addresses a destination may have. An alert goes to another machine: with one that points back at the appliance, or at
// a link-local address (where clouds keep what a machine's own credentials are), whoever may edit destinations could speak
// to what only listens inside. A name is looked up when something is sent, and what it stands for then is what counts.
import { lookup as resolve } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { StoredDestination } from './destinations.ts';

export interface Reach {
  /** Why nothing is sent to an address, or null. What is no address gives null: a name is judged by what it stands for. */
  problem(address: string): string | null;
  /**
   * One address of a host, IPv4 before IPv6; the host itself when it cannot be looked up, so that who connects says why.
   * Throws a problem when it has none that may be reached.
   */
  address(host: string): Promise<string>;
  /** For sockets: only what may be reached. */
  readonly lookup: LookupFunction;
}

const never = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
] as const)
  never.addSubnet(network, bits, 'ipv4');
never.addSubnet('fe80::', 10, 'ipv6');
for (const address of ['::', '::1']) never.addAddress(address, 'ipv6');

/** Addresses of this machine, as they are now. */
const own = () =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address.toLowerCase()));

/** Also ::ffff:127.0.0.1 and ::ffff:7f00:1, which mean an IPv4 address. */
function plain(address: string): string {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (isIP(bare) !== 6) return bare;
  const short = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const mapped = /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped === null) return short;
  const [high, low] = [Number.parseInt(mapped[1] as string, 16), Number.parseInt(mapped[2] as string, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function problemOf(address: string): string | null {
  const one = plain(address);
  const family = isIP(one);
  if (family === 0) return /^localhost\.?$|\.localhost\.?$/i.test(one) ? 'is this appliance itself' : null;
  if (never.check(one, family === 4 ? 'ipv4' : 'ipv6')) {
    return one.startsWith('169.254.') || one.startsWith('fe') ? 'is a link-local address' : 'is this appliance itself';
  }
  return own().includes(one) ? 'is this appliance itself' : null;
}

function reachOf(problem: Reach['problem']): Reach {
  const allowed = async (host: string) => {
    const all = await resolve(host, { all: true });
    const good = all.filter(({ address }) => problem(address) === null);
    if (good.length > 0) return good;
    const first = all[0] as (typeof all)[number];
    const said = host === first.address ? host : `${host}, at ${first.address},`;
    throw fail(
      'command_failed',
      `${said} ${problem(first.address)}: nothing is sent there.`,
      'Give the address of another machine.',
    );
  };
  return {
    problem,
    address: async (host) => {
      try {
        const all = await allowed(host.replace(/^\[|\]$/g, ''));
        return (all.find(({ family }) => family === 4) ?? (all[0] as (typeof all)[number])).address;
      } catch (error) {
        if (error instanceof ProblemError) throw error;
        return host;
      }
    },
    lookup: (host, options, done) => {
      allowed(host).then(
        (all) => {
          if (options.all) return done(null, all);
          const wanted = options.family === 4 || options.family === 6 ? options.family : undefined;
          const one = all.find(({ family }) => wanted === undefined || family === wanted) ?? all[0];
          done(null, one?.address as string, one?.family);
        },
        (error: Error) => done(error, ''),
      );
    },
  };
}

/** Other machines only. */
export const elsewhere = reachOf(problemOf);
/** This one as well: where the receivers run beside the appliance, in development. */
export const anywhere = reachOf(() => null);

/** The hosts that a destination speaks to, each with the field that names it. */
export function hostsOf(destination: StoredDestination): readonly (readonly [path: string, host: string])[] {
  const { email, snmp, syslog, webhook } = destination;
  const host = (url: string) => URL.parse(url)?.hostname ?? '';
  return [
    ...(email === undefined ? [] : [['/email/host', email.host] as const]),
    ...(email?.login === 'xoauth2' ? [['/email/tokenUrl', host(email.tokenUrl ?? '')] as const] : []),
    ...(snmp === undefined ? [] : [['/snmp/host', snmp.host] as const]),
    ...(syslog === undefined ? [] : [['/syslog/host', syslog.host] as const]),
    ...(webhook === undefined ? [] : [['/webhook/url', host(webhook.url)] as const]),
  ];
}

/** Throws what is wrong with an address that stands in the settings themselves. */
export function mustBeReachable(destination: StoredDestination, reach: Reach): void {
  const errors = hostsOf(destination).flatMap(([path, host]) => {
    const message = reach.problem(host);
    return message === null ? [] : [{ path, message: `${message}: give another machine` }];
  });
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw fail('invalid_request', `The destination was refused: ${words}.`, undefined, errors);
}
