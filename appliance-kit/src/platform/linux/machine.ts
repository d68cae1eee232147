// The machine as Linux tells of it: systemd-timesyncd over the bus, links and sensors from /sys.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { asProblem, fail } from '../../problems/problem.ts';
import type { MachinePlatform, PlatformLink, Sensor, TimeSource } from '../machine.ts';
import type { Command } from './command.ts';

const DAEMON = 'systemd-timesyncd';
/** Never started by asking: whoever stopped it meant it. */
export const TIMESYNC_ARGS = [
  ...['--system', '--json=short', '--auto-start=no', '--timeout=5', 'call'],
  ...['org.freedesktop.timesync1', '/org/freedesktop/timesync1', 'org.freedesktop.DBus.Properties', 'GetAll'],
  ...['s', 'org.freedesktop.timesync1.Manager'],
];
/** Where NTPMessage, (uuuuittayttttbtt), has the leap indicator, the four times in µs, and how many answers there were. */
const MESSAGE = { leap: 0, origin: 8, received: 9, transmitted: 10, destination: 11, packets: 13 } as const;
/** The protocol's word for "my clock is not set". */
const LEAP_UNKNOWN = 3;
/** timesyncd sets the clock at once when it is further off than this, and turns it slowly otherwise (timesyncd-manager.c). */
const STEPPED_SECONDS = 0.4;

type Json = Record<string, unknown>;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

/** @param output what busctl prints of the properties of timesync1's Manager */
export function parseTimesync(output: string): TimeSource {
  let properties: Json;
  try {
    const { data } = object(JSON.parse(output));
    if (!Array.isArray(data)) throw new Error('it has no data');
    properties = object(data[0]);
  } catch (error) {
    throw fail('command_failed', `What busctl says of ${DAEMON} cannot be read: ${(error as Error).message}`);
  }
  const property = (name: string) => object(properties[name]).data;
  const message = property('NTPMessage');
  const fields: unknown[] = Array.isArray(message) ? message : [];
  const [origin, received, transmitted, destination] = (
    ['origin', 'received', 'transmitted', 'destination'] as const
  ).map((name) => number(fields[MESSAGE[name]])) as [number, number, number, number];
  const answered = number(fields[MESSAGE.packets]) > 0 && destination > 0;
  // RFC 5905, 8: how far the server is ahead, from the four times of one exchange.
  const ahead = (received - origin + (transmitted - destination)) / 2e6;
  const stepped = Math.abs(ahead) >= STEPPED_SECONDS;
  const name = property('ServerName');
  const poll = number(property('PollIntervalUSec')) / 1e6;
  return {
    daemon: DAEMON,
    running: true,
    source: typeof name === 'string' && name !== '' ? name : null,
    // The times are those before the clock was set by it.
    answeredAt: answered ? Math.round(destination / 1000 + (stepped ? ahead * 1000 : 0)) : null,
    pollSeconds: poll > 0 ? poll : null,
    offsetSeconds: answered ? Math.abs(ahead) : null,
    synchronised: answered && number(fields[MESSAGE.leap]) !== LEAP_UNKNOWN,
  };
}

/** What busctl says when nobody has that name on the bus. */
const NOT_RUNNING = /not activatable|ServiceUnknown|NameHasNoOwner|was not provided|does not exist|could not activate/i;

const ARPHRD_ETHER = '1';
const ARPHRD_INFINIBAND = '32';
const IFF_UP = 1;
/** Drivers of disks' own sensors: SMART has the same, for every disk. */
const DISK_SENSORS = new Set(['nvme', 'drivetemp']);
/** Beyond it is a sensor that is not connected, or a driver that reads nonsense; °C. */
const BELIEVED = { coldest: -40, hottest: 150, lowestLimit: 30, highestLimit: 130 };

export class LinuxMachine implements MachinePlatform {
  readonly #command: Command;
  readonly #sys: string;

  constructor(options: { command: Command; sys?: string }) {
    this.#command = options.command;
    this.#sys = options.sys ?? '/sys';
  }

  async timeSource(): Promise<TimeSource> {
    try {
      return parseTimesync(await this.#command('busctl', TIMESYNC_ARGS));
    } catch (error) {
      if (!NOT_RUNNING.test(asProblem(error).detail)) throw error;
      const nothing = { source: null, answeredAt: null, pollSeconds: null, offsetSeconds: null };
      return { daemon: DAEMON, running: false, ...nothing, synchronised: false };
    }
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
    return all.filter((link) => link !== null);
  }

  async #link(name: string): Promise<PlatformLink | null> {
    const at = (file: string) => this.#read('class/net', name, file);
    const [type, device, bonding, master, flags, carrier, speed] = await Promise.all([
      at('type'),
      this.#target('class/net', name, 'device'),
      at('bonding/mode'),
      this.#target('class/net', name, 'master'),
      at('flags'),
      at('carrier'),
      at('speed'),
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

/** Thousandths of a degree; 0 and the like are what a chip says that was never told a limit. */
function limit(text: string | undefined): number | null {
  const celsius = Number(text) / 1000;
  return text && celsius >= BELIEVED.lowestLimit && celsius <= BELIEVED.highestLimit ? celsius : null;
}
