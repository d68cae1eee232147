// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, nothing, ok, type Routes } from '../../http/routes.ts';
import { UsedPasskey } from '../factors/index.ts';
import {
  ActiveSession,
  Confirmation,
  Confirmed,
  Credentials,
  EndSessions,
  PasswordChange,
  Session,
  SessionLifetime,
  SessionLifetimeRead,
  SessionsQuery,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getSession: { method: 'GET', path: '/api/session', access: 'anyone', summary: 'Who is signed in', answer: ok(Session) },
  signIn: { method: 'POST', path: '/api/session', access: 'anyone', summary: 'Sign in', body: Credentials, answer: ok(Session) },
  signInByPasskey: { method: 'POST', path: '/api/session/use-passkey', access: 'anyone', summary: 'Sign in by a passkey, without a password', body: UsedPasskey, answer: ok(Session) },
  signOut: { method: 'DELETE', path: '/api/session', access: 'anyone', summary: 'Sign out', answer: nothing },
  confirmSession: { method: 'POST', path: '/api/session/confirm', access: 'session', duringFactorAddition: true, summary: 'Give the password again, a code of the app, or a passkey, for what asks for it; it is good for five minutes', body: Confirmation, answer: ok(Confirmed) },
  changePassword: { method: 'POST', path: '/api/session/change-password', access: 'session', duringPasswordChange: true, summary: "Change one's own password; it ends one's other sessions", body: PasswordChange, answer: ok(Session) },
  listSessions: { method: 'GET', path: '/api/sessions', access: 'viewer', summary: "One's own sessions, or those of all users", query: SessionsQuery, answer: ok(list(ActiveSession)) },
  endSession: { method: 'DELETE', path: '/api/sessions/:id', access: 'viewer', summary: "End a session: one's own, or as an administrator any", params: byId, answer: nothing },
  endSessions: { method: 'POST', path: '/api/sessions/end', access: 'viewer', summary: 'End all sessions of a user but the one that asks', body: EndSessions, answer: nothing },
  getSessionLifetime: { method: 'GET', path: '/api/session-lifetime', access: 'viewer', summary: 'How long sessions last', editable: SessionLifetime, answer: ok(SessionLifetimeRead) },
  setSessionLifetime: { method: 'PUT', path: '/api/session-lifetime', access: 'administrator', confirm: true, summary: 'Change how long sessions last', body: SessionLifetime, answer: ok(SessionLifetimeRead) },
} as const satisfies Routes;
