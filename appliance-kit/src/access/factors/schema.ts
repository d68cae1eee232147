// Second factors: what is given besides the password.
import { Count, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

export const Factor = component('Factor', {
  id: Type.String(),
  kind: Type.Enum(['app'], { description: 'app: codes of six digits, by an authenticator app' }),
  name: Type.String(),
  createdAt: Time,
  lastUsedAt: nullable(Time),
});
export type Factor = Static<typeof Factor>;

export const Factors = component('Factors', {
  items: Type.Array(Factor),
  recoveryCodesLeft: Count,
});

export const NewFactor = component('NewFactor', {
  name: Line({ maxLength: 64, description: 'what one calls it oneself, as “phone”' }),
});

export const StartedFactor = component(
  'StartedFactor',
  {
    id: Type.String(),
    secret: Type.String({ description: 'base32, for an app that cannot scan' }),
    url: Type.String({ description: 'otpauth: what the QR code for the app says' }),
    until: Type.String({ description: 'when it is forgotten, unless a code has shown that the app has it; ISO 8601' }),
  },
  'Shown once. It is no factor before it is finished.',
);

export const FactorCode = component('FactorCode', {
  code: Type.String({ maxLength: 64, description: 'what the app shows now' }),
});

const Codes = Type.Array(Type.String(), {
  description: 'each is good for one sign-in, besides the password; shown this once',
});
export const FinishedFactor = component('FinishedFactor', {
  factor: Factor,
  recoveryCodes: nullable(Codes),
});
export const RecoveryCodes = component('RecoveryCodes', { codes: Codes });

export const SecondFactorPolicy = component('SecondFactorPolicy', {
  requiredFrom: nullable(
    Type.String({
      maxLength: 32,
      description: 'from when on administrators need a second factor, ISO 8601; null: they need none',
    }),
  ),
});
export type SecondFactorPolicy = Static<typeof SecondFactorPolicy>;
export const SecondFactorPolicyRead = component('SecondFactorPolicyRead', {
  ...SecondFactorPolicy.properties,
  administratorsWithout: Type.Array(Type.String(), {
    description: 'administrators who are not disabled and have no second factor',
  }),
  etag: Etag,
});
