// A token a program signs in with. It is shown once, when it is made.

import { closed, component, Etag, Labels, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { TokenRole } from '../../http/gate/roles.ts';

const Networks = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: 50,
  description: 'where it may be used: addresses, or networks as 192.0.2.0/24; none means everywhere',
});

const ForcedLabels = Type.Record(Type.String(), Line({ maxLength: 2048, minLength: 0 }), {
  description: 'of a writer: labels that all it sends gets, in place of labels of these names; ten at most',
});
const Selector = nullable(
  Line({
    maxLength: 1000,
    description: 'of a viewer: the series that it may read, as {site="berlin"}, with ten matchers at most; null: all',
  }),
);

export const Token = component('Token', {
  id: Type.String(),
  name: Type.String(),
  role: TokenRole,
  owner: nullable(
    Type.String({
      description: 'whose role it never exceeds, and with whom it is deleted; null: the appliance itself',
    }),
  ),
  networks: Networks,
  labels: Labels,
  selector: nullable(Type.String()),
  certificate: nullable(
    Type.Object(
      {
        sha256: Type.String({ description: 'its fingerprint, in hexadecimal digits' }),
        subject: Type.String(),
        validTo: Time,
        commonName: nullable(
          Type.String({
            description:
              'the certificate is that of a CA, which issues those of this name; null: it is the client’s own',
          }),
        ),
      },
      { description: 'what a client shows on port 9443 in place of a secret; null: it has a secret' },
    ),
  ),
  createdAt: Time,
  expiresAt: nullable(Time),
  lastUsedAt: nullable(Time),
  lastUsedFrom: nullable(Type.String()),
  state: Type.Enum(['valid', 'expired', 'owner-disabled'], { description: 'only a valid one is taken' }),
  token: Type.Optional(Type.String({ description: 'only in the answer to POST' })),
  etag: Etag,
});
export type Token = Static<typeof Token>;

export const NewToken = component('NewToken', {
  name: Line({ maxLength: 100 }),
  role: TokenRole,
  expiresInDays: Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: 3_650, description: 'null: never. 365 when left out' })),
  ),
  networks: Type.Optional(Networks),
  labels: Type.Optional(ForcedLabels),
  selector: Type.Optional(Selector),
  certificate: Type.Optional(
    nullable(
      Type.String({
        maxLength: 16_384,
        description:
          'PEM, in place of a secret: the client’s certificate, or with commonName that of the CA which issues it; null or left out: a secret is made',
      }),
    ),
  ),
  commonName: Type.Optional(
    nullable(Line({ maxLength: 64, description: 'with certificate: the one common name that is accepted of that CA' })),
  ),
});
export type NewToken = Static<typeof NewToken>;

export const TokenChange = component('TokenChange', {
  name: Line({ maxLength: 100 }),
  owner: nullable(Type.String({ maxLength: 256 })),
  networks: Networks,
  expiresAt: nullable(Time),
  /** Left out as it is: who does not know of it must not take a limit away. */
  labels: Type.Optional(ForcedLabels),
  selector: Type.Optional(Selector),
});
export type TokenChange = Static<typeof TokenChange>;

/** As a settings document has it. */
export const KeptToken = closed({
  name: Line({ maxLength: 100 }),
  role: TokenRole,
  owner: nullable(Type.String({ maxLength: 256 })),
  networks: Networks,
  labels: ForcedLabels,
  selector: Selector,
  expiresAt: nullable(Time),
  certificate: nullable(Type.String({ maxLength: 16_384 })),
  commonName: nullable(Line({ maxLength: 64 })),
  hash: Type.Optional(
    Type.String({ maxLength: 64, writeOnly: true, description: 'SHA-256 of the token; none of a certificate' }),
  ),
});
export type KeptToken = Static<typeof KeptToken>;
