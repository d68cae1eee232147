// What this domain answers, and who may ask.
import { byId, byName, created, nothing, ok, type Routes } from '../../http/routes.ts';
import {
  FactorCode,
  Factors,
  FinishedFactor,
  MadePasskey,
  NewFactor,
  PasskeyOptions,
  PasskeyUseQuery,
  RecoveryCodes,
  SecondFactorPolicy,
  SecondFactorPolicyRead,
  StartedFactor,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listFactors: { method: 'GET', path: '/api/factors', access: 'session', duringFactorAddition: true, summary: "One's own second factors, and how many recovery codes are left", answer: ok(Factors) },
  startFactor: { method: 'POST', path: '/api/factors/start', access: 'session', confirm: true, duringFactorAddition: true, summary: 'Begin to add an authenticator app; the answer is the only place where its secret is shown', body: NewFactor, answer: ok(StartedFactor) },
  finishFactor: { method: 'POST', path: '/api/factors/:id/finish', access: 'session', confirm: true, duringFactorAddition: true, summary: 'Finish adding an authenticator app, by a code that it shows; with the first one recovery codes are made', params: byId, body: FactorCode, answer: ok(FinishedFactor) },
  startPasskey: { method: 'POST', path: '/api/passkeys/start', access: 'session', confirm: true, duringFactorAddition: true, summary: 'Begin to add a passkey, which works under the host name of the request alone', body: NewFactor, answer: ok(PasskeyOptions) },
  finishPasskey: { method: 'POST', path: '/api/passkeys/finish', access: 'session', confirm: true, duringFactorAddition: true, summary: 'Finish adding a passkey; with the first second factor recovery codes are made', body: MadePasskey, answer: ok(FinishedFactor) },
  startPasskeyUse: { method: 'POST', path: '/api/passkeys/start-use', access: 'anyone', summary: 'What a passkey has to sign, to sign in or to confirm', query: PasskeyUseQuery, answer: ok(PasskeyOptions) },
  removeFactor: { method: 'DELETE', path: '/api/factors/:id', access: 'session', confirm: true, summary: "Remove a second factor of one's own", params: byId, answer: nothing },
  createRecoveryCodes: { method: 'POST', path: '/api/recovery-codes', access: 'session', confirm: true, summary: 'Make new recovery codes; those before are good for nothing then', answer: created(RecoveryCodes) },
  clearFactors: { method: 'POST', path: '/api/users/:name/clear-factors', access: 'administrator', confirm: true, summary: 'Clear the second factors of a user who has lost them; the sessions of the user end', params: byName, answer: nothing },
  getSecondFactorPolicy: { method: 'GET', path: '/api/second-factor-policy', access: 'administrator', summary: 'From when on administrators need a second factor', editable: SecondFactorPolicy, answer: ok(SecondFactorPolicyRead) },
  setSecondFactorPolicy: { method: 'PUT', path: '/api/second-factor-policy', access: 'administrator', confirm: true, summary: 'Change from when on administrators need a second factor', body: SecondFactorPolicy, answer: ok(SecondFactorPolicyRead) },
} as const satisfies Routes;
