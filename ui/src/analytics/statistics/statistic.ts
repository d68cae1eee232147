// A statistic's name, `STAT[FILTER=VALUE]…[BREAKDOWN]`, read and written (docs/api/tracerd.md), and
// what drilling down makes of it. tracerd decides whether such a dataset exists.
import type { Schemas } from '../../api/client.ts';

export type Statistic = Schemas['Statistic'];
export type Dataset = Schemas['StatisticDataset'];
export type Breakdown = Schemas['Breakdown'];

export interface Name {
  readonly statistic: string;
  readonly filters: readonly (readonly [name: string, value: string])[];
  readonly breakdown: string | null;
}

const NEEDS_QUOTES = /[\]"\\]|[\p{Cc}\p{Cs}]/u;
/** A byte that is no UTF-8 is kept as a lone surrogate, U+DC80 to U+DCFF, so that it can be written back as it was. */
const LONE = 0xdc00;
const ESCAPES: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(letter: string): string {
  return ESCAPES[letter] ?? `\\x${((letter.codePointAt(0) as number) & 0xff).toString(16).padStart(2, '0')}`;
}

function written(value: string): string {
  if (value !== '' && !NEEDS_QUOTES.test(value)) return value;
  return `"${value.replace(/["\\]|[\p{Cc}\p{Cs}]/gu, escaped)}"`;
}

function read(text: string): string {
  if (!text.startsWith('"')) return text;
  // \xHH is a byte: several in a row may be one letter of UTF-8, or none.
  return text
    .slice(1, -1)
    .replace(/((?:\\x[0-9a-fA-F]{2})+)|\\(.)/g, (_, bytes: string | undefined, letter: string) => {
      if (bytes === undefined) return ({ n: '\n', r: '\r', t: '\t' } as Record<string, string>)[letter] ?? letter;
      const raw = Uint8Array.from(bytes.slice(2).split('\\x'), (hex) => Number.parseInt(hex, 16));
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(raw);
      } catch {
        return Array.from(raw, (byte) => String.fromCharCode(byte < 0x80 ? byte : LONE + byte)).join('');
      }
    });
}

/** undefined when it is no such name. */
export function parseName(text: string): Name | undefined {
  const statistic = /^[a-zA-Z0-9_.]+/.exec(text)?.[0];
  if (statistic === undefined) return undefined;
  const filters: [string, string][] = [];
  let breakdown: string | null = null;
  let at = statistic.length;
  while (at < text.length) {
    const part = /^\[([a-zA-Z0-9_]+)(?:=("(?:[^"\\]|\\.)*"|[^\]"]*))?\]/.exec(text.slice(at));
    if (part === null || breakdown !== null) return undefined;
    const [whole, name = '', value] = part;
    if (value === undefined) breakdown = name;
    else filters.push([name, read(value)]);
    at += whole.length;
  }
  return { statistic, filters, breakdown };
}

export function writeName({ statistic, filters, breakdown }: Name): string {
  const sorted = [...filters].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const inside = sorted.map(([name, value]) => `[${name}=${written(value)}]`).join('');
  return statistic + inside + (breakdown === null ? '' : `[${breakdown}]`);
}

/** What may still be chosen to break down by: what is not narrowed to one value already. */
export function freeBreakdowns(statistic: Statistic | undefined, name: Name): Breakdown[] {
  return (statistic?.breakdowns ?? []).filter(
    (one) => one.kind !== 'filter' && !name.filters.some(([filter]) => filter === one.name),
  );
}

/** One value of the present breakdown, and what to split that by. */
export function drill(name: Name, value: string, next: string | null): Name {
  if (name.breakdown === null) return name;
  const filters = [...name.filters.filter(([filter]) => filter !== name.breakdown), [name.breakdown, value] as const];
  return { ...name, filters, breakdown: next };
}

export function withoutFilter(name: Name, filter: string): Name {
  return { ...name, filters: name.filters.filter(([one]) => one !== filter) };
}

/** Control characters and what is no text are shown, not obeyed. */
export function shown(value: string): string {
  if (value === '') return '(empty)';
  return value.replace(/[\p{Cc}\p{Cs}]/gu, escaped);
}

/** Titles of breakdowns are "by disk": the same without the "by". */
export function splitTitle(title: string): string {
  return title.replace(/^by /i, '');
}

/** "Disk operations by latency, only disk sda". */
export function inWords(statistic: Statistic | undefined, name: Name): string {
  const title = (breakdown: string) =>
    splitTitle(statistic?.breakdowns.find((one) => one.name === breakdown)?.title ?? breakdown);
  const by = name.breakdown === null ? '' : ` by ${title(name.breakdown)}`;
  const only = name.filters.map(([filter, value]) => `${title(filter)} ${shown(value)}`).join(', ');
  return (statistic?.title ?? name.statistic) + by + (only && `, only ${only}`);
}

/** What it costs to have it measured. */
export const costWords = {
  none: 'costs nothing: read from counters',
  low: 'costs little',
  medium: 'costs something: look at it while it is needed',
  high: 'costs a lot: look at it briefly',
} as const;
