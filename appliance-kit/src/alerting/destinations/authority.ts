// Whose certificates are trusted for a destination: the authority that was given for it, instead of those that the
// operating system knows.
import { X509Certificate } from 'node:crypto';
import type { Authority } from './schema.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parsed(pem: string): X509Certificate[] {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0)
    throw new Error('holds no certificate: it is PEM, and begins with -----BEGIN CERTIFICATE-----');
  // A private key that was pasted along is none of our business, and must not be kept.
  if (/PRIVATE KEY/.test(pem)) throw new Error('holds a private key: only the certificate is wanted');
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`cannot be read: certificate ${at + 1} of ${blocks.length} is damaged`);
    }
  });
}

/** `O=Example, CN=Example CA`: what a certificate is about, on one line. */
const named = (subject: string) => subject.split('\n').join(', ');

/** Why a PEM text cannot be the authorities to believe, or null. */
export function authorityProblem(pem: string, now: number): string | null {
  try {
    for (const one of parsed(pem)) {
      // A self-signed certificate of a server may be trusted as it is.
      if (!one.ca && one.subject !== one.issuer)
        return `is no authority’s: ${named(one.subject)} was signed by ${named(one.issuer)}, whose certificate is wanted`;
      if (Date.parse(one.validTo) < now) return `is of no use any more: ${named(one.subject)} ended on ${one.validTo}`;
    }
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What is shown of it: the first to end. */
export function describeAuthority(pem: string | undefined): Authority | null {
  if (pem === undefined) return null;
  const all = parsed(pem).sort((a, b) => Date.parse(a.validTo) - Date.parse(b.validTo));
  const [first] = all as [X509Certificate];
  return {
    subject: all.map(({ subject }) => named(subject)).join('; '),
    expiresAt: new Date(first.validTo).toISOString(),
    fingerprint: first.fingerprint256,
  };
}
