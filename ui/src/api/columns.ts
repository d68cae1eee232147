// The compact answers of the telemetry store ("CSC1", docs/FORMATS.md), read, and joined to what is known already: a
// live chart asks each second for the last few seconds, not for the whole hour again.
import { reachingFetch } from './client.ts';
import { Failure, problemIn } from './problem.ts';
import type { Window } from './telemetry.ts';

export interface Line {
  readonly labels: Readonly<Record<string, string>>;
  /** NaN where there is none: a gap. */
  readonly values: Float64Array;
}
/** Point i is at start + i·step, and stands for the step that ended then. Seconds. */
export interface SeriesFrame {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  readonly lines: readonly Line[];
}

/** A histogram's bins, by their number (see `binBounds`), ascending. */
export interface Bins {
  readonly at: Int32Array;
  readonly counts: Float64Array;
  readonly total: number;
}
/** Window i is [start + i·step, start + (i+1)·step). null: nothing was measured then. */
export interface BinsFrame {
  readonly start: number;
  readonly step: number;
  readonly columns: readonly (Bins | null)[];
}

const MAGIC = 0x31435343; // "CSC1", little-endian
/** The number of the lowest bin; the first bin of a histogram is counted from it. */
const LOWEST_BIN = -23_040;

class Reader {
  readonly view: DataView;
  at = 0;
  constructor(buffer: ArrayBuffer) {
    this.view = new DataView(buffer);
  }
  byte(): number {
    return this.view.getUint8(this.at++);
  }
  /** An int64 of milliseconds, as seconds. */
  seconds(): number {
    const value = this.view.getBigInt64(this.at, true);
    this.at += 8;
    return Number(value) / 1000;
  }
  varint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  }
  text(): string {
    const length = this.varint();
    const bytes = new Uint8Array(this.view.buffer, this.at, length);
    this.at += length;
    return new TextDecoder().decode(bytes);
  }
  floats(count: number): Float64Array {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i += 1) values[i] = this.view.getFloat64(this.at + 8 * i, true);
    this.at += 8 * count;
    return values;
  }
}

function head(buffer: ArrayBuffer, wanted: number) {
  const reader = new Reader(buffer);
  if (buffer.byteLength < 23 || reader.view.getUint32(0, true) !== MAGIC) throw new Error('not a compact answer');
  reader.at = 4;
  const kind = reader.byte();
  if (kind !== wanted) throw new Error(`a compact answer of kind ${kind}, not ${wanted}`);
  reader.byte(); // flags
  return { reader, start: reader.seconds(), step: reader.seconds(), count: reader.varint() };
}

export function decodeSeries(buffer: ArrayBuffer): SeriesFrame {
  const { reader, start, step, count } = head(buffer, 1);
  const lines: Line[] = [];
  for (let left = reader.varint(); left > 0; left -= 1) {
    const labels: Record<string, string> = {};
    for (let pairs = reader.varint(); pairs > 0; pairs -= 1) {
      const name = reader.text();
      labels[name] = reader.text();
    }
    lines.push({ labels, values: reader.floats(count) });
  }
  return { start, step, count, lines };
}

export function decodeBins(buffer: ArrayBuffer): BinsFrame {
  const { reader, start, step, count } = head(buffer, 3);
  const columns: (Bins | null)[] = new Array(count).fill(null);
  let window = 0;
  for (let left = reader.varint(), first = true; left > 0; left -= 1, first = false) {
    window = first ? reader.varint() : window + reader.varint();
    const size = reader.varint();
    const at = new Int32Array(size);
    const counts = new Float64Array(size);
    let bin = 0;
    let total = 0;
    for (let i = 0; i < size; i += 1) {
      bin = i === 0 ? reader.varint() + LOWEST_BIN : bin + reader.varint();
      at[i] = bin;
      counts[i] = reader.varint();
      total += counts[i] as number;
    }
    columns[window] = { at, counts, total };
  }
  return { start, step, columns };
}

