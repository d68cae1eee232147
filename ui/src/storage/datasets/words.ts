// Values of properties as they are shown and typed.
import { bytes, parseQuantity } from '../../words/format.ts';

const SIZES = new Set(['quota', 'refquota', 'reservation', 'refreservation', 'recordsize', 'volblocksize', 'volsize']);
const LIMITS = new Set(['quota', 'refquota', 'reservation', 'refreservation']);

export const isSize = (property: string): boolean => SIZES.has(property);

/** Whole bytes, or undefined when the text is no size. */
export function sizeIn(text: string): number | undefined {
  const found = parseQuantity(text);
  return found === undefined || found < 1 ? undefined : Math.round(found);
}

export function shown(property: string, value: string): string {
  if (!SIZES.has(property)) return value;
  if (value === '0' || value === 'none') return 'none';
  const size = Number(value);
  return Number.isFinite(size) ? bytes(size) : value;
}

/** What was typed, as the appliance takes it; undefined when it is no value. */
export function typed(property: string, text: string): string | undefined {
  if (!SIZES.has(property)) return text.trim() === '' ? undefined : text.trim();
  if (LIMITS.has(property) && /^(none|0|)$/i.test(text.trim())) return 'none';
  const size = sizeIn(text);
  return size === undefined ? undefined : String(size);
}

/** The values of those properties that have few. */
export const choices: Readonly<Record<string, readonly string[]>> = {
  atime: ['on', 'off'],
  relatime: ['on', 'off'],
  readonly: ['on', 'off'],
  sync: ['standard', 'always', 'disabled'],
  logbias: ['latency', 'throughput'],
  primarycache: ['all', 'metadata', 'none'],
  secondarycache: ['all', 'metadata', 'none'],
  copies: ['1', '2', '3'],
  snapdir: ['hidden', 'visible'],
  recordsize: ['4096', '8192', '16384', '32768', '65536', '131072', '262144', '524288', '1048576'],
};
