// Reads the firmware's tables as the systems' tools print them: dmidecode 3.6 on Debian, smbios(8) on illumos (its source:
// usr/src/cmd/smbios/smbios.c). Both print a line that begins a structure, with its type's number, and `Name: value` below.
// What the numbers and fields are: DMTF DSP0134.
import type { Inventory } from './hardware.ts';

export type Tables = Pick<
  Inventory,
  'maker' | 'product' | 'serial' | 'assetTag' | 'board' | 'processors' | 'memory'
> & { readonly firmware: Omit<Inventory['firmware'], 'kind'> };

const TYPE = { firmware: 0, system: 1, board: 2, chassis: 3, processor: 4, memory: 17 } as const;

interface Structure {
  readonly type: number;
  readonly fields: ReadonlyMap<string, string>;
}

function structures(output: string): Structure[] {
  const found: { type: number; fields: Map<string, string> }[] = [];
  for (const line of output.split('\n')) {
    const [, type] =
      /^Handle 0x[0-9A-F]+, DMI type (\d+),/i.exec(line) ?? /^\d+ +\d+ +\S+ \(type (\d+)\)/.exec(line) ?? [];
    if (type !== undefined) found.push({ type: Number(type), fields: new Map() });
    const at = line.indexOf(':');
    // Deeper lines belong to a list, and a field's first line counts.
    const fields = found.at(-1)?.fields;
    if (fields === undefined || at < 0 || !/^(\t| {2})[^\s]/.test(line)) continue;
    const name = line.slice(0, at).trim();
    if (!fields.has(name)) fields.set(name, line.slice(at + 1).trim());
  }
  return found;
}

/** What makers write when they have written nothing. */
const NOTHING =
  /^(|none|n\/a|unknown|<unknown>|not (specified|provided|available|applicable|present|populated)|no (asset tag|dimm|module installed)|default string|to be filled.*|system (manufacturer|product name|serial number|version)|base ?board (manufacturer|product name|serial number)|(o\.?e\.?m\.?)|0+|x+|\.+|0123456789|123456789|chassis (serial number|asset tag)|(no|unknown) enclosure)$/i;

const known = (text: string | undefined): string | null => (text === undefined || NOTHING.test(text) ? null : text);
const count = (text: string | undefined): number | null => (/^[1-9]\d*$/.test(text ?? '') ? Number(text) : null);
const of = ({ fields }: Structure, ...names: readonly string[]): string | undefined =>
  names.map((name) => fields.get(name)).find((value) => value !== undefined);

const POWERS: Readonly<Record<string, number>> = { bytes: 1, kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 };

/** `16 GB`, `8589934592 bytes`; null when the slot is empty. */
function bytes(text: string | undefined): number | null {
  const [, amount, unit] = /^(\d+) (bytes|[kMGT]B)/.exec(text ?? '') ?? [];
  return amount === undefined || unit === undefined ? null : Number(amount) * (POWERS[unit] as number);
}

export function parseTables(output: string): Tables {
  const all = structures(output);
  const first = (type: number) => all.find((one) => one.type === type) ?? { type, fields: new Map<string, string>() };
  const each = (type: number) => all.filter((one) => one.type === type);
  const [firmware, system, board, chassis] = [TYPE.firmware, TYPE.system, TYPE.board, TYPE.chassis].map(first) as [
    Structure,
    Structure,
    Structure,
    Structure,
  ];
  return {
    maker: known(of(system, 'Manufacturer')),
    product: known(of(system, 'Product Name', 'Product')),
    // Some write it on the chassis only.
    serial: known(of(system, 'Serial Number')) ?? known(of(chassis, 'Serial Number')),
    assetTag: known(of(chassis, 'Asset Tag')),
    board: {
      maker: known(of(board, 'Manufacturer')),
      product: known(of(board, 'Product Name', 'Product')),
      serial: known(of(board, 'Serial Number')),
    },
    firmware: {
      maker: known(of(firmware, 'Vendor')),
      version: known(of(firmware, 'Version', 'Version String')),
      date: known(of(firmware, 'Release Date')),
    },
    processors: each(TYPE.processor)
      .filter((one) => !/Unpopulated|Not Populated/.test(of(one, 'Status', 'Socket Status') ?? ''))
      .map((one, at) => ({
        socket: known(of(one, 'Socket Designation', 'Location Tag')) ?? `CPU ${at + 1}`,
        model: known(of(one, 'Version')),
        cores: count(of(one, 'Core Count')),
        threads: count(of(one, 'Thread Count')),
      })),
    memory: each(TYPE.memory).map((one, at) => {
      const size = bytes(of(one, 'Size'));
      // dmidecode: DDR4; smbios: 26 (DDR4).
      const kind = /^(?:\d+ \()?([^()]+)\)?$/.exec(of(one, 'Type', 'Memory Type') ?? '')?.[1];
      const fact = (text: string | undefined) => (size === null ? null : known(text));
      return {
        slot: known(of(one, 'Locator', 'Device Locator', 'Location Tag')) ?? `Slot ${at + 1}`,
        bytes: size,
        kind: fact(kind),
        megatransfers:
          size === null
            ? null
            : (count(/^\d+/.exec(of(one, 'Configured Memory Speed', 'Configured Speed', 'Speed') ?? '')?.[0]) ?? null),
        maker: fact(of(one, 'Manufacturer')),
        part: fact(of(one, 'Part Number')),
        serial: fact(of(one, 'Serial Number')),
      };
    }),
  };
}
