// What the states, sensors and errors of the hardware mean for their reader.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { bytes, digits, plural } from '../../words/format.ts';
import type { Hardware, PartErrors, Sensor } from './queries.ts';

export const states: Record<Sensor['state'], readonly [Condition, string]> = {
  ok: ['ok', 'well'],
  warning: ['warning', 'warning'],
  critical: ['critical', 'critical'],
  absent: ['info', 'not there'],
};
export const isWrong = ({ state }: { readonly state: Sensor['state'] }): boolean =>
  state === 'warning' || state === 'critical';
/** The worst first; what is equally bad stays in its order. */
export function worstFirst<T extends { readonly state: Sensor['state'] }>(rows: readonly T[]): T[] {
  const rank = { critical: 0, warning: 1, ok: 2, absent: 3 };
  return [...rows].sort((a, b) => rank[a.state] - rank[b.state]);
}

/** In the order of the page. */
export const sensorKinds: readonly (readonly [Sensor['kind'], string])[] = [
  ['power-supply', 'Power supplies'],
  ['fan', 'Fans'],
  ['temperature', 'Temperatures'],
  ['power', 'Power'],
  ['voltage', 'Voltages'],
  ['current', 'Currents'],
  ['chassis', 'Chassis'],
  ['memory', 'Memory'],
  ['processor', 'Processors'],
  ['disk', 'Disks'],
  ['battery', 'Batteries'],
  ['other', 'Others'],
];

export const reading = (value: number, unit: string): string => `${digits(value)} ${unit}`.trim();

export function limitsOf({ lowest, highest, unit }: Sensor): string {
  if (lowest !== null && highest !== null) return `${digits(lowest)} to ${digits(highest)} ${unit}`;
  if (lowest !== null) return `from ${digits(lowest)} ${unit}`;
  if (highest !== null) return `up to ${digits(highest)} ${unit}`;
  return 'none';
}

/** As a sentence: FAN3 reads 0 rpm: Lower Critical; it is well from 500 rpm. */
export function sensorSentence(sensor: Sensor): string {
  const { name, value, unit, reports } = sensor;
  const reported = reports.join(', ');
  if (value === null) return `${name}: ${reported || states[sensor.state][1]}.`;
  const limits = limitsOf(sensor);
  return `${name} reads ${reading(value, unit)}${reported && `: ${reported}`}${limits === 'none' ? '' : `; it is well ${limits}`}.`;
}

/** How a group of sensors is: "24, all well, 18 to 71 °C". */
export function groupWords(sensors: readonly Sensor[]): string {
  const wrong = sensors.filter(isWrong).length;
  const absent = sensors.filter(({ state }) => state === 'absent').length;
  const read = sensors.filter(({ value }) => value !== null);
  const values = read.map(({ value }) => value as number);
  const units = new Set(read.map(({ unit }) => unit));
  const [low, high] = [digits(Math.min(...values)), digits(Math.max(...values))];
  const [unit] = units;
  return [
    String(sensors.length),
    wrong > 0
      ? `${wrong} with a fault`
      : absent === sensors.length
        ? 'none of them there'
        : sensors.length === 1
          ? 'well'
          : 'all well',
    ...(absent > 0 && absent < sensors.length ? [`${absent} not there`] : []),
    ...(units.size === 1 && unit !== '' ? [`${low === high ? low : `${low} to ${high}`} ${unit}`] : []),
  ].join(', ');
}

/** By the unit of a sensor: the metric that has its values. */
const metrics: Readonly<Record<string, string>> = {
  '°C': 'cistern_hardware_temperature_celsius',
  V: 'cistern_hardware_voltage_volts',
  A: 'cistern_hardware_current_amperes',
  W: 'cistern_hardware_power_watts',
  rpm: 'cistern_hardware_fan_rpm',
};
/** Measured once a minute: of a day there is something to see. */
const CHART_SECONDS = 86_400;
/** The chart of a sensor: of its values, or where it has none, of its state. */
export function chartOf({ name, value, unit }: Sensor): string {
  const metric = (value === null ? undefined : metrics[unit]) ?? 'cistern_hardware_sensor_state';
  return `/analytics/explore?${new URLSearchParams({ metric, 'f.sensor': name, range: String(CHART_SECONDS) })}`;
}

export const hasErrors = ({ corrected, uncorrected }: PartErrors): boolean => corrected + uncorrected > 0;

/** "2 errors that could not be corrected, 5 corrected errors". */
export function countsOf({ kind, corrected, uncorrected }: PartErrors): string {
  if (kind === 'link') return `${plural(uncorrected, 'packet')} lost`;
  return [
    ...(uncorrected > 0 ? [`${plural(uncorrected, 'error')} that could not be corrected`] : []),
    ...(corrected > 0 ? [plural(corrected, 'corrected error')] : []),
  ].join(', ');
}

const errorKinds: Record<PartErrors['kind'], readonly [one: string, many: string]> = {
  memory: ['part of the memory', 'parts of the memory'],
  processor: ['part of the processors', 'parts of the processors'],
  pcie: ['card', 'cards'],
  link: ['network link', 'network links'],
};
/** Of parts that count errors and have none; `other`: there are some that have. */
export function errorFreeWords(parts: readonly PartErrors[], other: boolean): string {
  const kinds = (['memory', 'processor', 'pcie', 'link'] as const).flatMap((kind) => {
    const count = parts.filter((one) => one.kind === kind).length;
    return count === 0 ? [] : [plural(count, ...errorKinds[kind])];
  });
  return `No errors of ${other ? 'the others that count them' : 'the parts that count them'}: ${kinds.join(', ')}.`;
}

