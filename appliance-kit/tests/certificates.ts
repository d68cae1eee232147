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
