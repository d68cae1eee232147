// From what was clicked to PromQL: the user never types it here.
import type { Metric } from '../../api/telemetry.ts';
import type { View } from './view.ts';

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Labels may have any name; PromQL wants the unusual ones in quotes. */
export function labelName(name: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) ? name : quoted(name);
}

const IDENTIFIER = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** Without a metric: of all that have the labels. */
export function selector({ metric, filters }: Pick<View, 'metric' | 'filters'>): string {
  const plain = IDENTIFIER.test(metric);
  const matchers = filters.map(([label, value]) => `${labelName(label)}=${quoted(value)}`);
  if (!plain && metric !== '') matchers.unshift(`__name__=${quoted(metric)}`);
  const inside = matchers.length > 0 ? `{${matchers.join(',')}}` : '';
  return (plain ? metric : '') + inside;
}

/** Of what is bad when there is little of it, the least is the worst. */
export function worst(name: string): 'max' | 'min' {
  return /(?:^|[_.])(?:free|available|avail|idle)(?:[_.]|$)/.test(name) ? 'min' : 'max';
}

/** Whether adding up makes sense: amounts are summed; of shares and temperatures the worst of all series counts, not an average. */
export function aggregation(metric: Pick<Metric, 'name' | 'type'>): 'sum' | 'max' | 'min' {
  return metric.type !== 'counter' && /_(ratio|celsius|percent|seconds)$/.test(metric.name)
    ? worst(metric.name)
    : 'sum';
}

/** More series than these are not drawn one by one, unless that is chosen. */
export const MANY = 24;

/** Many series as four lines, which the store works out: the worst, the median, and between what eight of ten lie. */
export function bands(metric: Pick<Metric, 'name' | 'type'>, view: View): string {
  const base = selector(view);
  const line = (name: string, values: string) => `label_replace(${values}, "band", "${name}", "", "")`;
  return [
    line('worst', `${worst(metric.name)}(${base})`),
    line('9 of 10 are below', `quantile(0.9, ${base})`),
    line('median', `quantile(0.5, ${base})`),
    line('1 of 10 are below', `quantile(0.1, ${base})`),
  ].join(' or ');
}

/** The series that is the worst at a moment. */
export function worstSeries(metric: Pick<Metric, 'name'>, view: View): string {
  return `${worst(metric.name) === 'max' ? 'topk' : 'bottomk'}(1, ${selector(view)})`;
}

/** A rate needs two samples in its window, and one may be late. */
const RATE_WINDOW = 5;

export function expression(metric: Pick<Metric, 'name' | 'type'>, view: View, step: number): string {
  const base = selector(view);
  const values = metric.type === 'counter' ? `rate(${base}[${Math.max(RATE_WINDOW, 2 * step)}s])` : base;
  return view.by === '' ? values : `${aggregation(metric)} by (${labelName(view.by)}) (${values})`;
}

/** What is drawn, in words, for the chart's title. */
export function inWords(metric: Pick<Metric, 'name' | 'type'>, view: View): string {
  const what =
    metric.type === 'counter'
      ? `${metric.name} per second`
      : metric.type === 'histogram'
        ? `${metric.name} by value`
        : metric.name;
  const ways = { sum: 'total', max: 'highest', min: 'lowest' } as const;
  const by = view.by ? `, ${ways[aggregation(metric)]} for each ${view.by}` : '';
  const where = view.filters.map(([label, value]) => `${label} ${value}`).join(', ');
  return what + by + (where && `, only ${where}`);
}
