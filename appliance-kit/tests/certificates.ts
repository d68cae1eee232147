// A certificate authority of a test's own, and a certificate that it has signed.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Signed {
  /** PEM */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** @param names as in subjectAltName: IP:127.0.0.1, DNS:mail.test */
export function signed(names: readonly string[], days = 30): Signed {
  const dir = mkdtempSync(join(tmpdir(), 'certificates-'));
  const at = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    openssl(
      'req',
      '-x509',
      ...key,
      '-days',
      String(days),
      '-subj',
      '/O=Example/CN=Example CA',
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
    );
    openssl('req', ...key, '-subj', '/O=Example/CN=receiver', '-keyout', 'key.pem', '-out', 'request.pem');
    writeFileSync(at('names'), `subjectAltName=${names.join(',')}\nbasicConstraints=CA:FALSE\n`);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days), '-extfile', 'names'];
    openssl('x509', '-req', '-in', 'request.pem', ...by, '-out', 'certificate.pem');
    const read = (name: string) => readFileSync(at(name), 'utf8');
    return { ca: read('ca.pem'), certificate: read('certificate.pem'), key: read('key.pem') };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export interface ClientCertificate {
  /** PEM */
  readonly certificate: string;
  readonly key: string;
}

export interface Issuer {
  /** PEM */
  readonly ca: string;
  /** @param use as in extendedKeyUsage; `days` below 0: it has ended. */
  issue(commonName: string, options?: { days?: number; use?: string; ca?: boolean }): ClientCertificate;
  close(): void;
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A CA that issues certificates for clients. */
export function issuer(name = 'Example CA'): Issuer {
  const dir = mkdtempSync(join(tmpdir(), 'issuer-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const read = (file: string) => readFileSync(join(dir, file), 'utf8');
  openssl(
    'req',
    '-x509',
    ...EC,
    '-days',
    '3650',
    '-subj',
    `/O=Example/CN=${name}`,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  return {
    ca: read('ca.pem'),
    issue: (commonName, { days = 3650, use = 'clientAuth', ca = false } = {}) => {
      openssl('req', ...EC, '-subj', `/O=Example/CN=${commonName}`, '-keyout', 'key.pem', '-out', 'request.pem');
      writeFileSync(join(dir, 'more'), `extendedKeyUsage=${use}\nbasicConstraints=CA:${ca ? 'TRUE' : 'FALSE'}\n`);
      const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days), '-extfile', 'more'];
      openssl('x509', '-req', '-in', 'request.pem', ...by, '-out', 'certificate.pem');
      return { certificate: read('certificate.pem'), key: read('key.pem') };
    },
    close: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** One that nobody else has signed. */
export function selfSigned(commonName: string, days = 3650): ClientCertificate {
  const dir = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    const files = ['-keyout', 'key.pem', '-out', 'certificate.pem'];
    execFileSync('openssl', ['req', '-x509', ...EC, '-days', String(days), '-subj', `/CN=${commonName}`, ...files], {
      cwd: dir,
      stdio: 'pipe',
    });
    const read = (file: string) => readFileSync(join(dir, file), 'utf8');
    return { certificate: read('certificate.pem'), key: read('key.pem') };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
