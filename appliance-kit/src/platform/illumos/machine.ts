// The machine as illumos reports it: chrony or ntpd for the clock, dladm and ipadm for the links. Temperatures are those of the
// disks only: what fmtopo and ipmitool print of the machine's own sensors takes privileges that akd has not, and differs
// between machines. Written after chronyc(1), ntpq(8), dladm(8), ipadm(8) and ipadm.c; not run on illumos yet.
import { asProblem, fail } from '../../base/problems/problem.ts';
import { NO_TIME_SOURCE, parseTracking } from '../chrony.ts';
import type { Command } from '../command.ts';
import type { LinkAddress, MachinePlatform, PlatformLink, Sensor, TimeSource } from '../machine.ts';
import { ethernetAddress } from '../network.ts';

/** @param output `ntpq -n -c "rv 0 leap,refid,offset"`: name=value with commas or ends of lines between them */
export function parseNtpq(output: string): TimeSource {
  const value = (name: string) => new RegExp(`(?:^|[\\s,])${name}=([^,\\s]*)`).exec(output)?.[1];
  const leap = value('leap');
  // Milliseconds.
  const offset = Number(value('offset')) / 1000;
  if (leap === undefined) throw fail('command_failed', `What ntpq says cannot be read: “${output.slice(0, 200)}”.`);
  // Two bits, which some print as bits and some as a number.
  const synchronised = !['11', '3', '03'].includes(leap);
  return {
    ...{ daemon: 'ntpd', running: true, answeredAt: null, pollSeconds: null, synchronised },
    source: synchronised ? (value('refid') ?? null) : null,
    offsetSeconds: synchronised && Number.isFinite(offset) ? Math.abs(offset) : null,
  };
}

/** A line of `dladm -p`: colons between the fields; one within a field, and a backslash, have a backslash before them. */
export function splitParsable(line: string): string[] {
  const fields = [''];
  for (let at = 0; at < line.length; at++) {
    const escaped = line[at] === '\\';
    if (escaped) at++;
    if (!escaped && line[at] === ':') fields.push('');
    else fields[fields.length - 1] += line[at] ?? '';
  }
  return fields;
}

function rows(output: string, command: string, columns: number): string[][] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = splitParsable(line);
      if (fields.length === columns && fields[0] !== '') return fields;
      throw fail('command_failed', `“${command}” printed a line that cannot be read: “${line.slice(0, 200)}”.`);
    });
}

/** ipadm's words for how an address is got. */
const ORIGIN: Readonly<Record<string, LinkAddress['origin']>> = {
  ...{ dhcp: 'dhcp', static: 'static', addrconf: 'autoconfigured' },
};
/** An address that is not in use: removed, or not yet checked for duplicates. */
const IN_USE = new Set(['ok', 'inaccessible']);

/** @param output `ipadm show-addr -p -o addrobj,type,state,addr`; by link */
export function parseAddresses(output: string): Map<string, LinkAddress[]> {
  const found = new Map<string, LinkAddress[]>();
  for (const [object = '', type = '', state = '', text = ''] of rows(output, 'ipadm show-addr', 4)) {
    // igb0/v4; igb0/? when it was not made by ipadm. A point-to-point link has the other end behind an arrow, and DHCP that
    // has got nothing yet a question mark.
    const [, address, prefix] = /^([0-9a-f:.]+)(?:%[^/]*)?(?:\/(\d+))?(?:->.*)?$/i.exec(text) ?? [];
    if (address === undefined || !IN_USE.has(state)) continue;
    const link = object.slice(0, object.lastIndexOf('/'));
    const one = { address, prefix: prefix === undefined ? null : Number(prefix), origin: ORIGIN[type] ?? null };
    found.set(link, [...(found.get(link) ?? []), one]);
  }
  return found;
}

