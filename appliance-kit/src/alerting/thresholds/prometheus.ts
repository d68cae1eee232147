// The thresholds with what they raise, and the recording rules, as Prometheus' API answers them, for Grafana, promtool, Perses and whatever else asks there.
// nginx leads /api/v1/rules and /api/v1/alerts here; everything else below /api/v1 is the store's.

import type { EvaluatedRecordingRule } from '../../analytics/recording-rules/index.ts';
import { iso } from '../../base/clock.ts';
import { closed, component, Labels, type Static, Time, Type } from '../../base/schema/schema.ts';
import type { EvaluatedRule, Series } from './rule.ts';
import { severalMetrics } from './selectors.ts';

const names = Type.Optional(
  Type.Union([Type.String({ maxLength: 1024 }), Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1000 })]),
);
export const PrometheusRulesQuery = closed({
  type: Type.Optional(Type.Enum(['alert', 'record'])),
  'rule_name[]': names,
  'rule_group[]': names,
  'file[]': names,
  exclude_alerts: Type.Optional(Type.Enum(['true', 'false', '1', '0'])),
});
type PrometheusRulesQuery = Static<typeof PrometheusRulesQuery>;

const PrometheusAlert = component('PrometheusAlert', {
  labels: Labels,
  annotations: Labels,
  state: Type.Enum(['pending', 'firing']),
  activeAt: Time,
  value: Type.String(),
});
type PrometheusAlert = Static<typeof PrometheusAlert>;

const success = Type.Literal('success');
export const PrometheusAlerts = closed({ status: success, data: closed({ alerts: Type.Array(PrometheusAlert) }) });

const PrometheusRule = component('PrometheusRule', {
  type: Type.Literal('alerting'),
  name: Type.String(),
  query: Type.String(),
  duration: Type.Number({ description: 'seconds' }),
  keepFiringFor: Type.Number({ description: 'seconds' }),
  labels: Labels,
  annotations: Labels,
  alerts: Type.Array(PrometheusAlert),
  state: Type.Enum(['inactive', 'pending', 'firing']),
  health: Type.Enum(['unknown', 'ok', 'err']),
  lastError: Type.Optional(Type.String()),
  evaluationTime: Type.Number(),
  lastEvaluation: Time,
});
const PrometheusRecordingRule = component('PrometheusRecordingRule', {
  type: Type.Literal('recording'),
  name: Type.String(),
  query: Type.String(),
  labels: Labels,
  health: Type.Enum(['unknown', 'ok', 'err']),
  lastError: Type.Optional(Type.String()),
  evaluationTime: Type.Number({ description: 'seconds' }),
  lastEvaluation: Time,
});
export const PrometheusRules = closed({
  status: success,
  data: closed({
    groups: Type.Array(
      closed({
        name: Type.String(),
        file: Type.String(),
        rules: Type.Array(Type.Union([PrometheusRule, PrometheusRecordingRule])),
        interval: Type.Number({ description: 'seconds' }),
        limit: Type.Integer(),
        evaluationTime: Type.Number(),
        lastEvaluation: Time,
      }),
    ),
  }),
});

/** Thresholds have no groups and no files here; all of them are evaluated together. */
export const GROUP = 'thresholds';
/** The file of the recording rules that are made here. */
const RECORDING = 'recording-rules';
const NEVER = '0001-01-01T00:00:00Z';

/** Null: neither raised nor about to be. What was raised stays so while it clears, and while it has no value. */
function stateOf({ record }: Series): 'pending' | 'firing' | null {
  if (record.alerted) return 'firing';
  return record.state === 'raising' ? 'pending' : null;
}

function alertsOf(rule: EvaluatedRule, raisedAt: (alertId: string) => string): PrometheusAlert[] {
  // Prometheus leaves the name out, and so do we where the labels tell the series apart without it.
  const several = severalMetrics(rule.input.expression);
  return [...rule.series.values()].flatMap((series) => {
    const state = stateOf(series);
    if (state === null) return [];
    const { __name__: name, ...labels } = series.labels;
    return {
      labels: {
        ...(name !== undefined && several && { __name__: name }),
        ...labels,
        alertname: rule.input.name,
        severity: rule.input.severity,
      },
      annotations: {},
      state,
      activeAt: series.alertId === null ? iso(series.record.since) : raisedAt(series.alertId),
      value: written(series.value),
    };
  });
}

const written = (value: number | null) =>
  value === null ? 'NaN' : Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';

const enabled = (rules: Iterable<EvaluatedRule>) => [...rules].filter(({ input }) => input.enabled);

