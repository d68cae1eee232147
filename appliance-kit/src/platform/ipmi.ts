// Reads what ipmitool 1.8.19 prints, which both systems have. Its formats are those of lib/ipmi_sdr.c, ipmi_sel.c,
// ipmi_mc.c and ipmi_chassis.c; the words for states are those of its ipmi_sel.h, after tables 42-2 and 42-3 of the IPMI
// specification, version 2.0.
import { fail } from '../base/problems/problem.ts';
import type { Controller, ControllerEvent, ControllerSensor, SensorKind, SensorState } from './hardware.ts';

/**
 * The words of states that are a failure or a warning, and of a part that is not there; a star stands for any end. What is none
 * of them is as it should be. Which of the specification's states is which is our judgement: it lists them without one.
 */
const STATES: Readonly<Record<Exclude<SensorState, 'ok'>, readonly string[]>> = {
  critical: [
    ...['upper critical*', 'upper non-recoverable*', 'lower critical*', 'lower non-recoverable*'],
    ...['transition to critical*', 'transition to non-recoverable*', 'non-redundant: insufficient resources'],
    ...['failure detected', 'failed', 'power supply ac lost', 'ac lost', 'ac lost or out-of-range'],
    ...['soft-power control failure', 'soft power control failure', 'thermal trip', 'critical overtemperature'],
    ...['drive fault', 'in failed array', 'install error', 'unrecoverable *'],
    ...[
      'uncorrectable ecc',
      'parity',
      'memory scrub failed',
      'ierr',
      'frb*',
      'sm bios uncorrectable cpu-complex error',
    ],
    ...['uncorrectable machine check exception', 'bus uncorrectable error', 'bus fatal error', 'fatal nmi'],
    ...['pci perr', 'pci serr', 'undetermined system hardware failure', 'run-time critical stop'],
    ...['management controller off-line', 'management controller unavailable'],
  ],
  warning: [
    ...['upper non-critical*', 'lower non-critical*', 'transition to non-critical*', 'transition to degraded'],
    ...[
      'transition to off line',
      'limit exceeded',
      'performance lags',
      'predictive failure',
      'predictive failure asserted',
    ],
    ...['redundancy lost', 'redundancy degraded*', 'non-redundant: sufficient*', 'device disabled', 'low'],
    ...['ac out-of-range, but present', 'config error*', 'configuration error', 'general chassis intrusion'],
    ...['drive bay intrusion', 'i/o card area intrusion', 'processor area intrusion', 'fan area intrusion'],
    ...['system unplugged from lan', 'correctable ecc*', 'correctable machine check error', 'memory device disabled'],
    ...[
      'throttled',
      'in critical array',
      'rebuild aborted',
      'log full',
      'log almost full',
      'all event logging disabled',
    ],
    ...['fault status', 'bus correctable error', 'bus degraded', 'bus timeout', 'sensor failure', 'fru failure'],
    ...['sensor access degraded or unavailable', 'controller access degraded or unavailable', 'timer expired'],
    ...[
      'hard reset',
      'power cycle',
      'heartbeat lost',
      'interlock power down',
      '240va power down',
      'communication lost',
    ],
  ],
  absent: ['device absent', 'absent', 'not installed'],
};

const isOneOf = (patterns: readonly string[], words: string) =>
  patterns.some((one) => (one.endsWith('*') ? words.startsWith(one.slice(0, -1)) : words === one));

export function stateOf(reports: readonly string[]): SensorState {
  const said = reports.map((one) => one.trim().toLowerCase());
  const states = ['critical', 'warning', 'absent'] as const;
  return states.find((state) => said.some((words) => isOneOf(STATES[state], words))) ?? 'ok';
}

/** Which part an entity is: table 43-13. */
const ENTITIES: ReadonlyMap<number, SensorKind> = new Map([
  ...([3, 8, 32].map((id) => [id, id === 3 ? 'processor' : 'memory'] as const) satisfies [number, SensorKind][]),
  ...([4, 15, 26].map((id) => [id, 'disk'] as const) satisfies [number, SensorKind][]),
  ...([10, 19, 20, 21].map((id) => [id, 'power-supply'] as const) satisfies [number, SensorKind][]),
  ...([12, 18, 23].map((id) => [id, 'chassis'] as const) satisfies [number, SensorKind][]),
  ...([29, 30].map((id) => [id, 'fan'] as const) satisfies [number, SensorKind][]),
  [40, 'battery'],
]);

const UNITS: Readonly<Record<string, readonly [string, SensorKind]>> = {
  'degrees C': ['°C', 'temperature'],
  'degrees F': ['°F', 'temperature'],
  Volts: ['V', 'voltage'],
  Amps: ['A', 'current'],
  Watts: ['W', 'power'],
  RPM: ['rpm', 'fan'],
  percent: ['%', 'other'],
};

const number = (text: string | undefined): number | null =>
  text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) ? null : Number(text);

/** By a name or what it reports, for what its entity does not say. */
function kindOf(name: string, entity: string, reports: readonly string[]): SensorKind {
  const known = ENTITIES.get(Number(entity.split('.')[0]));
  if (known !== undefined) return known;
  if (/^(PSU?|PWR|Power Supply)[ _-]?\d/i.test(name)) return 'power-supply';
  if (/fan/i.test(name)) return 'fan';
  if (reports.some((one) => /intrusion/i.test(one)) || /intru|chassis/i.test(name)) return 'chassis';
  return 'other';
}

/** After the name: value, unit, state, entity, its name, type, nominal, normal range (2), upper limits (3), lower ones (3), range (2). */
const THRESHOLD_FIELDS = 17;
const AT = { value: 0, unit: 1, state: 2, entity: 3, upper: [9, 10, 11], lower: [12, 13, 14] } as const;

