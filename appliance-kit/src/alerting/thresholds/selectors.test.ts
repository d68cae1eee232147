import assert from 'node:assert/strict';
import { test } from 'node:test';
import { narrowed, selectorOf, selectorsOf, severalMetrics } from './selectors.ts';

const names = (expression: string) => selectorsOf(expression).map(({ name }) => name);

test('the selectors of an expression are found, and nothing else is taken for one', () => {
  assert.deepEqual(names('egress'), ['egress']);
  assert.deepEqual(names('sum by (host, dc) (rate(a_total{x="}{"}[5m])) / on (host) b offset 5m'), ['a_total', 'b']);
  assert.deepEqual(names('sum(rate(a[5m])) without (host) > bool 3e2'), ['a']);
  assert.deepEqual(names('{"login.time", host="a"} and {__name__=~"gauge_.*"}'), ['login.time', null]);
  assert.deepEqual(names('max_over_time(a[1h:5m] @ end()) # of b\n or vector(Inf)'), ['a']);
  assert.deepEqual(names('1 + 2'), []);
});

test('a rule over several metrics is known as one', () => {
  assert.ok(!severalMetrics('egress{host="a"}'));
  assert.ok(!severalMetrics('rate(egress[5m]) / (rate(egress[1h]) > 0)'));
  assert.ok(severalMetrics('{__name__=~"gauge_.*"}'));
  assert.ok(severalMetrics('a or b'));
});

test('an expression is narrowed to one series where that cannot change its value', () => {
  const labels = { __name__: 'egress', host: 'we"b', 'k8s.pod': 'x' };
  assert.equal(narrowed('egress > 3', labels), 'egress{host="we\\"b", "k8s.pod"="x"} > 3');
  assert.equal(narrowed('{__name__=~"e.*",}', { __name__: 'egress' }), '{__name__=~"e.*",__name__="egress"}');
  assert.equal(
    narrowed('sum by (host) (rate(a{x="1"}[5m]))', { host: 'h' }),
    'sum by (host) (rate(a{x="1", host="h"}[5m]))',
  );
  assert.equal(narrowed('sum(a)', {}), 'sum(a)');
  assert.equal(narrowed('a / b', { host: 'h' }), null);
  assert.equal(narrowed('label_replace(a, "host", "$1", "h", "(.*)")', { host: 'h' }), null);
});

test('a series is written as PromQL has it', () => {
  assert.equal(selectorOf({ __name__: 'free_bytes', host: 'h6' }), 'free_bytes{host="h6"}');
  assert.equal(selectorOf({ __name__: 'login.time', host: 'h6' }), '{"login.time", host="h6"}');
  assert.equal(selectorOf({ host: 'h6' }), '{host="h6"}');
  assert.equal(selectorOf({ __name__: 'free_bytes' }), 'free_bytes');
});
