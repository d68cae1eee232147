// Reads what sg_ses 2.86 (sg3_utils 1.48) prints with --join --join: the elements of an enclosure as SES-4 has them, in the order of
// the enclosure, with their names and limits where it tells those. Formats: join_work and enc_status_helper of its sg_ses.c.
import type { ControllerSensor, Enclosure, SensorKind, SensorState } from './hardware.ts';

/** As execd answers. */
export interface EnclosureAnswer {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly error?: string;
  readonly unsupported?: boolean;
}

/** Of elements that are shown; ports, displays and the like are not. */
const KINDS: Readonly<Record<string, SensorKind>> = {
  ...{ 'Device slot': 'disk', 'Array device slot': 'disk', 'Power supply': 'power-supply', Cooling: 'fan' },
  ...{ 'Temperature sensor': 'temperature', 'Voltage sensor': 'voltage', 'Current sensor': 'current' },
  ...{ Door: 'chassis', Enclosure: 'chassis', 'Uninterruptible power supply': 'battery' },
  ...{ 'Enclosure services controller electronics': 'other', 'SAS expander': 'other' },
};

/** Of the element status code (SES-4, table 74). What is not there, or not watched, is judged by nothing else. */
const STATES: Readonly<Record<string, SensorState>> = {
  ...{ OK: 'ok', Noncritical: 'warning', Critical: 'critical', Unrecoverable: 'critical', 'Not installed': 'absent' },
};

/** Flags that say more than the status code: as sg_ses names them, what they mean, and how bad that is. */
const FLAGS: readonly (readonly [string, string, SensorState])[] = [
  ['Predicted failure', 'Predicted to fail', 'warning'],
  ['Fail', 'Failed', 'critical'],
  ['AC fail', 'No power from outside', 'critical'],
  ['DC fail', 'Gives no power', 'critical'],
  ['DC overvoltage', 'Gives too high a voltage', 'critical'],
  ['DC undervoltage', 'Gives too low a voltage', 'critical'],
  ['DC overcurrent', 'Gives too much current', 'critical'],
  ['Overtmp fail', 'Too hot', 'critical'],
  ['Temperature warn', 'Warm', 'warning'],
  ['OT failure', 'Too hot', 'critical'],
  ['OT warning', 'Warm', 'warning'],
  ['UT failure', 'Too cold', 'critical'],
  ['UT warning', 'Cold', 'warning'],
  ['Crit Over', 'Critically high', 'critical'],
  ['Warn Over', 'High', 'warning'],
  ['Crit Under', 'Critically low', 'critical'],
  ['Warn Under', 'Low', 'warning'],
  ['Fault sensed', 'Fault', 'critical'],
  ['Failure indication', 'Reports a failure', 'critical'],
  ['Warning indication', 'Reports a warning', 'warning'],
  ['Disabled', 'Switched off', 'ok'],
];

const RANK: Readonly<Record<SensorState, number>> = { absent: 0, ok: 1, warning: 2, critical: 3 };

interface Element {
  /** As the enclosure calls it; empty: it does not. */
  readonly name: string;
  readonly index: number;
  readonly type: string;
  readonly text: string;
}

/** `NAME [TYPE,INDEX]  Element type: WORDS`, and what is indented below it. */
function elementsOf(text: string): Element[] {
  const heads = [...text.matchAll(/^(.*?) ?\[\d+,(-?\d+)\] {2}Element type: (.+)$/gm)];
  return heads.map((head, at) => ({
    ...{ name: (head[1] ?? '').trim(), index: Number(head[2]), type: (head[3] ?? '').trim() },
    text: text.slice(head.index + head[0].length, heads[at + 1]?.index),
  }));
}

const READINGS: readonly (readonly [RegExp, string])[] = [
  [/\bTemperature=(-?\d+) C\b/, '°C'],
  [/\bActual speed=(\d+) rpm\b/, 'rpm'],
  [/\bVoltage: (-?[\d.]+) Volts\b/, 'V'],
  [/\bCurrent: (-?[\d.]+) Amps\b/, 'A'],
];

function sensorOf(shelf: string, { index, type, text }: Element, name: string): ControllerSensor[] {
  const kind = KINDS[type];
  const status = /\bstatus: (.+)$/m.exec(text)?.[1]?.trim() ?? '';
  // Index -1 stands for all of a type; what is not supported or allowed to be seen is not there to be watched.
  if (kind === undefined || index < 0 || /^(Unsupported|No access allowed|)$/.test(status)) return [];
  const code = STATES[status];
  const there = code !== 'absent';
  const raised = there ? FLAGS.filter(([flag]) => new RegExp(`[ ,]${flag}=1\\b`).test(text)) : [];
  const state = [code ?? 'ok', ...raised.map(([, , one]) => one)].reduce((a, b) => (RANK[b] > RANK[a] ? b : a));
  const [pattern, unit] = READINGS.find(([one]) => one.test(text)) ?? [];
  const value = pattern === undefined || !there ? null : Number(pattern.exec(text)?.[1]);
  // Limits of voltages and currents are shares of a nominal value that no page has.
  const limit = (which: string) => {
    const found = unit === '°C' ? new RegExp(`\\b${which} critical=(-?\\d+)`).exec(text)?.[1] : undefined;
    return found === undefined || value === null ? null : Number(found);
  };
  return [
    {
      ...{ name: `${shelf} ${name}`, kind, state, value, unit: value === null ? '' : (unit ?? '') },
      reports: [
        ...(code === 'ok' || code === 'absent' ? [] : [status]),
        ...raised.map(([, words]) => words).filter((words, at, all) => all.indexOf(words) === at),
      ],
      ...{ lowest: limit('low'), highest: limit('high') },
    },
  ];
}

/** A shelf has the same name by whichever way, and after it is plugged in elsewhere: by its own identifier. */
function shelfOf({ id, title, text }: EnclosureAnswer): { identifier: string | undefined; shelf: string } {
  const identifier = /^ *Primary enclosure logical identifier \(hex\): ([0-9a-f]+)$/m.exec(text)?.[1];
  return { identifier, shelf: `${title || 'Enclosure'} ${identifier?.slice(-8) ?? id}` };
}

export function parseEnclosure(answer: EnclosureAnswer): ControllerSensor[] {
  const elements = elementsOf(answer.text);
  const { shelf } = shelfOf(answer);
  const own = ({ name, type, index }: Element) => name || `${type} ${index + 1}`;
  const shown = elements.filter(({ index, type }) => index >= 0 && KINDS[type] !== undefined);
  const times = (name: string) => shown.filter((one) => own(one) === name).length;
  return shown.flatMap((one) => {
    const name = own(one);
    return sensorOf(shelf, one, times(name) > 1 ? `${name} (${one.type.toLowerCase()})` : name);
  });
}

/** Of the ways to one shelf the first that answers counts. */
export function readEnclosures(answers: readonly EnclosureAnswer[]): Enclosure[] {
  const seen = new Set<string>();
  return answers.flatMap((answer): Enclosure[] => {
    const { identifier } = shelfOf(answer);
    if (identifier !== undefined) {
      if (seen.has(identifier)) return [];
      seen.add(identifier);
    }
    const { id, title } = answer;
    return [{ id, title: title || 'Enclosure', error: answer.error ?? null, sensors: parseEnclosure(answer) }];
  });
}
