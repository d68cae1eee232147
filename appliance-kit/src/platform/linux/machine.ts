// The machine as Linux reports it: the clock as chrony tells of it, links and sensors from /sys.
import { readdir, readFile, readlink } from 'node:fs/promises';
import os from 'node:os';
import { basename, join } from 'node:path';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { NO_TIME_SOURCE, parseTracking } from '../chrony.ts';
import type { Command } from '../command.ts';
import type { LinkAddress, MachinePlatform, PlatformLink, Sensor, TimeSource } from '../machine.ts';
import { ethernetAddress } from '../network.ts';

/** As Node says that there is no such program. */
const NOT_STARTED = /ENOENT|EACCES/;

type Json = Record<string, unknown>;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
/** What systemd-networkd knows of the links. It is asked, not started. */
export const NETWORKD_ARGS = [
  ...['--system', '--json=short', '--auto-start=no', '--timeout=5', 'call'],
  ...['org.freedesktop.network1', '/org/freedesktop/network1', 'org.freedesktop.network1.Manager', 'Describe'],
];

/** networkd's words for where an address is from; `foreign` was set by another program. */
const ORIGIN: Readonly<Record<string, LinkAddress['origin']>> = {
  ...{ DHCPv4: 'dhcp', DHCPv6: 'dhcp', 'DHCP-PD': 'dhcp', static: 'static' },
  ...{ NDisc: 'autoconfigured', IPv4LL: 'autoconfigured' },
};

type Origins = Map<string, LinkAddress['origin']>;
const ORIGINS_MS = 5 * 60_000;

/** The bytes of an address in one form, so that two spellings of it are the same. */
function addressKey(link: string, bytes: readonly number[]): string {
  return `${link} ${bytes.join('.')}`;
}

