// The addresses of the simulated machine. execd's own program decides what may be tried. A change holds after two seconds. It is taken
// back when its time is over, or when another machine has the address: as execd does it.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { PlatformLink } from '../machine.ts';
import type {
  NetworkDocument,
  NetworkFamily,
  NetworkInterface,
  NetworkLink,
  NetworkNow,
  NetworkPlatform,
  NetworkTry,
  PlatformNetwork,
} from '../network-settings.ts';
import { askProgram } from './program.ts';

export interface SimNetworkState {
  kept: NetworkDocument | null;
  ended: { at: string; why: string } | null;
  /** Addresses that another machine has. */
  duplicates: string[];
  /** Of the gateways and of DHCP: nobody answers. */
  silent: boolean;
}
export const noNetwork = (): SimNetworkState => ({ kept: null, ended: null, duplicates: [], silent: false });

const DEFAULT: NetworkDocument = {
  ...{ version: 1, interfaces: [], routes: [], dns: [], search: [], dnsFromNetwork: true },
};
const DELAY_MS = 2_000;
const GATEWAY = '192.0.2.1';

export interface SimNetworkParts {
  readonly state: () => SimNetworkState;
  readonly links: () => readonly PlatformLink[];
  readonly save: () => void;
  readonly clock: Clock;
  /** The execd program. */
  readonly program: (() => string) | undefined;
}

export class SimNetwork implements NetworkPlatform {
  readonly #parts: SimNetworkParts;
  #tried: { document: NetworkDocument; token: string; since: number; until: number } | null = null;

  constructor(parts: SimNetworkParts) {
    this.#parts = parts;
  }

