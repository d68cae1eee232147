import assert from 'node:assert/strict';
import { test } from 'node:test';
import { binBounds, decodeBins, decodeSeries, joinBins, joinSeries, type SeriesFrame } from '../src/api/columns.ts';

class Writer {
  readonly bytes: number[] = [];
  u(value: number): this {
    let rest = value;
    while (rest >= 128) {
      this.bytes.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.bytes.push(rest);
    return this;
  }
  text(text: string): this {
    const raw = new TextEncoder().encode(text);
    this.u(raw.length).bytes.push(...raw);
    return this;
  }
  i64(value: number): this {
    const raw = new DataView(new ArrayBuffer(8));
    raw.setBigInt64(0, BigInt(value), true);
    this.bytes.push(...new Uint8Array(raw.buffer));
    return this;
  }
  f64(value: number): this {
    const raw = new DataView(new ArrayBuffer(8));
    raw.setFloat64(0, value, true);
    this.bytes.push(...new Uint8Array(raw.buffer));
    return this;
  }
  head(kind: number, start: number, step: number, count: number): this {
    this.bytes.push(...new TextEncoder().encode('CSC1'), kind, 0);
    return this.i64(start * 1000)
      .i64(step * 1000)
      .u(count);
  }
  get buffer(): ArrayBuffer {
    return new Uint8Array(this.bytes).buffer;
  }
}

test('series: labels in UTF-8, values unaligned, a gap is NaN', () => {
  const made = new Writer().head(1, 100, 5, 3).u(1).u(1).text('disk').text('süß').f64(1.5).f64(Number.NaN).f64(3);
  const frame = decodeSeries(made.buffer);
  assert.deepEqual([frame.start, frame.step, frame.count], [100, 5, 3]);
  assert.deepEqual(frame.lines[0]?.labels, { disk: 'süß' });
  assert.deepEqual([...(frame.lines[0]?.values ?? [])], [1.5, Number.NaN, 3]);
});

test('bins: windows without any stay empty', () => {
  const made = new Writer().head(3, 100, 1, 5).u(2);
  made.u(1).u(2).u(23_040).u(7).u(3).u(300); // window 1: bin 0 seven times, bin 3 300 times
  made
    .u(3)
    .u(1)
    .u(23_040 + 5)
    .u(1); // window 4
  const { columns } = decodeBins(made.buffer);
  assert.deepEqual(
    columns.map((column) => column && [[...column.at], [...column.counts], column.total]),
    [null, [[0, 3], [7, 300], 307], null, null, [[5], [1], 1]],
  );
});

test('bins hold what the format says', () => {
  assert.deepEqual(binBounds(0), [0, 0]);
  assert.deepEqual(binBounds(1 + 90 * 128), [1, 1.1]);
  assert.deepEqual(binBounds(1 + 90 * 127 + 20), [0.3, 0.31]);
  assert.deepEqual(binBounds(-(1 + 90 * 128)), [-1.1, -1]);
});

test('what is not such an answer is refused', () => {
  assert.throws(() => decodeSeries(new TextEncoder().encode('{"status":"error"}       ').buffer as ArrayBuffer));
  assert.throws(() => decodeBins(new Writer().head(1, 0, 1, 0).u(0).u(0).u(0).buffer));
});

const frame = (start: number, lines: Record<string, number[]>): SeriesFrame => ({
  start,
  step: 1,
  count: (Object.values(lines)[0] as number[]).length,
  lines: Object.entries(lines).map(([name, values]) => ({ labels: { name }, values: Float64Array.from(values) })),
});

test('the tail replaces what it overlaps; old points leave; a new line has no past, a gone one no future', () => {
  const known = frame(10, { a: [1, 2, 3, 4], gone: [5, Number.NaN, Number.NaN, Number.NaN], b: [7, 7, 7, 7] });
  const joined = joinSeries(known, frame(12, { a: [30, 40, 50], c: [1, 1, 1] }), 11);
  assert.deepEqual([joined.start, joined.count], [11, 4]);
  const values = Object.fromEntries(joined.lines.map((line) => [line.labels.name, [...line.values]]));
  assert.deepEqual(values, {
    a: [2, 30, 40, 50],
    b: [7, Number.NaN, Number.NaN, Number.NaN],
    c: [Number.NaN, 1, 1, 1],
  });
});

test('a tail that begins after what is known ends leaves a gap', () => {
  const joined = joinSeries(frame(10, { a: [1, 2] }), frame(14, { a: [5] }), 10);
  assert.deepEqual([...(joined.lines[0]?.values ?? [])], [1, 2, Number.NaN, Number.NaN, 5]);
  const bins = (total: number) => ({ at: Int32Array.of(1), counts: Float64Array.of(total), total });
  const columns = joinBins(
    { start: 10, step: 1, columns: [bins(1), bins(2)] },
    { start: 13, step: 1, columns: [bins(4)] },
    11,
  ).columns.map((column) => column?.total ?? null);
  assert.deepEqual(columns, [2, null, 4]);
});
