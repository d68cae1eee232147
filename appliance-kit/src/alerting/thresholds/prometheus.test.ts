import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import { prometheusAlerts, prometheusRules } from './prometheus.ts';
import { type EvaluatedRule, NOTHING_KNOWN } from './rule.ts';
import type { SeriesState } from './schema.ts';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');

function rule(name: string, series: [host: string, state: SeriesState, alerted: boolean, value: number | null][]) {
  return {
    id: `th-${name}`,
    createdAt: NOW,
    input: {
      ...{ name, expression: 'a or b', direction: 'above', raise: 10, clear: 8, raiseForSeconds: 30 },
      ...{ clearForSeconds: 60, repostSeconds: 0, severity: 'critical', enabled: true, destinations: [] },
    },
    evaluatedAt: NOW,
    error: null as string | null,
    errorAt: null,
    wrong: false,
    series: new Map(
      series.map(([host, state, alerted, value]) => [
        host,
        {
          labels: { __name__: 'a', host },
          record: { state, since: NOW - 1000, alerted, lastSentAt: null },
          alertId: alerted ? `al-${host}` : null,
          noDataAlertId: null,
          value,
        },
      ]),
    ),
    asked: 0,
    unit: '',
    ...NOTHING_KNOWN,
  } satisfies EvaluatedRule;
}
const raisedAt = (id: string) => `raised ${id}`;

test('rules and alerts have the form of Prometheus', () => {
  const rules = [
    rule('Egress', [
      ['web1', 'active', true, 12.5],
      ['web2', 'raising', false, 11],
      ['web3', 'ok', false, 1],
      ['web4', 'no_data', true, null],
      ['web5', 'clearing', true, Number.POSITIVE_INFINITY],
    ]),
    rule('Quiet', [['web1', 'ok', false, 1]]),
  ];
  const labels = (host: string) => ({ __name__: 'a', host, alertname: 'Egress', severity: 'critical' });
  const alerts = [
    { labels: labels('web1'), annotations: {}, state: 'firing', activeAt: 'raised al-web1', value: '12.5' },
    { labels: labels('web2'), annotations: {}, state: 'pending', activeAt: '2026-01-02T03:04:04.000Z', value: '11' },
    { labels: labels('web4'), annotations: {}, state: 'firing', activeAt: 'raised al-web4', value: 'NaN' },
    { labels: labels('web5'), annotations: {}, state: 'firing', activeAt: 'raised al-web5', value: '+Inf' },
  ];
  assert.deepEqual(prometheusAlerts(rules, raisedAt), { status: 'success', data: { alerts } });
  const described = {
    ...{ type: 'alerting', name: 'Egress', query: '(a or b) > 10', duration: 30, keepFiringFor: 60 },
    ...{ labels: { severity: 'critical' }, annotations: {}, alerts, state: 'firing', health: 'ok' },
    ...{ evaluationTime: 0, lastEvaluation: '2026-01-02T03:04:05.000Z' },
  };
  const group = {
    ...{ name: 'thresholds', file: 'thresholds', interval: 5, limit: 0, evaluationTime: 0 },
    lastEvaluation: '2026-01-02T03:04:05.000Z',
    rules: [described, { ...described, name: 'Quiet', alerts: [], state: 'inactive' }],
  };
  const ask = (query: Parameters<typeof prometheusRules>[2]) => prometheusRules(rules, [], query, 5000, raisedAt).data;
  assert.deepEqual(ask({}), { groups: [group] });
  assert.deepEqual(ask({ type: 'alert', 'rule_group[]': ['x', 'thresholds'] }), { groups: [group] });
  assert.deepEqual(ask({ type: 'record' }), { groups: [] });
  assert.deepEqual(ask({ 'rule_group[]': 'other' }), { groups: [] });
  assert.deepEqual(ask({ 'rule_name[]': 'Other' }), { groups: [] });
  assert.deepEqual(ask({ 'rule_name[]': 'Egress', exclude_alerts: 'true' }), {
    groups: [{ ...group, rules: [{ ...described, alerts: [] }] }],
  });
});

test('one that is pending, wrong, or was never evaluated says so; one that is switched off is not there', () => {
  const pending = rule('Pending', [['web1', 'raising', false, 11]]);
  const wrong = { ...rule('Wrong', []), error: 'parse error', evaluatedAt: null };
  const fresh = { ...rule('Fresh', []), evaluatedAt: null };
  const off = rule('Off', [['web1', 'active', true, 11]]);
  const rules = [pending, wrong, fresh, { ...off, input: { ...off.input, enabled: false } }];
  const [group] = prometheusRules(rules, [], {}, 5000, raisedAt).data.groups;
  assert.deepEqual(
    group?.rules.map(({ name, health, lastError, lastEvaluation, ...one }) => [
      name,
      one.type === 'alerting' && one.state,
      health,
      lastError,
      lastEvaluation,
    ]),
    [
      ['Pending', 'pending', 'ok', undefined, '2026-01-02T03:04:05.000Z'],
      ['Wrong', 'inactive', 'err', 'parse error', '0001-01-01T00:00:00Z'],
      ['Fresh', 'inactive', 'unknown', undefined, '0001-01-01T00:00:00Z'],
    ],
  );
  assert.deepEqual(prometheusAlerts(rules, raisedAt).data.alerts.length, 1);
});

test('viewers may ask, and what is not understood is refused', async (t) => {
  const { client } = await bench(t);
  assert.equal((await client.get('/api/v1/rules')).status, 401);
  await client.setUp();
  assert.deepEqual((await client.get('/api/v1/rules')).body, { status: 'success', data: { groups: [] } });
  assert.deepEqual((await client.get('/api/v1/alerts')).body, { status: 'success', data: { alerts: [] } });
  const chosen = await client.get('/api/v1/rules?type=alert&rule_name[]=a&rule_name[]=b&file[]=c&exclude_alerts=true');
  assert.deepEqual(chosen.body, { status: 'success', data: { groups: [] } });
  assert.equal((await client.get('/api/v1/rules?match[]=up')).body.code, 'unknown_field');
});