  get #kept(): NetworkDocument {
    return this.#parts.state().kept ?? DEFAULT;
  }

  #isTaken(address: string): boolean {
    return this.#parts.state().duplicates.includes(address);
  }

  #takeBack(why: string) {
    this.#tried = null;
    this.#parts.state().ended = { at: iso(this.#parts.clock.now()), why };
    this.#parts.save();
  }

  #holds(): NetworkDocument {
    const tried = this.#tried;
    const begun = tried !== null && this.#parts.clock.monotonic() - tried.since >= DELAY_MS;
    return begun ? tried.document : this.#kept;
  }

  /** Ends what has to end. */
  #look() {
    const tried = this.#tried;
    if (tried === null) return;
    const { clock } = this.#parts;
    const given = this.#holds() === tried.document ? this.#now().links.flatMap(({ addresses }) => addresses) : [];
    const taken = given.find(({ duplicate }) => duplicate);
    if (taken !== undefined) this.#takeBack(`Another machine has the address ${taken.address} already.`);
    else if (tried.until <= clock.monotonic()) this.#takeBack('Nobody confirmed it in time.');
  }

  #addresses(family: NetworkFamily, own: readonly string[]): string[] {
    return [...family.addresses, ...(family.method === 'dhcp' || family.method === 'auto' ? own : [])];
  }

  #link(one: NetworkInterface, port: PlatformLink | undefined, carrier: boolean): NetworkLink {
    const own = (port?.addresses ?? [])
      .filter(({ address }) => !address.startsWith('fe80:'))
      .map(({ address, prefix }) => `${address}/${prefix}`);
    const has = [
      ...this.#addresses(
        one.ipv4,
        own.filter((text) => !text.includes(':')),
      ),
      ...this.#addresses(
        one.ipv6,
        own.filter((text) => text.includes(':')),
      ),
    ];
    const bond = this.#holds().interfaces.find(({ members }) => members.includes(one.name));
    return {
      ...{ name: port?.name ?? one.name, kind: one.kind, mac: one.mac, carrier, mtu: one.mtu },
      ...{ bond: bond?.name ?? '', parent: one.parent, id: one.id, mode: one.mode },
      addresses: carrier ? has.map((address) => ({ address, duplicate: this.#isTaken(address), trying: false })) : [],
    };
  }

  #now(): NetworkNow {
    const document = this.#holds();
    const ports = this.#parts.links().filter(({ bond, mac }) => !bond && mac !== null);
    const asks: NetworkFamily = { method: 'dhcp', addresses: [], gateway: '' };
    const links = ports.map((port) => {
      const unset: NetworkInterface = {
        ...{ name: port.name, kind: 'port', mac: port.mac ?? '', mtu: port.mtu ?? 1500, ipv4: asks },
        ipv6: { ...asks, method: 'auto' },
        ...{ mode: '', members: [], fastLacp: false, parent: '', id: 0 },
      };
      const set = document.interfaces.find(({ kind, mac }) => kind === 'port' && mac === port.mac);
      return this.#link(set ?? unset, port, port.carrier);
    });
    const made: NetworkLink[] = [];
    for (const one of document.interfaces.filter(({ kind }) => kind !== 'port')) {
      const under = one.kind === 'bond' ? one.members : [one.parent];
      const carrier = [...links, ...made].some((link) => under.includes(link.name) && link.carrier);
      made.push(this.#link(one, undefined, carrier));
    }
    const all = [...links, ...made];
    const named = document.interfaces.flatMap(({ name, ipv4, ipv6 }) =>
      [ipv4.gateway, ipv6.gateway].filter((text) => text !== '').map((address) => ({ address, interface: name })),
    );
    const dynamic = all.find(({ addresses }) => addresses.some(({ address }) => address === '192.0.2.10/24'));
    const given = named.length === 0 && dynamic !== undefined ? [{ address: GATEWAY, interface: dynamic.name }] : [];
    return {
      links: all,
      gateways: [...named, ...given].map((one) => ({ ...one, answers: !this.#parts.state().silent })),
      dns: [...document.dns, ...(document.dnsFromNetwork ? ['192.0.2.53'] : [])],
      search: [...document.search],
    };
  }

  async read(): Promise<PlatformNetwork> {
    this.#look();
    const { state, clock } = this.#parts;
    const tried = this.#tried;
    return structuredClone({
      kept: this.#kept,
      origin: state().kept === null ? 'default' : 'kept',
      tried:
        tried === null
          ? null
          : {
              ...{ document: tried.document, token: tried.token },
              secondsLeft: (tried.until - clock.monotonic()) / 1000,
              missing: this.#holds() === tried.document ? '' : 'It is being set.',
            },
      ended: state().ended,
      now: this.#now(),
    });
  }

  async try({ document, seconds, isolated }: NetworkTry): Promise<string> {
    this.#look();
    const { program, clock } = this.#parts;
    if (program === undefined) throw fail('service_unavailable', 'This simulation was given no program of execd.');
    if (this.#tried !== null) {
      throw fail('conflict', 'Another change of the network is being tried.', 'Confirm it or take it back first.');
    }
    const body = { document, isolated, kept: this.#kept, now: this.#now() };
    const checked = (await askProgram(program(), ['--check-network'], body)) as { document: NetworkDocument };
    const since = clock.monotonic();
    this.#tried = { document: checked.document, token: randomUUID(), since, until: since + seconds * 1000 };
    return this.#tried.token;
  }

  #find(token: string) {
    this.#look();
    if (this.#tried?.token === token) return this.#tried;
    const why = this.#parts.state().ended?.why;
    throw fail(
      'conflict',
      'This change of the network is not being tried any more.',
      `${why === undefined ? 'It was taken back.' : `Why: ${why}`} Try it again.`,
    );
  }

  async confirm(token: string): Promise<void> {
    const tried = this.#find(token);
    if (this.#holds() !== tried.document) {
      throw fail(
        'conflict',
        'The change of the network does not hold yet. It is being set.',
        'Wait a few seconds, and confirm it again.',
      );
    }
    Object.assign(this.#parts.state(), { kept: tried.document, ended: null });
    this.#tried = null;
    this.#parts.save();
  }

  async takeBack(token: string): Promise<void> {
    this.#find(token);
    this.#takeBack('Somebody took it back.');
  }
}
