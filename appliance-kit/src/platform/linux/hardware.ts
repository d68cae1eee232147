// The machine's parts and their errors as Linux reports them. Formats: the kernel's Documentation/ABI/testing
// (sysfs-bus-pci-devices-aer_stats, sysfs-devices-edac, sysfs-class-net-statistics, sysfs-class-watchdog), drivers/misc/enclosure.c, and
// rasdaemon's tables (ras-record.c).
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fail } from '../../base/problems/problem.ts';
import type { Command } from '../command.ts';
import type { Execd } from '../execd.ts';
import { execdController, execdEnclosures, tables } from '../execd-hardware.ts';
import type {
  Card,
  Controller,
  ControllerEvent,
  ControllerSensor,
  Enclosure,
  HardwarePlatform,
  Inventory,
  PartErrors,
  Port,
  SensorState,
  Slot,
  Watchdog,
} from '../hardware.ts';
import { ethernetAddress } from '../network.ts';

/** The variable's name is UEFI's global one; four bytes of attributes come first. */
const SECURE_BOOT = 'firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c';
const SETUP_MODE = 'firmware/efi/efivars/SetupMode-8be4df61-93ca-11d2-aa0d-00e098032b8c';

/** Of a device on a PCI bus. */
const PLACE = /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

/** Bridges and the processor's own parts, of which there are dozens: the classes 05 to 08, 0b, 11 and 13. */
const NO_CARDS = /^(05|06|08|0b|11|13)/;

/** @param output `lspci -D -vmmk -nn`: blocks of `Name:\tvalue`, where a value ends with its number in brackets */
export function parseCards(output: string): Card[] {
  return output
    .split(/\n\s*\n/)
    .map((block) => new Map(block.split('\n').map((line) => line.split(':\t') as [string, string])))
    .flatMap((fields): Card[] => {
      const text = (name: string) => (fields.get(name) ?? '').trim();
      const [, kind, code] = /^(.*) \[([0-9a-f]{4})\]$/.exec(text('Class')) ?? [];
      if (kind === undefined || code === undefined || NO_CARDS.test(code)) return [];
      const plain = (name: string) => text(name).replace(/ \[[0-9a-f]{4}\]$/, '');
      return [
        {
          place: text('Slot'),
          slot: text('PhySlot') || null,
          kind,
          title: `${plain('Vendor')} ${plain('Device')}`,
          driver: text('Driver') || null,
        },
      ];
    });
}

/** `TOTAL_ERR_COR 3` at the end of the names of each error. */
function total(text: string | undefined): { count: number; last: string } {
  let count = 0;
  const names: string[] = [];
  for (const line of (text ?? '').split('\n')) {
    const [name = '', amount] = line.trim().split(/\s+/);
    if (name.startsWith('TOTAL_ERR')) count = Number(amount);
    else if (Number(amount) > 0) names.push(name);
  }
  return { count, last: names.join(', ') };
}

interface MachineChecks {
  readonly cpu: number;
  readonly bank: number;
  readonly bank_name: string | null;
  readonly error_msg: string | null;
  readonly mcistatus_msg: string | null;
  readonly total: number;
  readonly uncorrected: number;
}

/**
 * Summed where they are: a processor that fails may report one a second for days. Bit 61 of a bank's status: it could not be
 * corrected (Intel SDM 3B, 17.3.2.2; AMD APM 2, 9.3.2.3). Beside max() SQLite gives the other columns of that row: the last.
 */
const MACHINE_CHECKS = `SELECT cpu, bank, bank_name, error_msg, mcistatus_msg, max(id), count(*) AS total,
  sum((status >> 61) & 1) AS uncorrected FROM mce_record GROUP BY cpu, bank ORDER BY cpu, bank`;

export interface LinuxHardwareOptions {
  readonly command: Command;
  readonly execd: Execd;
  /** For tests. */
  readonly sys?: string;
  readonly proc?: string;
  readonly database?: string;
}

export class LinuxHardware implements HardwarePlatform {
  readonly #command: Command;
  readonly #execd: Execd;
  readonly #sys: string;
  readonly #proc: string;
  readonly #database: string;
  readonly controller: () => Promise<Controller | null>;
  readonly controllerSensors: () => Promise<ControllerSensor[]>;
  readonly controllerEvents: () => Promise<ControllerEvent[]>;
  /** What runs on a card changes with a restart only. */
  readonly #firmwares = new Map<string, string | null>();

  constructor(options: LinuxHardwareOptions) {
    this.#command = options.command;
    this.#execd = options.execd;
    this.#sys = options.sys ?? '/sys';
    this.#proc = options.proc ?? '/proc';
    this.#database = options.database ?? '/var/lib/rasdaemon/ras-mc_event.db';
    const { controller, controllerSensors, controllerEvents } = execdController(options.execd);
    this.controller = controller;
    this.controllerSensors = controllerSensors;
    this.controllerEvents = controllerEvents;
  }

