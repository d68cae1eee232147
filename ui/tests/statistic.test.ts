import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seriesExpression } from '../src/analytics/explore/expressions.ts';
import {
  type Dataset,
  drill,
  inWords,
  parseName,
  type Statistic,
  shown,
  withoutFilter,
  writeName,
} from '../src/analytics/statistics/statistic.ts';

test('names are read and written the same, whatever is in a value', () => {
  for (const text of ['io.ops', 'io.ops[disk]', 'io.ops[disk=sda][latency]', 'http.requests[client=10.0.0.7][uri]']) {
    const name = parseName(text);
    assert.ok(name, text);
    assert.equal(writeName(name), text);
  }
  for (const value of ['a]b', 'say "x"', 'back\\slash', 'two\nlines', '', 'ü', 'a=b', '\u0007']) {
    const text = writeName({ statistic: 'io.ops', filters: [['file', value]], breakdown: 'latency' });
    assert.deepEqual(parseName(text)?.filters, [['file', value]], text);
  }
  const bytes = 'io.ops[file="\\xff\\xfe\u00fc"]';
  const raw = parseName(bytes);
  assert.ok(raw);
  assert.equal(writeName(raw), bytes, 'bytes that are no UTF-8 stay what they are');
  assert.equal(shown(raw.filters[0]?.[1] ?? ''), '\\xff\\xfeü');
  for (const bad of ['', '[disk]', 'io.ops[', 'io.ops[a][b]', 'io.ops[a]x', 'io.ops[a="b]']) {
    assert.equal(parseName(bad), undefined, bad);
  }
});

test('filters are sorted by name, so that one dataset has one name', () => {
  const filters = [
    ['type', 'read'],
    ['disk', 'sda'],
  ] as const;
  assert.equal(writeName({ statistic: 'io.ops', filters, breakdown: null }), 'io.ops[disk=sda][type=read]');
});

test('drilling down narrows and splits anew; a filter can be removed', () => {
  const by = parseName('io.ops[disk]');
  assert.ok(by);
  const down = drill(by, 'sda', 'latency');
  assert.equal(writeName(down), 'io.ops[disk=sda][latency]');
  assert.equal(writeName(withoutFilter(down, 'disk')), 'io.ops[latency]');
  const statistic = {
    title: 'Disk operations',
    breakdowns: [{ name: 'latency', title: 'by latency' }],
  } as unknown as Statistic;
  assert.equal(inWords(statistic, down), 'Disk operations by latency, only disk sda');
});

test('what is no text is shown, not obeyed', () => {
  assert.equal(shown('a\nb\u0007'), 'a\\nb\\x07');
  assert.equal(shown(''), '(empty)');
});

test('an amount is averaged over the seconds that were measured', () => {
  const dataset = { selector: 'cistern_io_ops{dataset="io.ops[disk]"}', breakdown: 'disk' } as Dataset;
  assert.equal(seriesExpression(dataset, false, 1), 'last_over_time(cistern_io_ops{dataset="io.ops[disk]"}[1s])');
  assert.equal(
    seriesExpression(dataset, false, 60),
    'sum_over_time(cistern_io_ops{dataset="io.ops[disk]"}[60s]) / on (dataset) group_left () ' +
      'count_over_time(cistern_io_ops{dataset="io.ops[disk]",disk="",rest=""}[60s])',
  );
});
