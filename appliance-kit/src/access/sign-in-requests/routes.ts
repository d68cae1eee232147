// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import {
  byCode,
  CollectedSignIn,
  NewSignInRequest,
  SignInRequest,
  SignInSecret,
  StartedSignInRequest,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  startSignInRequest: { method: 'POST', path: '/api/sign-in-requests/start', access: 'anyone', summary: 'Ask to be signed in by somebody who has a browser', body: NewSignInRequest, answer: ok(StartedSignInRequest) },
  collectSignIn: { method: 'POST', path: '/api/sign-in-requests/collect', access: 'anyone', summary: 'Whether it was approved; then the answer begins the session', body: SignInSecret, answer: ok(CollectedSignIn) },
  getSignInRequest: { method: 'GET', path: '/api/sign-in-requests/:code', access: 'session', summary: 'What asks to be signed in', params: byCode, answer: ok(SignInRequest) },
  approveSignInRequest: { method: 'POST', path: '/api/sign-in-requests/:code/approve', access: 'session', confirm: true, summary: 'Sign the program in as oneself', params: byCode, answer: nothing },
  refuseSignInRequest: { method: 'POST', path: '/api/sign-in-requests/:code/refuse', access: 'session', summary: 'Do not sign the program in', params: byCode, answer: nothing },
} as const satisfies Routes;
