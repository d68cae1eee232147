// Alerts and rules in words.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { duration, quantity, type Unit, unitOf } from '../../words/format.ts';

export type Threshold = Schemas['Threshold'];
export type ThresholdInput = Schemas['ThresholdInput'];
export type Alert = Schemas['Alert'];

export function conditionOf(severity: Alert['severity']): Condition {
  return severity;
}

/** The unit of an expression: that of the first metric in it, unless it is made a rate or a share by something around it. */
export function unitOfExpression(expression: string): { unit: Unit; perSecond: boolean } {
  const metric = /[a-zA-Z_:][a-zA-Z0-9_:]*_(?:seconds|bytes|ratio)(?:_total)?\b/.exec(expression)?.[0];
  const perSecond = /\b(?:rate|irate)\s*\(/.test(expression);
  return { unit: metric === undefined ? 'plain' : unitOf(metric), perSecond };
}

/** What is watched: the expression, or what its form says. */
export function watchedWords({ form, expression }: Pick<ThresholdInput, 'form' | 'expression'>): string {
  if (!form) return expression || '…';
  const time = duration(form.overSeconds);
  switch (form.kind) {
    case 'rate':
      return `the rate of ${form.metric} over ${time}`;
    case 'ratio':
      return `the rate of ${form.metric} divided by that of ${form.to ?? '…'} over ${time}`;
    case 'change':
      return `the change of ${form.metric} within ${time}`;
    case 'over-limit':
      return `the number of ${form.metric} slower than ${quantity(form.slowerThan ?? 0, 'seconds', false)} within ${time}`;
  }
}

/** "When … stays above 6 for 5 minutes, raise a warning; clear it when it stays below 5 for 5 minutes." */
export function ruleSentence(rule: ThresholdInput): string {
  const { unit, perSecond } = unitOfExpression(rule.expression);
  const show = (value: number) => quantity(value, unit, perSecond);
  const held = (total: number) => (total === 0 ? 'goes' : 'stays');
  const time = (total: number) => (total === 0 ? '' : ` for ${duration(total)}`);
  const back = rule.direction === 'above' ? 'below' : 'above';
  const article =
    rule.severity === 'info' ? 'a notice' : rule.severity === 'critical' ? 'a critical alert' : 'a warning';
  return (
    `When ${watchedWords(rule)} ${held(rule.raiseForSeconds)} ${rule.direction} ${show(rule.raise)}${time(rule.raiseForSeconds)}, ` +
    `raise ${article}; clear it when it ${held(rule.clearForSeconds)} ${back} ${show(rule.clear)}${time(rule.clearForSeconds)}.`
  );
}

export function labelWords(labels: Record<string, string>): string {
  return Object.entries(labels)
    .filter(([name]) => name !== '__name__')
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** The state of a rule: that of its worst series. */
export function standing(rule: Threshold): { state: Condition | 'off'; words: string } {
  if (!rule.enabled) return { state: 'off', words: 'Switched off' };
  if (rule.state.error !== null) return { state: 'warning', words: `Cannot be evaluated: ${rule.state.error}` };
  if (rule.state.evaluatedAt === null) return { state: 'info', words: 'Not evaluated yet' };
  const count = (state: string) => rule.state.series.filter((series) => series.state === state).length;
  const active = count('active') + count('clearing');
  if (active > 0)
    return {
      state: conditionOf(rule.severity),
      words: `Beyond the limit: ${active} of ${rule.state.series.length} series`,
    };
  if (count('raising') > 0) return { state: 'info', words: 'Beyond the limit, but not for long enough yet' };
  if (rule.state.series.length === 0) return { state: 'info', words: 'No series matches' };
  return { state: 'ok', words: `Within the limit: ${rule.state.series.length} series` };
}
