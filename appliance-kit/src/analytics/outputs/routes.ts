// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Output, OutputInput, OutputTest, OutputTestResult } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listOutputs: { method: 'GET', path: '/api/outputs', access: 'viewer', summary: 'Where samples are sent on, and how each output does', answer: ok(list(Output)) },
  createOutput: { method: 'POST', path: '/api/outputs', access: 'operator', summary: 'Add an output', body: OutputInput, answer: created(Output) },
  getOutput: { method: 'GET', path: '/api/outputs/:id', access: 'viewer', summary: 'One output', params: byId, answer: ok(Output), editable: OutputInput },
  updateOutput: { method: 'PUT', path: '/api/outputs/:id', access: 'operator', summary: 'Change an output; it goes on from where it was', params: byId, body: OutputInput, answer: ok(Output) },
  deleteOutput: { method: 'DELETE', path: '/api/outputs/:id', access: 'operator', summary: 'Remove an output; what waits for it is not sent', params: byId, answer: nothing },
  testOutput: { method: 'POST', path: '/api/outputs/test', access: 'operator', summary: 'Try a receiver with nothing, or something harmless, and show its answer', body: OutputTest, answer: ok(OutputTestResult) },
} as const satisfies Routes;
