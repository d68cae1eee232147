// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { byMetric, MetricMeaning, MetricMeaningInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listMetricMeanings: { method: 'GET', path: '/api/metric-meanings', access: 'viewer', summary: 'What people have said of metrics: units, descriptions, limit lines', answer: ok(list(MetricMeaning)) },
  getMetricMeaning: { method: 'GET', path: '/api/metric-meanings/:name', access: 'viewer', summary: 'What people have said of one metric; empty when nobody has said anything', params: byMetric, answer: ok(MetricMeaning), editable: MetricMeaningInput },
  setMetricMeaning: { method: 'PUT', path: '/api/metric-meanings/:name', access: 'administrator', summary: 'Say what a metric is measured in, what it means, and where charts have a limit line', params: byMetric, body: MetricMeaningInput, answer: ok(MetricMeaning) },
  deleteMetricMeaning: { method: 'DELETE', path: '/api/metric-meanings/:name', access: 'administrator', summary: 'Take back what was said of a metric: what its sender and its name say counts again', params: byMetric, answer: nothing },
} as const satisfies Routes;
