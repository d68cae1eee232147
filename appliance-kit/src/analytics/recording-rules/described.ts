// A rule as it is shown: what it is, and what storaged knows of it.
import { iso } from '../../base/clock.ts';
import type { RecordingRule, RecordingRuleFill, RecordingRuleState } from './schema.ts';
import type { EvaluatedRule, StoredRule } from './store.ts';

const timeOf = (text: string) => (text === '' ? null : text);

function stateOf({ state }: EvaluatedRule): RecordingRuleState {
  const { durationSeconds, samples, histograms, evaluations, failures, missed, refused } = state;
  return {
    evaluatedAt: timeOf(state.evaluatedAt),
    recordedAt: state.moment === 0 ? null : iso(state.moment * 1000),
    ...{ durationSeconds, samples, histograms, evaluations, failures, missed },
    error: timeOf(state.error),
    errorSince: timeOf(state.errorSince),
    refused: refused && { reason: refused.reason, detail: refused.detail, samples: refused.samples },
  };
}

function fillOf(fill: NonNullable<EvaluatedRule['fill']>): RecordingRuleFill {
  const { from, to, next, state, samples, refused } = fill;
  const done = to > from ? (next - from) / (to - from) : next > from ? 1 : 0;
  return {
    ...{ state, samples, refused },
    from: iso(from),
    to: iso(to),
    percent: state === 'done' ? 100 : Math.min(100, Math.max(0, done * 100)),
    error: timeOf(fill.error),
    startedAt: fill.startedAt,
    endedAt: timeOf(fill.endedAt),
  };
}

/** @param refused storaged's words, when it does not take the rule as it is */
export function described(
  { id, name, group, expression, labels, intervalSeconds, description, enabled }: StoredRule,
  evaluated: EvaluatedRule | undefined,
  refused: string | undefined,
): RecordingRule {
  const state = evaluated === undefined ? null : stateOf(evaluated);
  const never: RecordingRuleState = {
    ...{ evaluatedAt: null, recordedAt: null, durationSeconds: 0, samples: 0, histograms: 0, error: null },
    ...{ errorSince: null, evaluations: 0, failures: 0, missed: 0, refused: null },
  };
  return {
    ...{ id, name, group, expression, labels: labels ?? {}, intervalSeconds, description, enabled },
    fromFile: evaluated?.fixed ?? false,
    state: refused === undefined ? state : { ...(state ?? never), error: refused },
    fill: evaluated?.fill ? fillOf(evaluated.fill) : null,
  };
}
