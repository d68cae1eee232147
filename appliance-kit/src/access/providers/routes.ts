// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Session } from '../session/index.ts';
import {
  EndedAtProvider,
  FinishProvider,
  OfferedProvider,
  Provider,
  ProviderInput,
  ProviderTest,
  ProviderTested,
  StartedProvider,
  StartProvider,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listOfferedProviders: { method: 'GET', path: '/api/offered-providers', access: 'anyone', summary: 'By which identity providers people may sign in', answer: ok(list(OfferedProvider)) },
  listProviders: { method: 'GET', path: '/api/providers', access: 'administrator', summary: 'The identity providers: directories and OpenID Connect', answer: ok(list(Provider)) },
  getProvider: { method: 'GET', path: '/api/providers/:id', access: 'administrator', summary: 'One identity provider', params: byId, editable: ProviderInput, answer: ok(Provider) },
  createProvider: { method: 'POST', path: '/api/providers', access: 'administrator', confirm: true, summary: 'Add an identity provider', body: ProviderInput, answer: created(Provider) },
  changeProvider: { method: 'PUT', path: '/api/providers/:id', access: 'administrator', confirm: true, summary: 'Change an identity provider', params: byId, body: ProviderInput, answer: ok(Provider) },
  deleteProvider: { method: 'DELETE', path: '/api/providers/:id', access: 'administrator', confirm: true, summary: 'Remove an identity provider; its users are disabled', params: byId, answer: nothing },
  testProvider: { method: 'POST', path: '/api/providers/test', access: 'administrator', confirm: true, summary: 'Try the settings of an identity provider, step by step, without keeping them', body: ProviderTest, answer: ok(ProviderTested) },
  startProvider: { method: 'POST', path: '/api/providers/:id/start', access: 'anyone', summary: 'Begin to sign in, or to confirm, by OpenID Connect', params: byId, body: StartProvider, answer: ok(StartedProvider) },
  finishProvider: { method: 'POST', path: '/api/providers/finish', access: 'anyone', summary: 'Finish what was begun, after the provider has sent the browser back', body: FinishProvider, answer: ok(Session) },
  endAtProvider: { method: 'POST', path: '/api/providers/end', access: 'session', summary: 'Sign out, and say where to sign out at the provider', answer: ok(EndedAtProvider) },
} as const satisfies Routes;
