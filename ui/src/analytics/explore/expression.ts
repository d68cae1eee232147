// From what was clicked to PromQL: the user never types it here.
import type { Metric } from '../../api/telemetry.ts';
import type { View } from './view.ts';

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Labels may have any name; PromQL wants the unusual ones in quotes. */
function labelName(name: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) ? name : quoted(name);
}

const IDENTIFIER = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

export function selector({ metric, filters }: Pick<View, 'metric' | 'filters'>): string {
  const plain = IDENTIFIER.test(metric);
  const matchers = filters.map(([label, value]) => `${labelName(label)}=${quoted(value)}`);
  if (!plain) matchers.unshift(`__name__=${quoted(metric)}`);
  const inside = matchers.length > 0 ? `{${matchers.join(',')}}` : '';
  return (plain ? metric : '') + inside;
}

/** Whether adding up makes sense: shares and temperatures are averaged over series, amounts are summed. */
export function aggregation(metric: Pick<Metric, 'name' | 'type'>): 'sum' | 'avg' {
  return metric.type !== 'counter' && /_(ratio|celsius|percent|seconds)$/.test(metric.name) ? 'avg' : 'sum';
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
  const by = view.by ? `, ${aggregation(metric) === 'avg' ? 'average' : 'total'} for each ${view.by}` : '';
  const where = view.filters.map(([label, value]) => `${label} ${value}`).join(', ');
  return what + by + (where && `, only ${where}`);
}
