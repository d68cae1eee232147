// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { Credentials, Session } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getSession: { method: 'GET', path: '/api/session', access: 'anyone', summary: 'Who is signed in', answer: ok(Session) },
  signIn: { method: 'POST', path: '/api/session', access: 'anyone', summary: 'Sign in', body: Credentials, answer: ok(Session) },
  signOut: { method: 'DELETE', path: '/api/session', access: 'anyone', summary: 'Sign out', answer: nothing },
} as const satisfies Routes;