/** Bin 0 is zero; b > 0 holds [m·10^(e−1), (m+1)·10^(e−1)), m = (b−1) mod 90 + 10, e = ⌊(b−1)/90⌋ − 128. */
export function binBounds(bin: number): [lower: number, upper: number] {
  if (bin === 0) return [0, 0];
  const place = Math.abs(bin) - 1;
  const mantissa = (place % 90) + 10;
  const power = Math.floor(place / 90) - 129;
  // By way of text where a power of ten is no exact number: 0.3 must not become 0.30000000000000004.
  const lower = Number(`${mantissa}e${power}`);
  const upper = Number(`${mantissa + 1}e${power}`);
  return bin > 0 ? [lower, upper] : [-upper, -lower];
}

type Parameters = Record<string, string | number | undefined>;

async function getBuffer(path: string, parameters: Parameters, signal?: AbortSignal): Promise<ArrayBuffer> {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) form.set(name, String(value));
  const url = new URL(`/api/v1/${path}?${form}`, location.origin);
  const headers = { accept: 'application/vnd.cistern.columns, application/json' };
  const response = await reachingFetch(new Request(url, { signal: signal ?? null, headers }));
  if (!response.ok) throw new Failure(problemIn(response.status, await response.json().catch(() => null)));
  return response.arrayBuffer();
}

export async function fetchSeries(
  query: string,
  { start, end, step }: Window,
  lookback: number | undefined,
  signal?: AbortSignal,
): Promise<SeriesFrame> {
  return decodeSeries(await getBuffer('columns', { query, start, end, step, lookback_delta: lookback }, signal));
}

export async function fetchBins(query: string, { start, end, step }: Window, signal?: AbortSignal): Promise<BinsFrame> {
  return decodeBins(await getBuffer('histogram/heatmap', { query, start, end, step, format: 'columns' }, signal));
}

const keyOf = (labels: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(labels).sort());

/** What is known up to where `tail` begins, and `tail`; of that, what lies after `from`. Both have one step. */
export function joinSeries(known: SeriesFrame, tail: SeriesFrame, from: number): SeriesFrame {
  const { step } = tail;
  const last = tail.start + (tail.count - 1) * step;
  const start = Math.max(known.start, Math.ceil(from / step) * step);
  const count = Math.max(0, Math.round((last - start) / step) + 1);
  const shift = Math.round((start - known.start) / step);
  const joint = Math.max(0, Math.round((tail.start - start) / step));
  const lines = new Map<string, { labels: Line['labels']; values: Float64Array }>();
  const lineOf = (labels: Line['labels']) => {
    const key = keyOf(labels);
    let found = lines.get(key);
    if (found === undefined) {
      found = { labels, values: new Float64Array(count).fill(Number.NaN) };
      lines.set(key, found);
    }
    return found.values;
  };
  for (const { labels, values } of known.lines) {
    const kept = values.subarray(shift, shift + Math.min(joint, count));
    // A line whose last value has left the window is forgotten.
    if (kept.some((value) => !Number.isNaN(value))) lineOf(labels).set(kept);
  }
  const skipped = Math.max(0, Math.round((start - tail.start) / step));
  for (const { labels, values } of tail.lines) lineOf(labels).set(values.subarray(skipped), joint);
  return { start, step, count, lines: [...lines.values()] };
}

export function joinBins(known: BinsFrame, tail: BinsFrame, from: number): BinsFrame {
  const { step } = tail;
  const start = Math.max(known.start, Math.ceil(from / step) * step);
  const shift = Math.round((start - known.start) / step);
  const joint = Math.max(0, Math.round((tail.start - start) / step));
  const columns = known.columns.slice(shift, shift + joint);
  while (columns.length < joint) columns.push(null);
  return { start, step, columns: [...columns, ...tail.columns] };
}
