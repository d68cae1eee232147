// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { NewToken, Token } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listTokens: { method: 'GET', path: '/api/tokens', access: 'administrator', summary: 'API tokens', answer: ok(list(Token)) },
  createToken: { method: 'POST', path: '/api/tokens', access: 'administrator', summary: 'Make an API token; the answer is the only place it is shown', body: NewToken, answer: created(Token) },
  deleteToken: { method: 'DELETE', path: '/api/tokens/:id', access: 'administrator', summary: 'Withdraw an API token', params: byId, answer: nothing },
} as const satisfies Routes;
