import { closed, component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Authority = closed({ subject: Type.String(), validTo: Time });

export const PageCertificate = component('PageCertificate', {
  subject: Type.String(),
  names: Type.Array(Type.String()),
  addresses: Type.Array(Type.String()),
  issuer: Type.String(),
  validFrom: Time,
  validTo: Time,
  fingerprint: Type.String({ description: 'SHA-256, as the console shows it' }),
  key: Type.String({ description: 'as ECDSA P-256' }),
  selfSigned: Type.Boolean(),
  complete: Type.Boolean({
    description: 'the chain ends with an authority that signed itself, or with one that this system knows',
  }),
  trusted: Type.Boolean({ description: 'by an authority that this system knows, and so by browsers' }),
  chain: Type.Array(Authority, { description: 'authorities that are sent with it, nearest first' }),
});
export type PageCertificate = Static<typeof PageCertificate>;

const names = {
  names: Type.Array(Line({ maxLength: 253 }), { maxItems: 50, description: 'host names' }),
  addresses: Type.Array(Line({ maxLength: 45 }), { maxItems: 50, description: 'IP addresses' }),
};
export const CertificateNames = closed(names);

export const CertificateState = component('CertificateState', {
  current: nullable(PageCertificate),
  problem: nullable(Type.String({ description: 'why nothing is known of the current one' })),
  previous: nullable(PageCertificate),
  request: nullable(
    closed({
      subject: Type.String(),
      names: Type.Array(Type.String()),
      addresses: Type.Array(Type.String()),
      key: Type.String({ description: 'as ECDSA P-256' }),
      pem: Type.String({ description: 'what an authority is given' }),
    }),
  ),
});
export type CertificateState = Static<typeof CertificateState>;

export const SigningRequest = closed({
  ...names,
  organization: Type.Optional(Type.String({ maxLength: 64 })),
  country: Type.Optional(Type.String({ maxLength: 2, description: 'two capital letters' })),
  key: Type.Optional(
    Type.Enum(['ecdsa-p256', 'ecdsa-p384', 'rsa-2048', 'rsa-4096'], { description: 'ecdsa-p256 when left out' }),
  ),
});

const given = {
  certificate: Type.Optional(
    Type.String({ maxLength: 120_000, description: 'PEM: the certificate and its chain, in any order' }),
  ),
  key: Type.Optional(
    Type.String({
      maxLength: 20_000,
      description: 'PEM; left out: that of the signing request, or the one in use. It is never answered.',
    }),
  ),
  pkcs12: Type.Optional(Type.String({ maxLength: 120_000, description: 'in place of PEM: a file in base64' })),
  password: Type.Optional(Type.String({ maxLength: 1_000, description: 'of the PKCS #12 file' })),
};
export const GivenCertificate = closed(given);
export const InstalledCertificate = closed({
  ...given,
  accept: Type.Optional(
    Type.Array(Type.Enum(['name', 'chain']), { maxItems: 2, description: 'warnings of the preview that may be so' }),
  ),
});

export const CertificatePreview = component('CertificatePreview', {
  certificate: PageCertificate,
  warnings: Type.Array(
    closed({
      kind: Type.String({
        description: 'name: the page is open under another; chain: nothing is known of its authority',
      }),
      message: Type.String(),
    }),
    { description: 'each has to be accepted' },
  ),
  notes: Type.Array(Type.String(), { description: 'what was made of what was given' }),
});
