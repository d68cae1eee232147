// What this domain answers, and who may ask.
import { Type } from '../../base/schema/schema.ts';
import { byName, nothing, type Routes } from '../../http/routes.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  simulate: { method: 'POST', path: '/internal/sim/:name', access: 'simulation', summary: 'Make something fail, or well again', params: byName, body: Type.Record(Type.String(), Type.Unknown()), answer: nothing },
} as const satisfies Routes;
