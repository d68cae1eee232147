// Numbers, sizes and times as a storage administrator reads them: with a unit, three digits, and nothing that jumps.
import { scaleOf, sign, type Unit } from './units.ts';

/** Three significant digits, never an exponent where a person would not write one. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '–' : value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e15 || size < 1e-6) return value.toExponential(2).replace('e+', 'e');
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  const text = value.toPrecision(3);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
export function bytes(value: number): string {
  let size = Math.abs(value);
  let at = 0;
  while (size >= 1023.5 && at < BINARY.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${value < 0 ? '−' : ''}${digits(size)} ${BINARY[at]}`;
}

export function exactBytes(value: number): string {
  return `${value.toLocaleString('en-US')} bytes`;
}

const LARGE: [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k'],
];
/** 12.3 k; below ten thousand the figure itself. */
export function compact(value: number): string {
  for (const [size, letter] of LARGE) {
    if (Math.abs(value) >= size) return `${digits(value / (letter === 'k' ? 1e3 : size))} ${letter}`;
  }
  return digits(value);
}

/** A latency or any other span that is a measurement: 1.2 ms, 340 µs, 4.5 s. */
export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size < 1e-6) return `${digits(value * 1e9)} ns`;
  if (size < 1e-3) return `${digits(value * 1e6)} µs`;
  if (size < 1) return `${digits(value * 1e3)} ms`;
  if (size < 120) return `${digits(value)} s`;
  if (size < 7200) return `${digits(value / 60)} min`;
  if (size < 172_800) return `${digits(value / 3600)} h`;
  return `${digits(value / 86_400)} d`;
}

export function percent(ratio: number, places = 1): string {
  const value = ratio * 100;
  if (value > 0 && value < 0.1) return '< 0.1 %';
  return `${value.toFixed(places).replace(/\.0+$/, '')} %`;
}

/**
 * A value of a metric with that unit; `perSecond` when what is drawn is a counter's rate. `signs`: false on an axis, where the
 * words of units that are none of times, sizes or shares take too much room.
 */
export function quantity(value: number, unit: Unit, perSecond = false, signs = true): string {
  const suffix = perSecond || unit.endsWith('/s') ? '/s' : '';
  const { base, factor = 1 } = scaleOf(unit) ?? {};
  switch (base) {
    case 'bytes':
      return bytes(value * factor) + suffix;
    case 'seconds':
      // Seconds per second have no unit: a share of time.
      return suffix === '' ? seconds(value * factor) : `${digits(value * factor * 100)} %`;
    case 'ratio':
      return `${digits(value * factor * 100)} %${suffix}`;
    default: {
      const word = signs ? sign(unit) : '';
      return compact(value) + (word === '' ? suffix : ` ${word}${suffix}`);
    }
  }
}

/**
 * Reads what a person types into a limit field: `1.5`, `250 ms`, `80 %`, `2 GiB`, `10k`. What has a sign of its own is converted
 * to the metric's unit; a figure alone is in it already.
 */
export function parseQuantity(typed: string, unit: Unit = 'count'): number | undefined {
  const word = sign(unit);
  // Behind a figure: the s of 5 s is a unit's own word, that of 5 ms is not.
  const figure = typed.trimEnd().slice(0, -word.length);
  const text = word !== '' && typed.trimEnd().endsWith(word) && !/\p{L}$/u.test(figure) ? figure : typed;
  const match = /^\s*([+-]?[\d.,]+(?:e[+-]?\d+)?)\s*([a-zA-Zµ%]*)\s*$/.exec(text);
  if (match === null) return undefined;
  const value = Number((match[1] as string).replaceAll(',', ''));
  if (!Number.isFinite(value)) return undefined;
  const letters = match[2] as string;
  const scale = scaleOf(unit)?.factor ?? 1;
  if (['', 'k', 'M', 'G', 'T'].includes(letters)) return value * ({ k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[letters] ?? 1);
  const factors: Record<string, number> = {
    s: 1,
    ms: 1e-3,
    us: 1e-6,
    µs: 1e-6,
    ns: 1e-9,
    min: 60,
    h: 3600,
    d: 86_400,
    '%': 0.01,
    B: 1,
    KiB: 1024,
    MiB: 1024 ** 2,
    GiB: 1024 ** 3,
    TiB: 1024 ** 4,
  };
  const factor = factors[letters];
  // Not divided where nothing changes: 80 % of a ratio is 0.8 and not 0.8000000000000002.
  if (factor === undefined || factor === scale) return factor && value;
  // 1.2 ms are 0.0012 s, and not 0.0011999999999999999: a limit that is a bound of a bin stays one.
  return Number(((value * factor) / scale).toPrecision(15));
}

/** How long something takes or has to hold, in whole words: 5 minutes, 1 hour 30 minutes. */
export function duration(total: number): string {
  const units: [number, string][] = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ];
  let rest = Math.max(0, Math.round(total));
  const words: string[] = [];
  for (const [size, name] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${name}${count === 1 ? '' : 's'}`);
    if (words.length === 2) break;
  }
  return words.join(' ') || '0 seconds';
}

/** "4 minutes ago"; the exact time belongs into the hover. */
export function ago(then: number, now: number): string {
  const past = (now - then) / 1000;
  const size = Math.abs(past);
  if (size < 5) return 'just now';
  const [count, name] =
    size < 60
      ? [size, 'second']
      : size < 3600
        ? [size / 60, 'minute']
        : size < 86_400
          ? [size / 3600, 'hour']
          : [size / 86_400, 'day'];
  const whole = Math.floor(count as number);
  const words = `${whole} ${name}${whole === 1 ? '' : 's'}`;
  return past > 0 ? `${words} ago` : `in ${words}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const clockAndDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A time of which something is: with its day when that was long ago. Milliseconds. */
export function asOf(then: number, now: number): string {
  return (now - then < 43_200_000 ? clock : clockAndDay).format(then);
}