  async #read(...path: string[]): Promise<string | undefined> {
    const text = await readFile(join(this.#sys, ...path), 'utf8').catch(() => undefined);
    return text?.trim();
  }

  async #number(...path: string[]): Promise<number> {
    const value = Number(await this.#read(...path));
    return Number.isFinite(value) ? value : 0;
  }

  async #list(...path: string[]): Promise<string[]> {
    return (await readdir(join(this.#sys, ...path)).catch(() => [])).sort();
  }

  async inventory(): Promise<Inventory> {
    const [found, cards, cpuinfo, lockdown] = await Promise.all([
      tables(this.#execd),
      this.#command('lspci', ['-D', '-vmmk', '-nn']).then(parseCards),
      readFile(join(this.#proc, 'cpuinfo'), 'utf8').catch(() => ''),
      this.#read('kernel/security/lockdown'),
    ]);
    const uefi = (await this.#list('firmware/efi')).length > 0;
    return {
      ...found,
      firmware: { ...found.firmware, kind: uefi ? 'uefi' : 'bios' },
      microcode: /^microcode\s*: 0x([0-9a-f]+)$/m.exec(cpuinfo)?.[1] ?? null,
      secureBoot: uefi ? await this.#secureBoot() : 'none',
      // none [integrity] confidentiality
      lockdown: /\[(\w+)\]/.exec(lockdown ?? '')?.[1] ?? null,
      cards,
    };
  }

  async #secureBoot(): Promise<Inventory['secureBoot']> {
    const flag = async (path: string) => (await readFile(join(this.#sys, path)).catch(() => undefined))?.[4];
    const [on, setup] = await Promise.all([flag(SECURE_BOOT), flag(SETUP_MODE)]);
    if (on === undefined) return 'none';
    return on === 1 ? 'on' : setup === 1 ? 'setup' : 'off';
  }

  async ports(): Promise<Port[]> {
    const all = await Promise.all((await this.#list('class/net')).map((name) => this.#port(name)));
    return all.filter((port) => port !== null);
  }

  async #port(name: string): Promise<Port | null> {
    const folder = join(this.#sys, 'class/net', name);
    const device = await realpath(join(folder, 'device')).catch(() => undefined);
    if (device === undefined) return null;
    const counter = (what: string) => this.#number('class/net', name, 'statistics', what);
    const [driver, mac, received, sent, receiveErrors, sendErrors] = await Promise.all([
      readlink(join(folder, 'device/driver')).catch(() => undefined),
      this.#read('class/net', name, 'address'),
      ...['rx_packets', 'tx_packets', 'rx_errors', 'tx_errors'].map(counter),
    ]);
    // A virtual one hangs below the card.
    const place = /[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/g;
    return {
      name,
      place: device.match(place)?.at(-1) ?? null,
      driver: driver === undefined ? null : basename(driver),
      firmware: await this.#firmware(name),
      mac: ethernetAddress(mac ?? ''),
      packets: (received as number) + (sent as number),
      errors: (receiveErrors as number) + (sendErrors as number),
    };
  }

  async #firmware(name: string): Promise<string | null> {
    if (!this.#firmwares.has(name)) {
      const said = await this.#command('ethtool', ['-i', name]).catch(() => '');
      const version = /^firmware-version: (.+)$/m.exec(said)?.[1]?.trim() ?? '';
      this.#firmwares.set(name, version === '' || version === 'N/A' ? null : version);
    }
    return this.#firmwares.get(name) ?? null;
  }

  async errors(): Promise<PartErrors[]> {
    const all = await Promise.all([this.#memoryErrors(), this.#busErrors(), this.#processorErrors()]);
    return all.flat();
  }

  /** EDAC: by memory module where the controller knows which; what it cannot place is the controller's own. */
  async #memoryErrors(): Promise<PartErrors[]> {
    const found: PartErrors[] = [];
    for (const mc of (await this.#list('devices/system/edac/mc')).filter((name) => /^mc\d+$/.test(name))) {
      const folder = `devices/system/edac/mc/${mc}`;
      const one = (part: string, title: string, corrected: number, uncorrected: number) =>
        found.push({ kind: 'memory', part, title, corrected, uncorrected, detail: '' });
      let [corrected, uncorrected] = [await this.#number(folder, 'ce_count'), await this.#number(folder, 'ue_count')];
      for (const dimm of (await this.#list(folder)).filter((name) => /^(dimm|rank)\d+$/.test(name))) {
        const [label, place, ce, ue] = await Promise.all([
          this.#read(folder, dimm, 'dimm_label'),
          this.#read(folder, dimm, 'dimm_location'),
          this.#number(folder, dimm, 'dimm_ce_count'),
          this.#number(folder, dimm, 'dimm_ue_count'),
        ]);
        one(`${mc}/${dimm}`, label || `${mc} ${place || dimm}`, ce, ue);
        corrected -= ce;
        uncorrected -= ue;
      }
      const name = (await this.#read(folder, 'mc_name')) ?? mc;
      one(mc, `Memory controller ${mc.slice(2)} (${name})`, Math.max(0, corrected), Math.max(0, uncorrected));
    }
    return found;
  }

  /** AER's counters; only of devices that have them, which are those of PCI Express. */
  async #busErrors(): Promise<PartErrors[]> {
    const devices = await this.#list('bus/pci/devices');
    const found = await Promise.all(
      devices.map(async (place): Promise<PartErrors | null> => {
        const read = (what: string) => this.#read('bus/pci/devices', place, `aer_dev_${what}`);
        const correctable = await read('correctable');
        if (correctable === undefined) return null;
        const behind = (await this.#list('bus/pci/devices', place)).find((name) => PLACE.test(name));
        const [cor, nonfatal, fatal] = [correctable, await read('nonfatal'), await read('fatal')].map(total) as [
          ReturnType<typeof total>,
          ReturnType<typeof total>,
          ReturnType<typeof total>,
        ];
        return {
          ...{
            kind: 'pcie',
            part: place,
            title: `The PCI Express ${behind === undefined ? 'device' : 'port'} ${place}`,
          },
          ...(behind !== undefined && { behind }),
          ...{ corrected: cor.count, uncorrected: nonfatal.count + fatal.count },
          detail: [cor.last, nonfatal.last, fatal.last].filter((text) => text !== '').join(', '),
        };
      }),
    );
    return found.filter((one) => one !== null);
  }

  /** Machine checks, as rasdaemon has recorded and decoded them since the start; memory's are counted by EDAC where it can. */
  async #processorErrors(): Promise<PartErrors[]> {
    let sums: MachineChecks[];
    try {
      const database = new DatabaseSync(this.#database, { readOnly: true, timeout: 1_000 });
      try {
        sums = database.prepare(MACHINE_CHECKS).all() as unknown as MachineChecks[];
      } finally {
        database.close();
      }
    } catch (error) {
      // It makes the file when it starts, and a table when it needs it.
      if (/unable to open|no such table/.test((error as Error).message)) return [];
      throw fail('command_failed', `What rasdaemon has recorded cannot be read: ${(error as Error).message}`);
    }
    return sums.map(({ cpu, bank, bank_name, error_msg, mcistatus_msg, total, uncorrected }) => ({
      ...{
        kind: 'processor',
        part: `cpu${cpu}/bank${bank}`,
        title: `Processor ${cpu}, ${bank_name || `bank ${bank}`}`,
      },
      ...{ corrected: total - uncorrected, uncorrected },
      detail: [error_msg, mcistatus_msg].filter((text) => text !== null && text.trim() !== '').join(', '),
    }));
  }

  async slots(): Promise<Slot[]> {
    const found: Slot[] = [];
    for (const enclosure of await this.#list('class/enclosure')) {
      for (const slot of await this.#list('class/enclosure', enclosure)) {
        const folder = join('class/enclosure', enclosure, slot);
        // The enclosure's own files have no state of a slot.
        const status = await this.#read(folder, 'status');
        if (status === undefined) continue;
        const disks = await this.#list(folder, 'device/block');
        const fault = (await this.#read(folder, 'fault')) === '1';
        const state: SensorState =
          status === 'critical' || status === 'unrecoverable' || fault
            ? 'critical'
            : status === 'non-critical'
              ? 'warning'
              : status === 'not installed'
                ? 'absent'
                : 'ok';
        const lit = (await this.#read(folder, 'locate')) === '1';
        found.push({ enclosure, slot, disk: disks[0] === undefined ? null : `/dev/${disks[0]}`, state, lit });
      }
    }
    return found;
  }

  /** Without the slots that the kernel's driver tells of, which are in slots(). */
  async enclosures(): Promise<Enclosure[]> {
    const told = await this.#list('class/enclosure');
    return (await execdEnclosures(this.#execd)).map((one) =>
      told.includes(one.id) ? { ...one, sensors: one.sensors.filter(({ kind }) => kind !== 'disk') } : one,
    );
  }

  async watchdogs(): Promise<Watchdog[]> {
    const found: Watchdog[] = [];
    for (const name of await this.#list('class/watchdog')) {
      const [title, state, seconds] = await Promise.all(
        ['identity', 'state', 'timeout'].map((what) => this.#read('class/watchdog', name, what)),
      );
      // A device of the kernel's watchdog core without a driver behind it has none of them.
      if (title === undefined) continue;
      found.push({ title, active: state === 'active', seconds: Number(seconds) > 0 ? Number(seconds) : null });
    }
    return found;
  }
}
