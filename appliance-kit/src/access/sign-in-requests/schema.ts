// A program without a browser is signed in by a page that is open somewhere else, after the device authorization of RFC 8628:
// the program shows a link and a code, and waits until somebody approves it.
import { closed, component, Line, type Static, Time, Type } from '../../base/schema/schema.ts';

export const NewSignInRequest = component('NewSignInRequest', {
  program: Line({ maxLength: 100, description: 'what asks, and where it runs, as “cistern on build-7”' }),
});

export const StartedSignInRequest = component('StartedSignInRequest', {
  secret: Type.String({ description: 'known to the program alone, which collects the session with it' }),
  code: Type.String({ description: 'what the program shows, and the page repeats' }),
  path: Type.String({ description: 'of the page on which it is approved' }),
  until: Time,
  collectEverySeconds: Type.Integer({ description: 'how often the program may ask whether it was approved' }),
});

export const SignInRequest = component('SignInRequest', {
  code: Type.String(),
  program: Type.String({ description: 'as it calls itself' }),
  address: Type.String({ description: 'where it asked from' }),
  startedAt: Time,
  until: Time,
});
export type SignInRequest = Static<typeof SignInRequest>;

export const byCode = closed({ code: Type.String({ maxLength: 32 }) });

export const SignInSecret = component('SignInSecret', { secret: Type.String({ maxLength: 128 }) });

export const CollectedSignIn = component(
  'CollectedSignIn',
  {
    state: Type.Enum(['waiting', 'approved', 'refused']),
    user: Type.Optional(Type.String({ description: 'who approved it, and is signed in now' })),
  },
  'With `approved` the answer sets the cookie of the session, once.',
);
