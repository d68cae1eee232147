// Certificates in place of a secret: what may be set, and whether one that a client has shown is that which was set. nginx has
// made sure that the client has its key, and of nothing else.
import { createHash, X509Certificate } from 'node:crypto';
import { fail } from '../../base/problems/problem.ts';

/** What a record of the kind certificate holds. */
export interface SetCertificate {
  /** PEM: the client's certificate itself, or with a common name that of the CA which issues it. */
  readonly pem: string;
  readonly commonName: string | null;
}

/** Of the text that nginx hands over: larger ones are no certificates of clients. */
const MAX_PEM = 16_384;
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
/** id-kp-clientAuth, RFC 5280, 4.2.1.12. */
const CLIENT = '1.3.6.1.5.5.7.3.2';

/** `O=Example, CN=agent`, on one line. */
export const named = (subject: string): string => subject.split('\n').join(', ');
export const fingerprintOf = (certificate: X509Certificate): string =>
  createHash('sha256').update(certificate.raw).digest('hex');

/** By what a record is found, in the column of the hashes of secrets: no hash has a colon. */
export const keyOf = ({ pem, commonName }: SetCertificate): string => {
  const sha256 = fingerprintOf(new X509Certificate(pem));
  return commonName === null ? `certificate:${sha256}` : `issuer:${sha256}:${commonName}`;
};

export function holdsAt(certificate: X509Certificate, now: number): boolean {
  return Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo);
}

/** The one name that a certificate is of; undefined when it has none, or several. */
function commonNameOf(certificate: X509Certificate): string | undefined {
  const { CN } = certificate.toLegacyObject().subject as { CN?: unknown };
  return typeof CN === 'string' ? CN : undefined;
}

/** A certificate as nginx hands it over; undefined for what is none. */
export function shownBy(pem: string): X509Certificate | undefined {
  if (pem.length > MAX_PEM || pem.match(BLOCK)?.length !== 1) return undefined;
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Whether a CA has issued a certificate, for a client of that name, at a time at which both hold. */
export function isIssued(shown: X509Certificate, { pem, commonName }: SetCertificate, now: number): boolean {
  if (commonName === null || commonNameOf(shown) !== commonName) return false;
  try {
    const issuer = new X509Certificate(pem);
    // One that is for servers proves nothing about a client of their name.
    const uses: readonly string[] | undefined = shown.keyUsage;
    const forClients = uses === undefined || uses.length === 0 || uses.includes(CLIENT);
    return (
      issuer.ca &&
      !shown.ca &&
      forClients &&
      holdsAt(issuer, now) &&
      holdsAt(shown, now) &&
      shown.checkIssued(issuer) &&
      shown.verify(issuer.publicKey)
    );
  } catch {
    return false;
  }
}

/** Throws what is wrong with what is to be set; returns it in one form. */
export function checkCertificate(text: string, commonName: string | null, now: number): SetCertificate {
  const refuse = (message: string, path = '/certificate') =>
    fail('invalid_request', `The certificate was refused: ${message}.`, undefined, [{ path, message }]);
  if (/PRIVATE KEY/.test(text)) throw refuse('there is a private key with it, which stays with the client alone');
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0) throw refuse('there is none in it: it is PEM, and begins with -----BEGIN CERTIFICATE-----');
  if (blocks.length > 1)
    throw refuse(
      `these are ${blocks.length}: paste ${commonName === null ? 'the client’s' : 'the issuing CA’s'} alone`,
    );
  const certificate = shownBy(blocks[0] as string);
  if (certificate === undefined) throw refuse('it cannot be read');
  const subject = named(certificate.subject);
  if (Date.parse(certificate.validTo) < now) throw refuse(`that of ${subject} ended on ${certificate.validTo}`);
  if (commonName !== null && !certificate.ca)
    throw refuse(`${subject} is no CA: leave the name empty when it is the client’s own`);
  return { pem: certificate.toString(), commonName };
}