/** What has a value while the rule's limit is exceeded. */
function beyondQuery({ expression, direction, raise, raiseBelow }: EvaluatedRule['input']): string {
  if (direction === 'outside') return `(${expression}) > ${raise} or (${expression}) < ${raiseBelow}`;
  return `(${expression}) ${direction === 'above' ? '>' : '<'} ${raise}`;
}

export function prometheusAlerts(
  rules: Iterable<EvaluatedRule>,
  raisedAt: (alertId: string) => string,
): Static<typeof PrometheusAlerts> {
  return { status: 'success', data: { alerts: enabled(rules).flatMap((rule) => alertsOf(rule, raisedAt)) } };
}

type Group = Static<typeof PrometheusRules>['data']['groups'][number];

/** Whether a question of the form `name[]=a&name[]=b` is about a name. */
const wanted = (asked: string | string[] | undefined, name: string) =>
  asked === undefined || [asked].flat().includes(name);

/** The groups of the recording rules, in the order in which their first rules stand. */
function recordingGroups(rules: readonly EvaluatedRecordingRule[], query: PrometheusRulesQuery): Group[] {
  if (query.type === 'alert') return [];
  const groups = new Map<string, { readonly key: string; readonly rules: EvaluatedRecordingRule[] }>();
  for (const rule of rules) {
    const file = rule.fixed ? 'rules.files' : RECORDING;
    const chosen = wanted(query['rule_group[]'], rule.group) && wanted(query['file[]'], file);
    if (!rule.enabled || !chosen || !wanted(query['rule_name[]'], rule.name)) continue;
    // Prometheus' groups have one interval.
    const key = JSON.stringify([file, rule.group, rule.intervalSeconds]);
    const group = groups.get(key) ?? { key, rules: [] };
    group.rules.push(rule);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ key, rules: members }) => {
    const [file, name, interval] = JSON.parse(key) as [string, string, number];
    const latest = members
      .map(({ state }) => state.evaluatedAt)
      .sort()
      .at(-1);
    return {
      ...{ name, file, interval, limit: 0 },
      evaluationTime: members.reduce((sum, { state }) => sum + state.durationSeconds, 0),
      lastEvaluation: latest || NEVER,
      rules: members.map(({ name, expression, labels, state }) => ({
        type: 'recording' as const,
        name,
        query: expression,
        labels: labels ?? {},
        health:
          state.error !== '' ? ('err' as const) : state.evaluatedAt === '' ? ('unknown' as const) : ('ok' as const),
        ...(state.error !== '' && { lastError: state.error }),
        evaluationTime: state.durationSeconds,
        lastEvaluation: state.evaluatedAt || NEVER,
      })),
    };
  });
}

export function prometheusRules(
  rules: Iterable<EvaluatedRule>,
  recording: readonly EvaluatedRecordingRule[],
  query: PrometheusRulesQuery,
  intervalMs: number,
  raisedAt: (alertId: string) => string,
): Static<typeof PrometheusRules> {
  const others = recordingGroups(recording, query);
  const none = query.type === 'record' || !wanted(query['rule_group[]'], GROUP) || !wanted(query['file[]'], GROUP);
  const chosen = none ? [] : enabled(rules).filter(({ input }) => wanted(query['rule_name[]'], input.name));
  if (chosen.length === 0) return { status: 'success', data: { groups: others } };
  const quiet = query.exclude_alerts === 'true' || query.exclude_alerts === '1';
  const latest = Math.max(...chosen.map(({ evaluatedAt }) => evaluatedAt ?? 0));
  const group = {
    name: GROUP,
    file: GROUP,
    interval: intervalMs / 1000,
    limit: 0,
    evaluationTime: 0,
    lastEvaluation: latest > 0 ? iso(latest) : NEVER,
    rules: chosen.map((rule) => {
      const { name, raiseForSeconds, clearForSeconds, severity } = rule.input;
      const states = new Set([...rule.series.values()].map(stateOf));
      return {
        type: 'alerting' as const,
        name,
        query: beyondQuery(rule.input),
        duration: raiseForSeconds,
        keepFiringFor: clearForSeconds,
        labels: { severity },
        annotations: {},
        alerts: quiet ? [] : alertsOf(rule, raisedAt),
        state: states.has('firing')
          ? ('firing' as const)
          : states.has('pending')
            ? ('pending' as const)
            : ('inactive' as const),
        health:
          rule.error !== null ? ('err' as const) : rule.evaluatedAt === null ? ('unknown' as const) : ('ok' as const),
        ...(rule.error !== null && { lastError: rule.error }),
        evaluationTime: 0,
        lastEvaluation: rule.evaluatedAt === null ? NEVER : iso(rule.evaluatedAt),
      };
    }),
  };
  return { status: 'success', data: { groups: [group, ...others] } };
}
