import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cumulative,
  draftOf,
  inputOf,
  isMissing,
  limitText,
  populationLine,
  type Report,
  usedOf,
} from '../src/analytics/objectives/objective.ts';

test('a limit is written so that it is read as the same', () => {
  for (const [limit, unit, text] of [
    [0.3, 'seconds', '300 ms'],
    [0.0012, 's', '1.2 ms'],
    [65_536, 'bytes', '64 KiB'],
    [65_000, 'bytes', '65000'],
    [0.8, 'ratio', '80 %'],
    [12.5, '', '12.5'],
  ] as const) {
    const written = limitText(limit, unit);
    assert.equal(written, text);
    const draft = { name: 'a', selector: 'x', limit: written, target: '99', periodDays: 28, population: '' };
    const input = inputOf(draft, unit);
    assert.ok(!isMissing(input));
    assert.equal(input.limit, limit);
  }
});

test('what is missing is named by its field', () => {
  const draft = { ...draftOf(undefined, new URLSearchParams('selector=x&limit=0.5')), name: 'a' };
  assert.ok(!isMissing(inputOf(draft, 'seconds')));
  const fieldOf = (change: Partial<typeof draft>) => {
    const input = inputOf({ ...draft, ...change }, 'seconds');
    return isMissing(input) ? input.field : null;
  };
  assert.equal(fieldOf({ selector: ' ' }), 'selector');
  assert.equal(fieldOf({ limit: 'fast' }), 'limit');
  for (const target of ['', '100', '0', 'x']) assert.equal(fieldOf({ target }), 'targetPercent', target);
  assert.equal(fieldOf({ target: '99.9 %' }), null);
  assert.equal(fieldOf({ name: '' }), 'name');
});

const HOUR = 3600;
// Local midnight, so that days begin where the reader's do.
const midnight = new Date(2026, 10, 30).getTime() / 1000;
const report = {
  end: midnight + 30 * HOUR,
  stepSeconds: 6 * HOUR,
  windows: [
    { time: midnight, count: 1000, over: 5, within: 0 },
    { time: midnight + 12 * HOUR, count: 1000, over: 30, within: 0 },
    { time: midnight + 24 * HOUR, count: 500, over: 1, within: 0 },
  ],
  period: { start: midnight, count: 2500, over: 36, perThousand: 14.4 },
  population: [{ time: midnight + 12 * HOUR, value: 70 }],
} as unknown as Report;

test('curves begin anew with the period, the month or the day', () => {
  const of = (by: 'period' | 'month' | 'day') =>
    cumulative(report, 99, by).lines.map(({ values }) => [...values].map((value) => Number(value.toFixed(6))));
  assert.deepEqual(of('period'), [
    [0, 5, 5, 35, 35, 36],
    [0, 10, 10, 20, 20, 25],
  ]);
  // The second day is the first of December.
  assert.deepEqual(of('day'), of('month'));
  assert.deepEqual(of('day'), [
    [0, 5, 5, 35, 35, 1],
    [0, 10, 10, 20, 20, 5],
  ]);
  assert.deepEqual(
    [...(populationLine(report) ?? [])],
    [Number.NaN, Number.NaN, 70, Number.NaN, Number.NaN, Number.NaN],
  );
  assert.equal(populationLine({ ...report, population: [] }), null);
});

test('a budget is used up by what was beyond the limit', () => {
  const standing = { count: 1000, over: 25, overBudget: 15 } as Parameters<typeof usedOf>[0];
  assert.equal(usedOf(standing), 2.5);
  assert.equal(usedOf({ ...standing, count: 0, over: 0, overBudget: 0 }), null);
});
