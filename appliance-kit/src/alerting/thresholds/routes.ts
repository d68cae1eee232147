// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { PrometheusAlerts, PrometheusRules, PrometheusRulesQuery } from './prometheus.ts';
import { ForgetInput, Threshold, ThresholdInput, ThresholdPreview, ThresholdPreviewInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listThresholds: { method: 'GET', path: '/api/thresholds', access: 'viewer', summary: 'The threshold rules and their state', answer: ok(list(Threshold)) },
  createThreshold: { method: 'POST', path: '/api/thresholds', access: 'operator', summary: 'Add a rule', body: ThresholdInput, answer: created(Threshold) },
  getThreshold: { method: 'GET', path: '/api/thresholds/:id', access: 'viewer', summary: 'One rule and its state', params: byId, answer: ok(Threshold), editable: ThresholdInput },
  updateThreshold: { method: 'PUT', path: '/api/thresholds/:id', access: 'operator', summary: 'Change a rule', params: byId, body: ThresholdInput, answer: ok(Threshold) },
  deleteThreshold: { method: 'DELETE', path: '/api/thresholds/:id', access: 'operator', summary: 'Remove a rule; its active alerts are cleared', params: byId, answer: nothing },
  previewThreshold: { method: 'POST', path: '/api/thresholds/preview', access: 'operator', summary: 'What a rule would say now, and when it would have fired', body: ThresholdPreviewInput, answer: ok(ThresholdPreview) },
  forgetSeries: { method: 'POST', path: '/api/thresholds/:id/forget-series', access: 'operator', summary: 'Forget a series that is gone for good; its alerts are cleared', params: byId, body: ForgetInput, answer: ok(Threshold) },
  prometheusRules: { method: 'GET', path: '/api/v1/rules', access: 'viewer', summary: 'The threshold rules and the recording rules that are switched on, in the form of Prometheus', query: PrometheusRulesQuery, answer: ok(PrometheusRules) },
  prometheusAlerts: { method: 'GET', path: '/api/v1/alerts', access: 'viewer', summary: 'What the threshold rules raise or are about to, in the form of Prometheus', answer: ok(PrometheusAlerts) },
} as const satisfies Routes;
