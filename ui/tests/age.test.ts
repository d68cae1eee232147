// How old what is shown is, and whether a chart's data has stopped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { Failure, problemIn } from '../src/api/problem.ts';
import { Renewal, type Shown, shownOf } from '../src/api/renewal.ts';
import { selectorsIn } from '../src/charts/selectors.ts';
import { eventlessSince, isFlat, silentSince, stoppedAt } from '../src/charts/silent.ts';

const AT = 1_800_000_000_000;
const one = (readAt: number, wanted: boolean, key = 'a'): Shown => ({ key, readAt: AT + readAt, wanted });

test('what could not be renewed for five seconds is old, as old as the oldest, until it is renewed', () => {
  const renewal = new Renewal();
  const look = (seconds: number, ...shown: Shown[]) => {
    const found = renewal.look(AT + seconds * 1000, shown);
    return found === null ? null : found - AT;
  };
  assert.equal(look(0, one(-60_000, false)), null, 'nobody wants it to be newer');
  for (let at = 1; at <= 6; at += 1) assert.equal(look(at, one(-60_000, true), one(-9_000, true, 'b')), null);
  assert.equal(look(7, one(-60_000, true), one(-9_000, true, 'b')), -60_000);
  assert.equal(look(8, one(7_500, false), one(-9_000, true, 'b')), -9_000, 'the other is still old');
  assert.equal(look(9, one(7_500, false), one(8_500, true, 'b')), null);
});

test('what is read each second is never old, also when it is always being read', () => {
  const renewal = new Renewal();
  for (let at = 0; at < 60; at += 1) {
    assert.equal(renewal.look(AT + at * 1000, [one(at * 1000 - 300, true)]), null);
  }
});

test('a page that slept has five seconds to renew what it shows', () => {
  const renewal = new Renewal();
  renewal.look(AT, [one(0, true)]);
  for (let at = 3600; at <= 3605; at += 1) assert.equal(renewal.look(AT + at * 1000, [one(0, true)]), null);
  assert.equal(renewal.look(AT + 3_606_000, [one(0, true)]), AT, 'and then it says so');
  assert.equal(renewal.look(AT, [one(0, true)]), null, 'a clock that is set back claims nothing');
});

test('only what is on the page counts, and a refusal is an answer', async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  let answer: () => string = () => 'x';
  const options = { queryKey: ['a'], queryFn: async () => answer() };
  await queries.fetchQuery(options);
  assert.deepEqual([...shownOf(queries)], [], 'nobody looks at it');
  const observer = new QueryObserver(queries, { ...options, staleTime: Number.POSITIVE_INFINITY });
  const stop = observer.subscribe(() => {});
  const wanted = async (failing: () => string) => {
    answer = failing;
    await observer.refetch();
    return [...shownOf(queries)].map((shown) => shown.wanted);
  };
  const refuse = (status: number) => () => {
    throw new Failure(problemIn(status, null));
  };
  assert.deepEqual(await wanted(refuse(502)), [true]);
  assert.deepEqual(await wanted(() => 'y'), [false]);
  assert.deepEqual(await wanted(refuse(404)), [false]);
  assert.deepEqual(
    await wanted(() => {
      throw new TypeError('Failed to fetch');
    }),
    [true],
  );
  stop();
  queries.clear();
});

test('data has stopped when its last value is five of its own distances old, and five seconds', () => {
  const frame = (step: number, ...values: (number | null)[]) => ({
    ...{ start: 1000, step, count: values.length },
    lines: [{ labels: {}, values: Float64Array.from(values, (value) => value ?? Number.NaN) }],
  });
  const nothing = (count: number) => Array.from({ length: count }, () => null);
  assert.equal(silentSince(frame(1, 1, 2, 3, ...nothing(5))), null);
  assert.equal(silentSince(frame(1, 1, 2, 3, ...nothing(6))), 1002);
  assert.equal(silentSince(frame(60, 1, 2, 3, ...nothing(5))), null, 'five steps');
  assert.equal(silentSince(frame(0.5, 1, 2, 3, ...nothing(8))), null, 'four seconds');
  const seldom = [1, ...nothing(9), 2, ...nothing(9), 3];
  assert.equal(silentSince(frame(1, ...seldom, ...nothing(50))), null, 'every ten seconds');
  assert.equal(silentSince(frame(1, ...seldom, ...nothing(51))), 1020);
  assert.equal(silentSince(frame(1, ...nothing(100))), null, 'there never was any');
  assert.equal(silentSince(frame(1, 1, ...nothing(100))), null, 'of one value nobody knows what is usual');
  const two = frame(1, 1, 2, 3, ...nothing(20));
  const other = { labels: { a: 'b' }, values: new Float64Array(23).fill(1) };
  assert.equal(silentSince({ ...two, lines: [...two.lines, other] }), null, 'another line goes on');
  const bin = { at: Int32Array.of(1), counts: Float64Array.of(1), total: 1 };
  const heatmap = (...columns: (typeof bin | null)[]) => ({ start: 1000, step: 1, columns });
  assert.equal(eventlessSince(heatmap(bin, bin, bin, ...nothing(5))), null);
  assert.equal(eventlessSince(heatmap(bin, bin, bin, ...nothing(6))), 1002);
});

test('a chart that is flat has stopped when its samples have, which came at their own distances', () => {
  const frame = (...values: number[]) => ({
    ...{ start: 1000, step: 1, count: values.length },
    lines: [{ labels: {}, values: Float64Array.from(values) }],
  });
  const flat = (count: number) => Array.from({ length: count }, () => 7);
  assert.ok(!isFlat(frame(1, 2, ...flat(5))) && isFlat(frame(1, 2, ...flat(6))));
  assert.ok(!isFlat(frame(1, 2, ...flat(6), Number.NaN)), 'that is its end');
  const drawn = frame(...flat(100));
  assert.equal(stoppedAt(drawn, 1099, 1094, 95), null, 'five seconds');
  assert.equal(stoppedAt(drawn, 1099, 1093, 94), 1093);
  assert.equal(stoppedAt(drawn, 1099, 1050, 6), null, 'every ten seconds: for less than fifty');
  assert.equal(stoppedAt(drawn, 1099, 1040, 5), 1040);
  assert.equal(stoppedAt(frame(...flat(95), 8, 8, 8, 8, 8), 1099, 1050, 50), null, 'it moved since then');
  assert.equal(stoppedAt(drawn, 1099, 1000, 1), null, 'of one sample nobody knows what is usual');
});

test('the series that an expression names', () => {
  const found = (expression: string) => selectorsIn(expression);
  assert.deepEqual(found('kettle_level'), ['kettle_level']);
  assert.deepEqual(found('max by (host) (a{x="}{"} offset 5m) / on (host) group_left (site) b:c'), [
    'a{x="}{"}',
    'b:c',
  ]);
  assert.deepEqual(found('{"a.b", host="x"} or rate(c_total[5m]) > bool 2'), ['{"a.b", host="x"}', 'c_total']);
  assert.deepEqual(found('histogram_quantile(0.9, sum(rate(d[1m])) by (le))'), ['d']);
  assert.deepEqual(found('vector(1)'), []);
});
