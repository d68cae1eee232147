// Alerts and rules in words.
import type { Schemas } from '../../api/client.ts';
import { seriesInFull } from '../../charts/seriesName.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { duration, quantity } from '../../words/format.ts';
import type { Unit } from '../../words/units.ts';

export type Threshold = Schemas['Threshold'];
export type ThresholdInput = Schemas['ThresholdInput'];
export type Alert = Schemas['Alert'];
export type AlertGroup = Schemas['AlertGroup'];

export function conditionOf(severity: Alert['severity']): Condition {
  return severity;
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

/** Of values in the unit: "When … stays above 6 for 5 minutes, raise a warning; clear it when it stays below 5 for 5 minutes." */
export function ruleSentence(rule: ThresholdInput, unit: Unit): string {
  const show = (value: number) => quantity(value, unit);
  const held = (total: number) => (total === 0 ? 'goes' : 'stays');
  const time = (total: number) => (total === 0 ? '' : ` for ${duration(total)}`);
  const back = rule.direction === 'above' ? 'below' : 'above';
  const [raised, cleared] =
    rule.direction === 'outside' && rule.raiseBelow !== undefined
      ? [
          `outside ${show(rule.raiseBelow)} to ${show(rule.raise)}`,
          `between ${show(rule.clearBelow ?? rule.raiseBelow)} and ${show(rule.clear)}`,
        ]
      : [`${rule.direction} ${show(rule.raise)}`, `${back} ${show(rule.clear)}`];
  const again = rule.direction === 'outside' && rule.clearForSeconds === 0 ? 'is' : held(rule.clearForSeconds);
  const article =
    rule.severity === 'info' ? 'a notice' : rule.severity === 'critical' ? 'a critical alert' : 'a warning';
  return (
    `When ${watchedWords(rule)} ${held(rule.raiseForSeconds)} ${raised}${time(rule.raiseForSeconds)}, ` +
    `raise ${article}; clear it when it ${again} ${cleared}${time(rule.clearForSeconds)}.`
  );
}

export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .filter(([name]) => name !== '__name__')
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

type SeriesLabels = Readonly<Record<string, string>>;

/** How each of some series is called: by its labels, and with its name where they are of several metrics. */
export function wordsAmong(all: readonly { readonly labels: SeriesLabels }[]): (labels: SeriesLabels) => string {
  const several = new Set(all.map(({ labels }) => labels.__name__)).size > 1;
  return (labels) => (several ? seriesInFull(labels) : labelWords(labels));
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