type Summary = NonNullable<Hardware['summary']>;

/** Whether Secure Boot is on, and what to do. */
export function secureBootWords({ secureBoot, firmware }: Pick<Summary, 'secureBoot' | 'firmware'>): string {
  switch (secureBoot) {
    case 'on':
      return 'On: only what is signed is started. Nothing has to be done, unless ZFS is refused: then the key of its modules has to be enrolled.';
    case 'off':
      return 'Off: the firmware starts whatever is on the disk. Before you switch it on, enrol the key of the ZFS modules.';
    case 'setup':
      return 'Waiting for keys (setup mode): nothing is checked. Load keys in the firmware’s setup, or leave it off.';
    case 'none':
      return firmware.kind === 'bios'
        ? 'Not there: the system was started by BIOS.'
        : 'Not there: this firmware has no Secure Boot.';
    case null:
      return 'Not known.';
  }
}

export function lockdownWords(lockdown: string | null): string {
  switch (lockdown) {
    case 'none':
      return 'None: root may change the running kernel.';
    case 'integrity':
      return 'Integrity: not even root may change the running kernel.';
    case 'confidentiality':
      return 'Confidentiality: not even root may change the running kernel, or read its memory.';
    default:
      return lockdown ?? 'Not known.';
  }
}

/** "Example Board 7"; null: nothing of it is known. */
export const joined = (...parts: readonly (string | null)[]): string | null =>
  parts.filter((part) => part !== null && part !== '').join(' ') || null;

/** "32 GiB: 2 × 16 GiB DDR4 at 3200 MT/s. 1 slot is empty." */
export function memoryWords({ memory, memoryBytes }: Pick<Hardware, 'memory' | 'memoryBytes'>): string {
  const kinds = new Map<string, number>();
  for (const { bytes: size, kind, megatransfers } of memory) {
    if (size === null) continue;
    const speed = megatransfers === null ? null : `at ${megatransfers} MT/s`;
    const words = joined(bytes(size), kind, speed) as string;
    kinds.set(words, (kinds.get(words) ?? 0) + 1);
  }
  const empty = memory.filter(({ bytes: size }) => size === null).length;
  const modules = [...kinds].map(([words, count]) => `${count} × ${words}`).join(', ');
  return [
    `${memoryBytes === null ? 'Modules' : bytes(memoryBytes)}${modules && `: ${modules}`}.`,
    ...(empty > 0 ? [`${plural(empty, 'slot')} ${empty === 1 ? 'is' : 'are'} empty.`] : []),
  ].join(' ');
}

/** "2 × Example 8-Core Processor, with 8 cores and 16 threads each." */
export function processorWords(processors: Hardware['processors']): string {
  const kinds = new Map<string, number>();
  for (const { model, cores, threads } of processors) {
    const inside = [
      ...(cores === null ? [] : [plural(cores, 'core')]),
      ...(threads === null ? [] : [plural(threads, 'thread')]),
    ].join(' and ');
    const words = `${model ?? 'A processor of an unknown model'}${inside && `, with ${inside}`}`;
    kinds.set(words, (kinds.get(words) ?? 0) + 1);
  }
  return `${[...kinds].map(([words, count]) => (count === 1 ? words : `${count} × ${words}${words.includes(', with ') ? ' each' : ''}`)).join('; ')}.`;
}

export function watchdogWords({ title, active, seconds }: Schemas['HardwareWatchdog']): string {
  if (!active) return `${title} is there and not switched on: a system that hangs stays so until somebody restarts it.`;
  const after = seconds === null ? 'some time' : `${digits(seconds)} seconds`;
  return `${title} restarts the machine after ${after} without a sign of life of the system.`;
}

/** https://192.0.2.200; an address of IPv6 in brackets. */
export const pageOf = (address: string): string => `https://${address.includes(':') ? `[${address}]` : address}/`;

/** What this machine does not have, or does not tell of: in sentences, instead of empty lists. */
export function missing(hardware: Hardware): string[] {
  const { controller, errors, memory, processors, cards, ports, slots, watchdogs, summary } = hardware;
  const counts = errors.filter(({ kind }) => kind !== 'link');
  return [
    ...(summary === null ? ['The firmware has not said what this machine is.'] : []),
    ...(controller.state === 'none'
      ? [
          'There is no management controller (BMC), so the appliance cannot see fans, power supplies and voltages. The host of a virtual machine can.',
        ]
      : []),
    ...(counts.length === 0
      ? [
          'Neither memory nor processors nor cards count their errors here. Memory without error correction (ECC) cannot, and virtual machines do not.',
        ]
      : []),
    ...(processors.length === 0 ? ['The firmware has listed no processors.'] : []),
    ...(memory.length === 0 ? ['The firmware has listed no memory modules.'] : []),
    ...(cards.length === 0 ? ['No cards were found.'] : []),
    ...(ports.length === 0 ? ['No network ports were found.'] : []),
    ...(slots.length === 0 ? ['No enclosure tells of its slots, so which disk is in which is not known here.'] : []),
    ...(watchdogs.length === 0
      ? ['There is no watchdog: a system that hangs stays so until somebody restarts it.']
      : []),
  ];
}
