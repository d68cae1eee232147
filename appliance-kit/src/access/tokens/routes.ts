// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { NewToken, Token, TokenChange } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listTokens: { method: 'GET', path: '/api/tokens', access: 'viewer', summary: "API tokens: one's own, for an administrator all", answer: ok(list(Token)) },
  getToken: { method: 'GET', path: '/api/tokens/:id', access: 'viewer', summary: 'One API token', params: byId, editable: TokenChange, answer: ok(Token) },
  createToken: { method: 'POST', path: '/api/tokens', access: 'viewer', confirm: true, summary: 'Make an API token; the answer is the only place it is shown', body: NewToken, answer: created(Token) },
  changeToken: { method: 'PUT', path: '/api/tokens/:id', access: 'viewer', confirm: true, summary: 'Change where and how long an API token may be used, or hand it over', params: byId, body: TokenChange, answer: ok(Token) },
  deleteToken: { method: 'DELETE', path: '/api/tokens/:id', access: 'viewer', summary: 'Withdraw an API token', params: byId, answer: nothing },
} as const satisfies Routes;
