// A value with what it is measured in, for the sentences that are made here. The units are those that the store knows
// (services/store/units); the pages have the same in ui/src/words/units.ts.
import { figure } from './words.ts';

/** What a value is measured in, as the store says it. `perSecond`: it is what there is of it in each second. */
export interface Measure {
  readonly unit: string;
  readonly perSecond: boolean;
}

/** As it is kept beside a value: `bytes/s`; empty for nothing. */
export function unitText({ unit, perSecond }: Measure): string {
  if (unit === '' || unit === 'count') return perSecond ? '/s' : '';
  return perSecond ? `${unit}/s` : unit;
}

/** How people write units; services/store/units has all spellings. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ...{ ns: 'nanoseconds', us: 'microseconds', µs: 'microseconds', ms: 'milliseconds', s: 'seconds', min: 'minutes' },
  ...{ h: 'hours', d: 'days', By: 'bytes', B: 'bytes', KiB: 'kibibytes', MiB: 'mebibytes', GiB: 'gibibytes' },
  ...{ kB: 'kilobytes', MB: 'megabytes', GB: 'gigabytes', '%': 'percent', '1': 'count' },
};

/** A unit as the store names it. */
export const canonical = (unit: string): string => SPELLINGS[unit.trim()] ?? unit.trim();

const SECONDS: Readonly<Record<string, number>> = {
  ...{ nanoseconds: 1e-9, microseconds: 1e-6, milliseconds: 1e-3, seconds: 1 },
  ...{ minutes: 60, hours: 3600, days: 86_400 },
};
const BYTES: Readonly<Record<string, number>> = {
  ...{ bytes: 1, kibibytes: 2 ** 10, mebibytes: 2 ** 20, gibibytes: 2 ** 30 },
  ...{ kilobytes: 1e3, megabytes: 1e6, gigabytes: 1e9 },
};
const SHARES: Readonly<Record<string, number>> = { ratio: 100, percent: 1, 'seconds/s': 100 };

/** The signs of units that are no words of their own behind a figure. */
const SIGNS: Readonly<Record<string, string>> = {
  ...{ celsius: '°C', hertz: 'Hz', volts: 'V', amperes: 'A', watts: 'W', joules: 'J', meters: 'm', bits: 'bit' },
};

/** Three digits, or as many as a whole number has. */
const short = (value: number) => figure(Number(value.toPrecision(Math.abs(value) >= 100 ? 6 : 3)));

function time(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 1e-6) return `${short(seconds * 1e9)} ns`;
  if (size < 1e-3) return `${short(seconds * 1e6)} µs`;
  if (size < 1) return `${short(seconds * 1e3)} ms`;
  if (size < 120) return `${short(seconds)} s`;
  if (size < 7200) return `${short(seconds / 60)} min`;
  return size < 172_800 ? `${short(seconds / 3600)} h` : `${short(seconds / 86_400)} d`;
}

const NAMES = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
function amount(bytes: number): string {
  let [value, at] = [bytes, 0];
  while (Math.abs(value) >= 1024 && at < NAMES.length - 1) [value, at] = [value / 1024, at + 1];
  return `${short(value)} ${NAMES[at]}`;
}

/** As "320 ms", "1.5 GiB/s", "12 %"; the figure alone when nobody knows what it is measured in. */
export function quantity(value: number, unit: string): string {
  if (!Number.isFinite(value)) return figure(value);
  const share = SHARES[unit];
  if (share !== undefined) return `${short(value * share)} %`;
  const [base = '', suffix] = unit.endsWith('/s') ? [unit.slice(0, -2), '/s'] : [unit, ''];
  const [seconds, bytes] = [SECONDS[base], BYTES[base]];
  if (seconds !== undefined) return time(value * seconds) + suffix;
  if (bytes !== undefined) return amount(value * bytes) + suffix;
  return base === '' ? figure(value) + suffix : `${figure(value)} ${SIGNS[base] ?? base}${suffix}`;
}
