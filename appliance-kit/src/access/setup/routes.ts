// What this domain answers, and who may ask.
import { list, Type } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { Session } from '../session/index.ts';
import { Identity, NewAdministrator, NextStep, Setup, SetupCode } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getSetup: { method: 'GET', path: '/api/setup', access: 'anyone', summary: 'How far set-up has come', answer: ok(Setup) },
  enterSetupCode: { method: 'POST', path: '/api/setup/enter-code', access: 'anyone', summary: 'Give the code the console shows; sets the set-up cookie', body: SetupCode, answer: ok(Setup) },
  createAdministrator: { method: 'POST', path: '/api/setup/create-administrator', access: 'setup', summary: 'Create the first administrator and sign in', body: NewAdministrator, answer: ok(Session) },
  setIdentity: { method: 'POST', path: '/api/setup/set-identity', access: 'administrator', summary: 'Set host name and time zone', body: Identity, answer: ok(Setup) },
  setSetupStep: { method: 'POST', path: '/api/setup/go-to-step', access: 'administrator', summary: 'Go on to, or skip to, a step of the wizard', body: NextStep, answer: ok(Setup) },
  finishSetup: { method: 'POST', path: '/api/setup/finish', access: 'administrator', summary: 'Finish set-up; the code is then worthless', answer: ok(Setup) },
  listTimeZones: { method: 'GET', path: '/api/time-zones', access: 'anyone', summary: 'The time zones that can be chosen', answer: ok(list(Type.String())) },
} as const satisfies Routes;
