// The certificate that browsers are shown, as they see it: by a connection to the web server of this machine. Its file
// is none of akd's business.
import { connect } from 'node:tls';

const DEADLINE_MS = 10_000;

/** Rejects when nothing answers at `port` of this machine, or without a certificate. */
export function servedCertificate(port: number): Promise<{ validTo: number; names: string }> {
  return new Promise((resolve, reject) => {
    // Whoever signed it: when it ends is asked, not whether to believe it.
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, servername: 'localhost' }, () => {
      const { valid_to, subjectaltname, subject } = socket.getPeerCertificate();
      socket.destroy();
      const validTo = Date.parse(valid_to);
      const names = subjectaltname?.replaceAll(/\b(DNS|IP Address):/g, '') ?? String(subject?.CN ?? '');
      if (Number.isNaN(validTo)) reject(new Error(`the web server shows no certificate with an end: ${valid_to}`));
      else resolve({ validTo, names });
    });
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error(`no answer within ${DEADLINE_MS / 1000} s`)));
    socket.on('error', reject);
  });
}
