// Second factors: what is given besides the password.
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

export const Factor = component('Factor', {
  id: Type.String(),
  kind: Type.Enum(['app', 'passkey'], {
    description:
      'app: codes of six digits, by an authenticator app; passkey: a key in a device, which signs in by itself',
  }),
  name: Type.String(),
  host: nullable(Type.String({ description: 'of a passkey: the host name of the page under which it works' })),
  createdAt: Time,
  lastUsedAt: nullable(Time),
});
export type Factor = Static<typeof Factor>;

export const Factors = component('Factors', {
  items: Type.Array(Factor),
  recoveryCodesLeft: Count,
});

const Base64Url = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[A-Za-z0-9_-]*$', description: `${description}; base64url` });
const Id = Base64Url(1400, 'of the passkey, as the browser gives it');
const ClientData = Base64Url(8192, 'clientDataJSON');

export const PasskeyOptions = component('PasskeyOptions', {
  publicKey: Type.Record(Type.String(), Type.Unknown(), {
    description: 'for `navigator.credentials`, binary parts in base64url; WebAuthn level 3, 5.1.8 and 5.1.9',
  }),
});

export const MadePasskey = component('MadePasskey', {
  name: Line({ maxLength: 64, description: 'what one calls it oneself, as “laptop”' }),
  id: Id,
  clientDataJSON: ClientData,
  attestationObject: Base64Url(65_536, 'what the authenticator says of itself and of the key'),
  transports: Type.Array(Type.String({ maxLength: 32 }), { maxItems: 16, description: 'how it is reached, as “usb”' }),
});
export type MadePasskey = Static<typeof MadePasskey>;

export const UsedPasskey = component('UsedPasskey', {
  id: Id,
  clientDataJSON: ClientData,
  authenticatorData: Base64Url(8192, 'authenticatorData'),
  signature: Base64Url(8192, 'over both'),
  userHandle: Type.Optional(Base64Url(128, 'for whom it is, where the authenticator says it')),
});
export type UsedPasskey = Static<typeof UsedPasskey>;

export const PasskeyUseQuery = closed({
  for: Type.Enum(['sign-in', 'confirmation'], {
    description: 'to sign in as whoever it is for, or to confirm as who has signed in',
  }),
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
