// What values are measured in. The store says it (services/store/units): a word, with /s behind it for an amount of each second.
// The management service has the same in appliance-kit/src/base/quantity.ts.

/** As the store says it: `seconds`, `bytes/s`, `request`; `count` for what is counted, and where nobody knows. */
export type Unit = string;

interface Scale {
  readonly base: 'seconds' | 'bytes' | 'ratio';
  /** How many of the base one of it is. */
  readonly factor: number;
}

const SCALES: Readonly<Record<string, Scale>> = {
  nanoseconds: { base: 'seconds', factor: 1e-9 },
  microseconds: { base: 'seconds', factor: 1e-6 },
  milliseconds: { base: 'seconds', factor: 1e-3 },
  seconds: { base: 'seconds', factor: 1 },
  minutes: { base: 'seconds', factor: 60 },
  hours: { base: 'seconds', factor: 3600 },
  days: { base: 'seconds', factor: 86_400 },
  bytes: { base: 'bytes', factor: 1 },
  kibibytes: { base: 'bytes', factor: 2 ** 10 },
  mebibytes: { base: 'bytes', factor: 2 ** 20 },
  gibibytes: { base: 'bytes', factor: 2 ** 30 },
  kilobytes: { base: 'bytes', factor: 1e3 },
  megabytes: { base: 'bytes', factor: 1e6 },
  gigabytes: { base: 'bytes', factor: 1e9 },
  ratio: { base: 'ratio', factor: 1 },
  percent: { base: 'ratio', factor: 0.01 },
};

/** The signs of units that are no words of their own behind a figure. */
const SIGNS: Readonly<Record<string, string>> = {
  ...{ celsius: '°C', hertz: 'Hz', volts: 'V', amperes: 'A', watts: 'W', joules: 'J', meters: 'm', bits: 'bit' },
};

/** How people write them, before the store has named them: with these a limit can be read while it is typed. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ...{ ns: 'nanoseconds', us: 'microseconds', µs: 'microseconds', ms: 'milliseconds', s: 'seconds', min: 'minutes' },
  ...{ h: 'hours', d: 'days', B: 'bytes', KiB: 'kibibytes', MiB: 'mebibytes', GiB: 'gibibytes', kB: 'kilobytes' },
  ...{ MB: 'megabytes', GB: 'gigabytes', '%': 'percent' },
};

/** Without what each second is about. */
export const baseUnit = (unit: Unit): string => unit.replace(/\/s$/, '');

/** Times, sizes and shares, in whatever they are measured; undefined for all else. */
export function scaleOf(unit: Unit): Scale | undefined {
  const base = baseUnit(unit);
  return SCALES[SPELLINGS[base] ?? base];
}

/** What stands behind a figure: a sign, a word, or nothing. */
export function sign(unit: Unit): string {
  const base = baseUnit(unit);
  return base === '' || base === 'count' ? '' : (SIGNS[base] ?? base);
}

/** Those that a person can choose, most used first. */
export const CHOICES: readonly string[] = [
  ...['seconds', 'milliseconds', 'microseconds', 'nanoseconds', 'minutes', 'hours', 'days', 'bytes', 'kibibytes'],
  ...['mebibytes', 'gibibytes', 'kilobytes', 'megabytes', 'gigabytes', 'bits', 'ratio', 'percent', 'celsius', 'hertz'],
  ...['volts', 'amperes', 'watts', 'joules', 'meters', 'count'],
];

/** What a limit may look like. */
export function limitExample(unit: Unit): string {
  const base = scaleOf(unit)?.base;
  return base === undefined ? '100' : { seconds: '1.5 s', bytes: '2 GiB', ratio: '80 %' }[base];
}
