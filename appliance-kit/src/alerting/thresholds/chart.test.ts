import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ruleChart } from './chart.ts';
import { expressionOf } from './forms.ts';
import type { EvaluatedRule } from './rule.ts';
import type { RuleForm } from './schema.ts';

const rule = (input: Partial<EvaluatedRule['input']>) =>
  ({ input: { expression: 'egress', direction: 'above', raise: 10, raiseForSeconds: 60, ...input } }) as EvaluatedRule;
const labels = { host: 'web1' };

test('a rule is drawn by the series of its alert alone where the expression allows it', () => {
  const { expression, alone, histogram, limit, windowSeconds } = ruleChart(rule({}), { labels });
  assert.deepEqual([expression, alone, histogram, limit, windowSeconds], ['egress{host="web1"}', true, null, 10, 60]);
  const ratio = ruleChart(rule({ expression: 'a / b' }), { labels });
  assert.deepEqual([ratio.expression, ratio.alone], ['a / b', false]);
});

test('a rule about a histogram is drawn as a heatmap, with the limit of a measurement', () => {
  const form: RuleForm = {
    kind: 'over-limit',
    metric: 'login{dc="x"}',
    slowerThan: 0.5,
    overSeconds: 300,
    by: ['host'],
  };
  const over = ruleChart(rule({ form, expression: expressionOf(form) }), { labels });
  assert.deepEqual([over.histogram, over.limit, over.windowSeconds], ['login{dc="x", host="web1"}', 0.5, 300]);
  const quantile = 'histogram_quantile(0.99, sum by (host) (rate(login[5m])))';
  const found = ruleChart(rule({ expression: quantile, raise: 2 }), { labels });
  assert.deepEqual([found.histogram, found.limit], ['login{host="web1"}', 2]);
  const classic = ruleChart(rule({ expression: 'histogram_quantile(0.9, rate(login_bucket[5m]))' }), { labels });
  assert.equal(classic.histogram, null, 'many series of numbers');
});
