// A rule's form as it is typed, and the API's input made of it. Numbers stay as typed until the rule is saved.
import type { Schemas } from '../../api/client.ts';
import { parseQuantity } from '../../words/format.ts';
import type { Unit } from '../../words/units.ts';
import type { Threshold, ThresholdInput } from '../alerts/words.ts';

export type RuleForm = Schemas['RuleForm'];
export type RuleAction = Schemas['RuleAction'];
export type What = 'expression' | RuleForm['kind'];

export interface Draft {
  name: string;
  what: What;
  expression: string;
  metric: string;
  to: string;
  slowerThan: string;
  overSeconds: number;
  by: string;
  direction: ThresholdInput['direction'];
  raise: string;
  clear: string;
  /** The lower end of a band. */
  raiseBelow: string;
  clearBelow: string;
  raiseForSeconds: number;
  clearForSeconds: number;
  repostSeconds: number;
  noDataSeconds: number;
  hours: Schemas['Hours'] | null;
  severity: ThresholdInput['severity'];
  enabled: boolean;
  destinations: string[];
  escalation: Schemas['Escalation'] | null;
  actions: RuleAction[];
}

const usual: Draft = {
  name: '',
  what: 'expression',
  expression: '',
  metric: '',
  to: '',
  slowerThan: '1.5 s',
  overSeconds: 60,
  by: '',
  direction: 'above',
  raise: '',
  clear: '',
  raiseBelow: '',
  clearBelow: '',
  raiseForSeconds: 60,
  clearForSeconds: 60,
  repostSeconds: 3600,
  noDataSeconds: 0,
  hours: null,
  severity: 'warning',
  enabled: true,
  destinations: [],
  escalation: null,
  actions: [],
};

export function draftOf(rule: Threshold | undefined, query: URLSearchParams): Draft {
  if (rule !== undefined) {
    const { form, expression, direction, raiseForSeconds, clearForSeconds, repostSeconds, severity } = rule;
    return {
      ...usual,
      ...{ expression, direction, raiseForSeconds, clearForSeconds, repostSeconds, severity },
      name: rule.name,
      enabled: rule.enabled,
      destinations: rule.destinations,
      raise: String(rule.raise),
      clear: String(rule.clear),
      raiseBelow: rule.raiseBelow === undefined ? '' : String(rule.raiseBelow),
      clearBelow: rule.clearBelow === undefined ? '' : String(rule.clearBelow),
      noDataSeconds: rule.noDataSeconds ?? 0,
      hours: rule.hours ?? null,
      escalation: rule.escalation ?? null,
      actions: rule.actions ?? [],
      ...(form && {
        ...{ what: form.kind, metric: form.metric, to: form.to ?? '', overSeconds: form.overSeconds },
        slowerThan: form.slowerThan === undefined ? '' : String(form.slowerThan),
        by: form.by.join(', '),
      }),
    };
  }
  const from = query.get('expression') ?? '';
  const type = query.get('type');
  if (from !== '' && type === 'histogram') {
    return { ...usual, metric: from, expression: `histogram_quantile(0.99, ${from})` };
  }
  return { ...usual, metric: from, expression: from !== '' && type === 'counter' ? `rate(${from}[1m])` : from };
}

/** The form, when one was chosen; a text says what is missing. `unit`: the metric's, in which what is too slow is typed. */
export function formOf(draft: Draft, unit: Unit = 'seconds'): RuleForm | null | string {
  if (draft.what === 'expression') return null;
  const metric = draft.metric.trim();
  if (metric === '') return 'Enter what to watch.';
  const by = draft.by.split(/[\s,]+/).filter((label) => label !== '');
  const form: RuleForm = { kind: draft.what, metric, overSeconds: draft.overSeconds, by };
  if (draft.what === 'ratio') {
    if (draft.to.trim() === '') return 'Enter the metric that it is divided by.';
    return { ...form, to: draft.to.trim() };
  }
  if (draft.what === 'over-limit') {
    const slowerThan = parseQuantity(draft.slowerThan, unit);
    if (slowerThan === undefined) return 'Give what is too slow as a number, for instance 1.5 s or 250 ms.';
    return { ...form, slowerThan };
  }
  return form;
}

/** An expression with the unit of what is watched; empty where that is a count. */
export function measuredBy({ what, expression, metric }: Draft): string {
  if (what === 'expression') return expression.trim();
  if (metric.trim() === '') return '';
  return what === 'rate' ? `rate(${metric.trim()}[1m])` : what === 'change' ? `delta(${metric.trim()}[1m])` : '';
}

/** The metric in whose unit it is typed what is too slow. */
export const metricOf = ({ what, metric }: Draft): string => (what === 'over-limit' ? metric.trim() : '');

/** What is watched, as the preview asks for it; null: nothing yet. */
export function watchedOf(draft: Draft, metric?: Unit): { expression: string; form: RuleForm | null } | null {
  const form = formOf(draft, metric);
  if (typeof form === 'string') return null;
  if (form !== null) return { expression: form.metric, form };
  const expression = draft.expression.trim();
  return expression === '' ? null : { expression, form: null };
}

const limitsText = ({ direction, raise, raiseBelow }: Draft) =>
  direction === 'outside' ? `outside ${raiseBelow.trim()} to ${raise.trim()}` : `${direction} ${raise.trim()}`;

/** The lower end of a band, when it is one; a text says what is missing. */
export function bandOf({ direction, raiseBelow, clearBelow }: Draft, unit: Unit) {
  if (direction !== 'outside') return {};
  const lower = parseQuantity(raiseBelow, unit);
  const back = clearBelow.trim() === '' ? lower : parseQuantity(clearBelow, unit);
  if (lower === undefined) return 'Give the lower end of the band as a number.';
  if (back === undefined) return 'Give the lower limit for the all-clear as a number.';
  return { raiseBelow: lower, clearBelow: back };
}

/** `unit`: of what is watched, in which limits are typed; `metric`: of the metric of a form. */
export function inputOf(draft: Draft, unit: Unit = 'count', metric?: Unit): ThresholdInput | string {
  const form = formOf(draft, metric);
  if (typeof form === 'string') return form;
  const expression = form === null ? draft.expression.trim() : form.metric;
  const raise = parseQuantity(draft.raise, unit);
  const clear = draft.clear.trim() === '' ? raise : parseQuantity(draft.clear, unit);
  if (expression === '') return 'Enter what to watch.';
  if (raise === undefined) return 'Give the limit as a number, for instance 1.5, 250 ms or 80 %.';
  if (clear === undefined) return 'Give the limit for the all-clear as a number.';
  const band = bandOf(draft, unit);
  if (typeof band === 'string') return band;
  const incomplete = draft.actions.find(({ kind, target }) => kind !== 'bundle' && target.trim() === '');
  if (incomplete !== undefined) return 'Choose what each action applies to.';
  const { direction, raiseForSeconds, clearForSeconds, repostSeconds, noDataSeconds, severity, enabled } = draft;
  return {
    name: draft.name.trim() || `${expression.slice(0, 80)} ${limitsText(draft)}`,
    ...{
      expression,
      form,
      direction,
      raise,
      clear,
      ...band,
      raiseForSeconds,
      clearForSeconds,
      repostSeconds,
      noDataSeconds,
    },
    ...{ severity, enabled, hours: draft.hours, destinations: draft.destinations, escalation: draft.escalation },
    actions: draft.actions.map((action) => ({ ...action, target: action.target.trim() })),
  };
}