/** @param output `ipmitool -c -v sdr list all` */
export function parseSensors(output: string): ControllerSensor[] {
  return output.split('\n').flatMap((line): ControllerSensor[] => {
    // NAME,NNh,ok,7.1,Presence detected, Failure detected
    const [, discrete, at, entity, reported] = /^(.+?),[0-9A-F]{2}h,(ok|ns),(\d+\.\d+),?(.*)$/.exec(line) ?? [];
    if (discrete !== undefined && entity !== undefined) {
      if (at === 'ns') return [];
      const reports = (reported ?? '').split(', ').filter((one) => one.trim() !== '');
      const none = { value: null, unit: '', lowest: null, highest: null };
      return [{ name: discrete, kind: kindOf(discrete, entity, reports), state: stateOf(reports), reports, ...none }];
    }
    const fields = line.split(',');
    if (fields.length <= THRESHOLD_FIELDS) return []; // locators of parts, and what has no reading
    const name = fields.slice(0, fields.length - THRESHOLD_FIELDS).join(',');
    const rest = fields.slice(fields.length - THRESHOLD_FIELDS);
    const value = number(rest[AT.value]);
    if (value === null) return [];
    const said = rest[AT.state] ?? '';
    const [unit, measured] = UNITS[rest[AT.unit] ?? ''] ?? [rest[AT.unit] ?? '', 'other' as const];
    const entityKind = kindOf(name, rest[AT.entity] ?? '', []);
    // The unrecoverable limit is stated where the critical one is not.
    const limit = (places: readonly number[]) =>
      number(rest[places[1] as number]) ?? number(rest[places[0] as number]) ?? number(rest[places[2] as number]);
    return [
      {
        ...{ name, value, unit, kind: measured === 'other' ? entityKind : measured },
        ...{ state: said === 'ok' ? 'ok' : stateOf([said]), reports: said === 'ok' || said === 'ns' ? [] : [said] },
        ...{ lowest: limit(AT.lower), highest: limit(AT.upper) },
      },
    ];
  });
}

/** 11/23/26 or 11/23/2026, and 14:30:00 UTC: by the controller's clock, which is taken as UTC. */
function moment(date: string, time: string): number | null {
  const [, month, day, year] = /^\s*(\d\d)\/(\d\d)\/(\d{2,4})\s*$/.exec(date) ?? [];
  const [, clock] = /^\s*(\d\d:\d\d:\d\d)/.exec(time) ?? [];
  if (year === undefined || clock === undefined) return null;
  const at = Date.parse(`${year.length === 2 ? `20${year}` : year}-${month}-${day}T${clock}Z`);
  return Number.isNaN(at) ? null : at;
}

/** @param output `ipmitool -c sel elist`: number in hexadecimal, date, time, sensor, event, Asserted or Deasserted, more */
export function parseEvents(output: string): ControllerEvent[] {
  return output.split('\n').flatMap((line): ControllerEvent[] => {
    const [number, date = '', time = '', sensor = '', text = '', direction = '', ...more] = line.split(',');
    const id = Number.parseInt((number ?? '').trim(), 16);
    if (Number.isNaN(id) || sensor === '') return [];
    const over = direction.trim() === 'Deasserted';
    const words = [text.trim(), ...more.map((one) => one.trim())].filter((one) => one !== '').join(', ');
    const state = over ? 'ok' : stateOf([text]);
    return [{ number: id, at: moment(date, time), sensor: sensor.trim(), text: words || 'An event', over, state }];
  });
}

/** Lines of the form `Name   : value`. */
function properties(output: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of output.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) found.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  return found;
}

/** What `ipmitool chassis status` says that is wrong: these with the value behind them, and the kind of sensor that says more. */
const CHASSIS: readonly (readonly [string, string, string, SensorKind])[] = [
  ['Power Overload', 'true', 'The power supplies are overloaded', 'power-supply'],
  ['Main Power Fault', 'true', 'The main power has a fault', 'power-supply'],
  ['Power Control Fault', 'true', 'The control of the power has a fault', 'power-supply'],
  ['Chassis Intrusion', 'active', 'The chassis is open', 'chassis'],
  ['Drive Fault', 'true', 'A drive has a fault', 'disk'],
  ['Cooling/Fan Fault', 'true', 'A fan has a fault', 'fan'],
];

/** @param said of `mc info`, `chassis status`, `sel info` and, of `lan print`, the addresses */
export function parseController(said: { text: string; chassis?: string; network?: string; log?: string }): Controller {
  const about = properties(said.text);
  if (!about.has('Firmware Revision')) {
    throw fail(
      'command_failed',
      `What ipmitool says of the management controller cannot be read: “${said.text.slice(0, 200)}”.`,
    );
  }
  const known = (value: string | undefined) => (value === undefined || /^(unknown|0x?0*$)/i.test(value) ? null : value);
  const network = properties(said.network ?? '');
  const chassis = properties(said.chassis ?? '');
  const address = network.get('IP Address');
  const used = /^(\d+)\s*%/.exec(properties(said.log ?? '').get('Percent Used') ?? '')?.[1];
  return {
    maker: known(about.get('Manufacturer Name')),
    firmware: known(about.get('Firmware Revision')),
    address: address === undefined || address === '0.0.0.0' ? null : address,
    mac: known(network.get('MAC Address')),
    logUsedRatio: used === undefined ? null : Number(used) / 100,
    chassis: CHASSIS.flatMap(([name, value, words, kind]) => (chassis.get(name) === value ? [{ words, kind }] : [])),
  };
}