export interface LinkListings {
  /** `dladm show-link -p -o link,class,state,mtu,over` */
  readonly links: string;
  /** `dladm show-phys -p -o link,state,speed` */
  readonly ports: string;
  /** `dladm show-phys -m -p -o link,slot,address`: the first slot is the port's own. */
  readonly macs: string;
  /** `ipadm show-addr -p -o addrobj,type,state,addr`; null: it could not be asked. */
  readonly addresses: string | null;
}

export function parseLinks({ links, ports, macs, addresses }: LinkListings): PlatformLink[] {
  const used = addresses === null ? null : parseAddresses(addresses);
  const own = new Map<string, string | null>();
  for (const [name = '', , mac = ''] of rows(macs, 'dladm show-phys -m', 3))
    if (!own.has(name)) own.set(name, ethernetAddress(mac));
  const speeds = new Map(rows(ports, 'dladm show-phys', 3).map(([name, , speed]) => [name, Number(speed)]));
  const all = rows(links, 'dladm show-link', 5);
  const bonds = new Map<string, string>();
  for (const [name = '', kind, , , over = ''] of all) {
    // Commas between them since 2016, blanks before.
    if (kind === 'aggr') for (const port of over.split(/[ ,]+/)) bonds.set(port, name);
  }
  return all
    .filter(([, kind]) => kind === 'phys' || kind === 'aggr')
    .map(([name = '', kind, state, mtu]) => {
      const speed = speeds.get(name) ?? 0;
      return {
        name,
        bond: kind === 'aggr',
        member: bonds.get(name) ?? null,
        // "unknown": nothing has opened it.
        enabled: state === 'up' || state === 'down',
        carrier: state === 'up',
        megabits: state === 'up' && speed > 0 ? speed : null,
        mtu: Number(mtu) > 0 ? Number(mtu) : null,
        mac: own.get(name) ?? null,
        addresses: used && (used.get(name) ?? []),
      };
    });
}

const MISSING = /ENOENT|not found|no such file/i;
const SILENT = /connection refused|timed out/i;

export class IllumosMachine implements MachinePlatform {
  readonly #command: Command;

  constructor(command: Command) {
    this.#command = command;
  }

  async timeSource(): Promise<TimeSource> {
    const chrony = await this.#ask('chrony', parseTracking, 'chronyc', ['-c', '-n', 'tracking']);
    if (chrony?.running) return chrony;
    const ntp = await this.#ask('ntpd', parseNtpq, 'ntpq', ['-n', '-c', 'rv 0 leap,refid,offset']);
    if (ntp?.running) return ntp;
    return chrony ?? ntp ?? { daemon: 'chrony', running: false, ...NO_TIME_SOURCE };
  }

  /** Null when the program is not installed. */
  async #ask(
    daemon: string,
    parse: (output: string) => TimeSource,
    program: string,
    args: readonly string[],
  ): Promise<TimeSource | null> {
    let output: string;
    try {
      output = await this.#command(program, args, { deadlineMs: 15_000 });
    } catch (error) {
      // chronyc says in place of its answer that nothing answers it, and fails.
      return MISSING.test(asProblem(error).detail) ? null : { daemon, running: false, ...NO_TIME_SOURCE };
    }
    // ntpq says so too, and ends as if all were well.
    return SILENT.test(output) || output.trim() === '' ? { daemon, running: false, ...NO_TIME_SOURCE } : parse(output);
  }

  async links(): Promise<PlatformLink[]> {
    const [links, ports, macs, addresses] = await Promise.all([
      this.#command('dladm', ['show-link', '-p', '-o', 'link,class,state,mtu,over']),
      this.#command('dladm', ['show-phys', '-p', '-o', 'link,state,speed']),
      // Whether a cable is out is known without these.
      this.#command('dladm', ['show-phys', '-m', '-p', '-o', 'link,slot,address']).catch(() => ''),
      this.#command('ipadm', ['show-addr', '-p', '-o', 'addrobj,type,state,addr']).catch(() => null),
    ]);
    return parseLinks({ links, ports, macs, addresses });
  }

  async sensors(): Promise<Sensor[]> {
    return [];
  }
}
