// From a dataset to what the store is asked. The user never types it.
import type { Dataset } from '../statistics/statistic.ts';
import { labelName } from './expression.ts';

function matcher(name: string, value: string): string {
  return `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** The selector with more conditions. */
function narrowed(selector: string, more: readonly string[]): string {
  if (more.length === 0) return selector;
  const [, before, inside] = /^(.*?)\{(.*)\}$/s.exec(selector.trim()) ?? [];
  if (before === undefined || inside === undefined) return `${selector.trim()}{${more.join(',')}}`;
  const matchers = inside.trim().replace(/,$/, '');
  return `${before}{${[...(matchers === '' ? [] : [matchers]), ...more].join(',')}}`;
}

/** The selector with one more filter. */
export function filtered(selector: string, label: string, value: string): string {
  return narrowed(selector, [matcher(labelName(label), value)]);
}

/** The total of each second: what has neither the breakdown's label nor is the rest. */
export function totalSelector({ selector, breakdown }: Dataset): string {
  return narrowed(selector, breakdown === null ? [] : [matcher(breakdown, ''), matcher('rest', '')]);
}

/** How many seconds of a step a histogram was measured in: tracerd writes how many events each second had, none too. */
export function measuredExpression({ selector }: Dataset, step: number): string {
  return `count_over_time(${selector.replace(/^\w+/, '$&_events')}[${Math.max(1, step)}s])`;
}

/**
 * The values of a dataset, one for each step: of an amount what happened per second, averaged over the seconds in which
 * something was measured (a gap is not a zero), of a level its average. A range of exactly a step never looks back over a gap.
 */
export function seriesExpression(dataset: Dataset, level: boolean, step: number): string {
  const { selector, breakdown } = dataset;
  if (step <= 1) return `last_over_time(${selector}[1s])`;
  if (level || breakdown === null) return `avg_over_time(${selector}[${step}s])`;
  const measured = `count_over_time(${totalSelector(dataset)}[${step}s])`;
  return `sum_over_time(${selector}[${step}s]) / on (dataset) group_left () ${measured}`;
}
