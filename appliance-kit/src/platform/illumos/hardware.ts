// The machine's parts as illumos reports them: the firmware's tables by smbios(8), the management controller by ipmitool
// (system/management/ipmitool), shelves and cards by the fault manager's topology. Errors of memory, processors and PCI Express
// are diagnosed by the fault manager, whose word arrives as faults (system/faults); counters of its own it has none that last.
// Not run on illumos yet.
import { fail } from '../../base/problems/problem.ts';
import type { Command } from '../command.ts';
import type { Execd } from '../execd.ts';
import { askEnclosures, askInventory, execdController } from '../execd-hardware.ts';
import type { Enclosure, HardwarePlatform, Inventory, Port, Slot } from '../hardware.ts';
import { ethernetAddress } from '../network.ts';
import { parseTables } from '../smbios.ts';
import { splitParsable } from './machine.ts';
import { topologyCards, topologyEnclosures, topologySlots } from './topology.ts';

/** Of `kstat -p -m link`: link:0:NAME:ipackets64 and a number behind a tab. */
const COUNTERS = ['ipackets64', 'opackets64', 'ierrors', 'oerrors'] as const;

export function parseCounters(output: string): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const line of output.split('\n')) {
    const [path = '', value] = line.split('\t');
    const [module, , link, what] = path.split(':');
    if (module !== 'link' || link === undefined || what === undefined) continue;
    found.set(link, (found.get(link) ?? new Map()).set(what, Number(value)));
  }
  return found;
}

export function illumosHardware(command: Command, execd: Execd): HardwarePlatform {
  let asked: ReturnType<typeof askEnclosures> | null = null;
  /** Slots and sensors come of one question, which takes seconds, and both are wanted at the same time. */
  const shelves = () => {
    asked ??= askEnclosures(execd).finally(() => {
      asked = null;
    });
    return asked;
  };
  /** As the topology told of them last: when it says nothing, it is they that are silent. */
  let known: Pick<Enclosure, 'id' | 'title'>[] = [];
  return {
    ...execdController(execd),
    inventory: async (): Promise<Inventory> => {
      const { text, cards } = await askInventory(execd);
      const found = parseTables(text);
      return {
        ...{ ...found, firmware: { ...found.firmware, kind: null } },
        // None of them is said by a command that has no other meaning.
        ...{ microcode: null, secureBoot: null, lockdown: null, cards: topologyCards(cards) },
      };
    },
    ports: async (): Promise<Port[]> => {
      const [devices, macs, counters] = await Promise.all([
        command('dladm', ['show-phys', '-p', '-o', 'link,device']),
        command('dladm', ['show-phys', '-m', '-p', '-o', 'link,slot,address']).catch(() => ''),
        command('kstat', ['-p', '-m', 'link']).then(parseCounters),
      ]);
      const rows = (text: string) =>
        text
          .split('\n')
          .filter((line) => line !== '')
          .map(splitParsable);
      const own = new Map(
        rows(macs)
          .reverse()
          .map(([name = '', , mac = '']) => [name, mac]),
      );
      return rows(devices).map(([name = '', device = '']) => {
        const counter = (what: (typeof COUNTERS)[number]) => counters.get(name)?.get(what) ?? 0;
        return {
          ...{ name, place: null, driver: device.replace(/\d+$/, '') || null, firmware: null },
          mac: ethernetAddress(own.get(name) ?? ''),
          packets: counter('ipackets64') + counter('opackets64'),
          errors: counter('ierrors') + counter('oerrors'),
        };
      });
    },
    errors: async () => [],
    slots: async (): Promise<Slot[]> =>
      (await shelves()).flatMap(({ text, error }) => {
        // No answer is no word of a slot that is well again.
        if (error !== undefined) throw fail('command_failed', `The slots of shelves are not known: ${error}`);
        return topologySlots(text);
      }),
    watchdogs: async () => [],
    enclosures: async (): Promise<Enclosure[]> =>
      (await shelves()).flatMap(({ id, title, text, error }): Enclosure[] => {
        if (error !== undefined) {
          return (known.length > 0 ? known : [{ id, title }]).map((one) => ({ ...one, error, sensors: [] }));
        }
        const found = topologyEnclosures(text);
        known = found.map((one) => ({ id: one.id, title: one.title }));
        return found;
      }),
  };
}