/** IPv4 or IPv6, as its bytes; the text is one that the system itself wrote. */
export function addressBytes(address: string): number[] {
  if (!address.includes(':')) return address.split('.').map(Number);
  // ::ffff:192.0.2.1 ends as IPv4 does.
  const [, head = '', tail] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = (tail ?? '').split('.').map(Number);
  const text = tail === undefined ? address : `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const [before = [], after = []] = text.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after];
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]);
}

/** @param output what busctl prints of networkd's Describe: JSON in a string. By link and address, where it is from. */
export function parseOrigins(output: string): Origins {
  const found: Origins = new Map();
  let links: unknown;
  try {
    const { data } = object(JSON.parse(output));
    links = object(JSON.parse(String(Array.isArray(data) ? data[0] : undefined))).Interfaces;
  } catch (error) {
    throw fail('command_failed', `What busctl says of systemd-networkd cannot be read: ${(error as Error).message}`);
  }
  for (const link of Array.isArray(links) ? links.map(object) : []) {
    for (const address of Array.isArray(link.Addresses) ? link.Addresses.map(object) : []) {
      const bytes: unknown = address.Address;
      const origin = ORIGIN[String(address.ConfigSource)];
      if (Array.isArray(bytes) && origin !== undefined) found.set(addressKey(String(link.Name), bytes), origin);
    }
  }
  return found;
}

const ARPHRD_ETHER = '1';
const ARPHRD_INFINIBAND = '32';
const IFF_UP = 1;
/** Drivers of disks' own sensors: SMART has the same, for every disk. */
const DISK_SENSORS = new Set(['nvme', 'drivetemp']);
/** Beyond it is a sensor that is not connected, or a driver that reads nonsense; °C. */
const BELIEVED = { coldest: -40, hottest: 150, lowestLimit: 30, highestLimit: 130 };

export interface LinuxMachineOptions {
  readonly command: Command;
  /** For tests. */
  readonly sys?: string | undefined;
  readonly interfaces?: typeof os.networkInterfaces | undefined;
}

export class LinuxMachine implements MachinePlatform {
  readonly #command: Command;
  readonly #sys: string;
  readonly #interfaces: typeof os.networkInterfaces;
  #known: { used: string; at: number; origins: Origins } | null = null;

  constructor(options: LinuxMachineOptions) {
    this.#command = options.command;
    this.#sys = options.sys ?? '/sys';
    this.#interfaces = options.interfaces ?? os.networkInterfaces;
  }

  async timeSource(): Promise<TimeSource> {
    let said: string;
    try {
      said = await this.#command('chronyc', ['-c', '-n', 'tracking'], { deadlineMs: 15_000 });
    } catch (error) {
      // It says in place of its answer that nothing answers it, and fails; what cannot be started is another matter.
      if (NOT_STARTED.test(asProblem(error).detail)) throw error;
      return { daemon: 'chrony', running: false, ...NO_TIME_SOURCE };
    }
    return parseTracking(said);
  }

  /** One line; undefined when there is none, or the kernel refuses: it does for the carrier of a link that is off. */
  async #read(...path: string[]): Promise<string | undefined> {
    const text = await readFile(join(this.#sys, ...path), 'utf8').catch(() => undefined);
    return text?.trim();
  }

  async #list(...path: string[]): Promise<string[]> {
    return (await readdir(join(this.#sys, ...path)).catch(() => [])).sort();
  }

  async #target(...path: string[]): Promise<string | undefined> {
    const target = await readlink(join(this.#sys, ...path)).catch(() => undefined);
    return target === undefined ? undefined : basename(target);
  }

  async links(): Promise<PlatformLink[]> {
    const all = await Promise.all((await this.#list('class/net')).map((name) => this.#link(name)));
    const links = all.filter((link) => link !== null);
    const interfaces = this.#interfaces();
    const used = links.flatMap(({ name }) => (interfaces[name] ?? []).map(({ address }) => `${name} ${address}`));
    const origins = used.length === 0 ? new Map() : await this.#originsOf(used.join());
    return links.map((link) => ({
      ...link,
      addresses: (interfaces[link.name] ?? []).map(({ address, cidr }) => ({
        address,
        prefix: cidr === null ? null : Number(cidr.slice(cidr.lastIndexOf('/') + 1)),
        origin: origins.get(addressKey(link.name, addressBytes(address))) ?? linkLocal(address),
      })),
    }));
  }

  /** Links are looked at every few seconds; where an address is from changes with the address, and hardly otherwise. */
  async #originsOf(used: string): Promise<Origins> {
    const now = performance.now();
    if (this.#known === null || this.#known.used !== used || now - this.#known.at > ORIGINS_MS) {
      // Without networkd the addresses are known, and not where they are from.
      const origins = await this.#command('busctl', NETWORKD_ARGS)
        .then(parseOrigins)
        .catch((): Origins => new Map());
      this.#known = { used, at: now, origins };
    }
    return this.#known.origins;
  }

  async #link(name: string): Promise<Omit<PlatformLink, 'addresses'> | null> {
    const at = (file: string) => this.#read('class/net', name, file);
    const [type, device, bonding, master, flags, carrier, speed, mtu, address] = await Promise.all([
      at('type'),
      this.#target('class/net', name, 'device'),
      at('bonding/mode'),
      this.#target('class/net', name, 'master'),
      at('flags'),
      at('carrier'),
      at('speed'),
      at('mtu'),
      at('address'),
    ]);
    const wired = type === ARPHRD_ETHER || type === ARPHRD_INFINIBAND;
    if (!wired || (device === undefined && bonding === undefined)) return null;
    const megabits = Number(speed);
    const enabled = (Number(flags) & IFF_UP) !== 0;
    return {
      name,
      bond: bonding !== undefined,
      // A bridge is a master too.
      member:
        master !== undefined && (await this.#read('class/net', master, 'bonding/mode')) !== undefined ? master : null,
      enabled,
      carrier: enabled && carrier === '1',
      megabits: megabits > 0 && megabits < 2 ** 31 ? megabits : null,
      mtu: Number(mtu) > 0 ? Number(mtu) : null,
      mac: ethernetAddress(address ?? ''),
    };
  }

  async sensors(): Promise<Sensor[]> {
    const found: Sensor[] = [];
    for (const chip of await this.#list('class/hwmon')) {
      const folder = `class/hwmon/${chip}`;
      const driver = (await this.#read(folder, 'name')) ?? chip;
      if (DISK_SENSORS.has(driver)) continue;
      // "hwmon3" is another chip after the next boot; its device is not.
      const device = await this.#target(folder, 'device');
      const place = device === undefined || device === driver ? driver : `${driver} ${device}`;
      for (const file of await this.#list(folder)) {
        const [, one] = /^(temp\d+)_input$/.exec(file) ?? [];
        if (one === undefined) continue;
        const [input, label, max, crit, fault] = await Promise.all(
          ['input', 'label', 'max', 'crit', 'fault'].map((what) => this.#read(folder, `${one}_${what}`)),
        );
        const celsius = Number(input) / 1000;
        if (!input || fault === '1' || !(celsius > BELIEVED.coldest && celsius < BELIEVED.hottest)) continue;
        found.push({
          id: [driver, device ?? '', label || one].join('/'),
          title: `${label || one} (${place})`,
          celsius,
          maximum: limit(max),
          critical: limit(crit),
        });
      }
    }
    return found;
  }
}

/** The kernel gives every link such an address (RFC 4291, 2.5.6: fe80::/10). */
function linkLocal(address: string): LinkAddress['origin'] {
  return /^fe[89ab][0-9a-f]:/i.test(address) ? 'autoconfigured' : null;
}

/** Thousandths of a degree; 0 and the like are reported by a chip without a limit. */
function limit(text: string | undefined): number | null {
  const celsius = Number(text) / 1000;
  return text && celsius >= BELIEVED.lowestLimit && celsius <= BELIEVED.highestLimit ? celsius : null;
}
