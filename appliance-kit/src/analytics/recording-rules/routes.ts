// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { accepted, byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import {
  RecordingRule,
  RecordingRuleFile,
  RecordingRuleFillInput,
  RecordingRuleImport,
  RecordingRuleInput,
  RecordingRulePreview,
  RecordingRulePreviewInput,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listRecordingRules: { method: 'GET', path: '/api/recording-rules', access: 'viewer', summary: 'The recording rules, and how their evaluation goes', answer: ok(list(RecordingRule)) },
  createRecordingRule: { method: 'POST', path: '/api/recording-rules', access: 'operator', summary: 'Add a recording rule', body: RecordingRuleInput, answer: created(RecordingRule) },
  getRecordingRule: { method: 'GET', path: '/api/recording-rules/:id', access: 'viewer', summary: 'One recording rule, and how its evaluation goes', params: byId, answer: ok(RecordingRule), editable: RecordingRuleInput },
  updateRecordingRule: { method: 'PUT', path: '/api/recording-rules/:id', access: 'operator', summary: 'Change a recording rule', params: byId, body: RecordingRuleInput, answer: ok(RecordingRule) },
  deleteRecordingRule: { method: 'DELETE', path: '/api/recording-rules/:id', access: 'operator', summary: 'Remove a recording rule; what it recorded stays', params: byId, answer: nothing },
  previewRecordingRule: { method: 'POST', path: '/api/recording-rules/preview', access: 'operator', summary: 'What a rule would record now, and what is wrong with it', body: RecordingRulePreviewInput, answer: ok(RecordingRulePreview) },
  importRecordingRules: { method: 'POST', path: '/api/recording-rules/import', access: 'operator', summary: 'Add the recording rules of a rule file of Prometheus', body: RecordingRuleFile, answer: created(RecordingRuleImport) },
  fillRecordingRule: { method: 'POST', path: '/api/recording-rules/:id/fill', access: 'operator', summary: 'Evaluate a rule for the past, from a time on; what is there is replaced', params: byId, body: RecordingRuleFillInput, answer: accepted(RecordingRule) },
  cancelRecordingRuleFill: { method: 'POST', path: '/api/recording-rules/:id/cancel-fill', access: 'operator', summary: 'Stop filling the past of a rule; what was filled stays', params: byId, answer: ok(RecordingRule) },
} as const satisfies Routes;
