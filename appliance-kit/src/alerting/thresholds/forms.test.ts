import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemError } from '../../base/problems/problem.ts';
import { expressionOf } from './forms.ts';
import { mustBeHours, within } from './hours.ts';
import { firings, type PastRule } from './preview.ts';
import type { Hours, RuleForm } from './schema.ts';

const pathOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as ProblemError).problem.errors?.[0]?.path;
  }
};

test('what the forms mean', () => {
  const form = (change: Partial<RuleForm>): RuleForm => ({
    ...{ kind: 'rate', metric: 'out_total', overSeconds: 60, by: [] },
    ...change,
  });
  assert.equal(expressionOf(form({})), 'rate(out_total[1m])');
  assert.equal(expressionOf(form({ overSeconds: 45, by: ['host'] })), 'sum by (host) (rate(out_total[45s]))');
  assert.equal(
    expressionOf(form({ kind: 'ratio', to: 'in_total{site="north"}', overSeconds: 300 })),
    'sum (rate(out_total[5m])) / (sum (rate(in_total{site="north"}[5m])) > 0)',
  );
  assert.equal(expressionOf(form({ kind: 'change', overSeconds: 7200 })), 'delta(out_total[2h])');
  assert.equal(
    expressionOf(form({ kind: 'over-limit', metric: '{"checkout.time"}', slowerThan: 1.5 })),
    '(1 - histogram_fraction(-Inf, 1.5, sum (increase({"checkout.time"}[1m])))) * histogram_count(sum (increase({"checkout.time"}[1m])))',
  );
  const refused = (change: Partial<RuleForm>) => pathOf(() => expressionOf(form(change)));
  assert.equal(refused({ metric: 'a) or (b' }), '/form/metric');
  assert.equal(refused({ metric: ' ' }), '/form/metric');
  assert.equal(refused({ kind: 'ratio' }), '/form/to');
  assert.equal(refused({ kind: 'over-limit' }), '/form/slowerThan');
  assert.equal(refused({ by: ['host', 'x) ('] }), '/form/by/1');
});

test('hours, in their time zone, over midnight and over a change of the clock', () => {
  const office: Hours = { days: [1, 2, 3, 4, 5], from: '09:00', to: '17:30', timeZone: 'Europe/Berlin' };
  const at = (hours: Hours, text: string) => within(hours, Date.parse(text));
  assert.equal(at(office, '2026-01-05T07:59:59Z'), false);
  assert.equal(at(office, '2026-01-05T08:00:00Z'), true);
  assert.equal(at(office, '2026-01-05T16:29:59Z'), true);
  assert.equal(at(office, '2026-01-05T16:30:00Z'), false);
  assert.equal(at(office, '2026-01-04T10:00:00Z'), false, 'a Sunday');
  assert.equal(at(office, '2026-07-06T07:00:00Z'), true, 'in summer an hour earlier by UTC');
  const night: Hours = { days: [5], from: '22:00', to: '06:00', timeZone: 'Asia/Kolkata' };
  assert.equal(at(night, '2026-01-02T16:30:00Z'), true, 'Friday 22:00');
  assert.equal(at(night, '2026-01-03T00:29:00Z'), true, 'Saturday 05:59');
  assert.equal(at(night, '2026-01-03T00:30:00Z'), false);
  assert.equal(at(night, '2026-01-03T17:00:00Z'), false, 'Saturday night');
  assert.equal(at({ ...office, from: '00:00', to: '00:00' }, '2026-01-05T22:59:00Z'), true, 'the whole day');
  assert.equal(
    pathOf(() => mustBeHours({ ...office, timeZone: 'Mars/Olympus' })),
    '/hours/timeZone',
  );
  assert.equal(
    pathOf(() => mustBeHours({ ...office, to: '09:00' })),
    '/hours/to',
  );
});

test('a rule run over the past fires when the same rule would have', () => {
  const rule: PastRule = {
    ...{ direction: 'above', raise: 10, clear: 8, raiseForSeconds: 20, clearForSeconds: 10, repostSeconds: 60 },
    ...{ noDataSeconds: 30, hours: null },
  };
  const start = Date.UTC(2026, 0, 5, 8) / 1000;
  const values = [null, 5, 11, 12, 15, 9, 7, 7, 5, null, null, null, null, 5, 11, 5, 5, 20, 20, 20];
  const series = [
    {
      labels: { host: 'a' },
      values: values.flatMap((value, index) => (value === null ? [] : [[start + index * 10, value] as const])),
    },
  ];
  const range = { start, end: start + (values.length - 1) * 10, stepSeconds: 10 };
  const at = (index: number) => new Date((start + index * 10) * 1000).toISOString();
  assert.deepEqual(firings(rule, series, range), [
    { labels: { host: 'a' }, kind: 'limit', raisedAt: at(19), clearedAt: null, worst: 20, messages: 1 },
    { labels: { host: 'a' }, kind: 'no_data', raisedAt: at(12), clearedAt: at(13), worst: null, messages: 2 },
    { labels: { host: 'a' }, kind: 'limit', raisedAt: at(4), clearedAt: at(7), worst: 15, messages: 2 },
  ]);
  const later: Hours = { days: [0, 1, 2, 3, 4, 5, 6], from: '08:01', to: '09:00', timeZone: 'UTC' };
  const found = firings({ ...rule, hours: later }, series, range);
  assert.deepEqual(
    found.map(({ kind, raisedAt }) => [kind, raisedAt]),
    [
      ['limit', at(19)],
      ['no_data', at(12)],
    ],
    'what was beyond before its hours began',
  );
});
