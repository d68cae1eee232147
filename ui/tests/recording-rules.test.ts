import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  draftOf,
  fillWords,
  inputOf,
  labelsOf,
  type RecordingRule,
  standing,
} from '../src/analytics/recording-rules/rule.ts';

const state = {
  ...{ evaluatedAt: '2026-01-01T00:00:00Z', recordedAt: '2026-01-01T00:00:00Z', durationSeconds: 0.004, samples: 3 },
  ...{ histograms: 0, error: null, errorSince: null, evaluations: 1, failures: 0, missed: 0, refused: null },
};
const rule: RecordingRule = {
  ...{ id: 'rr-1', name: 'a:b', group: 'g', expression: 'x', labels: { site: 'north' }, intervalSeconds: 10 },
  ...{ description: '', enabled: true, fromFile: false, state, fill: null },
};

test('labels are read as they are written, whatever is in them', () => {
  assert.deepEqual(labelsOf(''), {});
  assert.deepEqual(labelsOf(' site=north ,team= , host="a, b=c" '), { site: 'north', team: '', host: 'a, b=c' });
  for (const wrong of ['site', '=north', 'a=b c="d"', 'a="b', 'a=b,,', 'a="\\x"']) assert.equal(labelsOf(wrong), null);
  const all: Record<string, string>[] = [{}, { a: '' }, { a: 'x=y, z', b: ' "\\ ' }, { 'dotted.name': 'ü' }];
  for (const labels of all) {
    const draft = draftOf({ ...rule, labels }, new URLSearchParams());
    const { labels: again } = inputOf(draft) as { labels: Record<string, string> };
    assert.deepEqual(again, labels);
  }
});

test('what is missing is named with its field', () => {
  const draft = draftOf(undefined, new URLSearchParams('expression=sum(x)'));
  assert.equal(draft.expression, 'sum(x)');
  assert.deepEqual(inputOf(draft), { field: 'name', words: 'Enter the name of the metric, as job:requests:rate5m.' });
  assert.equal((inputOf({ ...draft, name: 'a', labels: 'x' }) as { field: string }).field, 'labels');
});

test('how a rule goes, and how far the filling of its past is', () => {
  assert.deepEqual(standing(rule), { state: 'ok', words: '3 values in 4 ms' });
  assert.equal(standing({ ...rule, state: { ...state, histograms: 1 } }).words, '1 histogram and 2 values in 4 ms');
  assert.equal(standing({ ...rule, state: { ...state, error: 'too much' } }).words, 'too much');
  assert.equal(standing({ ...rule, state: null }).words, 'The telemetry store does not answer');
  const refused = { reason: 'series_limit', detail: 'there are 100', samples: 2 };
  assert.equal(standing({ ...rule, state: { ...state, refused } }).words, '2 results refused: there are 100');
  assert.equal(standing({ ...rule, enabled: false }).state, 'off');
  const fill = {
    ...{ from: '', to: '', percent: 41.9, samples: 1200, refused: 0, error: null, startedAt: '', endedAt: null },
    state: 'running' as const,
  };
  assert.match(fillWords({ ...rule, fill }) ?? '', /^Filling the past: 41 %, 1,200 samples$/);
  assert.match(fillWords({ ...rule, fill: { ...fill, state: 'failed', error: 'no' } }) ?? '', /failed at 41 %: no$/);
});
