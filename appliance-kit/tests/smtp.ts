// A real SMTP server on the loopback address, that keeps what it is given.
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { SMTPServer } from 'smtp-server';

export interface Letter {
  readonly from: string;
  readonly to: string[];
  readonly secure: boolean;
  readonly user: string | null;
  readonly content: string;
}

export interface SmtpOptions {
  readonly secure?: boolean;
  readonly withoutSTARTTLS?: boolean;
  readonly user?: string;
  readonly password?: string;
  readonly accessToken?: string;
  /** Refuses a message while it says so; for good when its words begin with 5, as RFC 5321 has it. */
  readonly refuse?: (content: string) => string | null;
  readonly port?: number;
  readonly authMethods?: string[];
  /** PEM; without them it has smtp-server's own, which nobody has signed. */
  readonly certificate?: string;
  readonly key?: string;
}

export interface Mailbox {
  readonly port: number;
  readonly letters: Letter[];
  close(): Promise<void>;
}

export async function smtp(t: TestContext, options: SmtpOptions = {}): Promise<Mailbox> {
  const letters: Letter[] = [];
  const server = new SMTPServer({
    name: 'mail.test',
    secure: options.secure ?? false,
    authOptional: options.user === undefined,
    ...(options.authMethods && { authMethods: options.authMethods }),
    disabledCommands: [
      ...(options.user === undefined ? ['AUTH'] : []),
      ...(options.withoutSTARTTLS ? ['STARTTLS'] : []),
    ],
    logger: false,
    ...(options.certificate !== undefined && { cert: options.certificate, key: options.key }),
    onAuth: (auth, _session, callback) => {
      if (auth.method === 'XOAUTH2') {
        if (auth.username === options.user && auth.accessToken === options.accessToken)
          return callback(null, { user: auth.username });
        return callback(new Error('535 5.7.8 That token is not known here'));
      }
      const digested = auth.method === 'CRAM-MD5' && auth.validatePassword(options.password ?? '');
      if (auth.username === options.user && (digested || auth.password === options.password))
        return callback(null, { user: auth.username });
      callback(new Error('535 5.7.8 Those credentials are not known here'));
    },
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const content = Buffer.concat(chunks).toString('utf8');
        const refusal = options.refuse?.(content) ?? null;
        const responseCode = Number(/^5\d\d/.exec(refusal ?? '')?.[0] ?? 451);
        if (refusal !== null) return callback(Object.assign(new Error(refusal), { responseCode }));
        letters.push({
          from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
          to: session.envelope.rcptTo.map((recipient) => recipient.address),
          secure: session.secure,
          user: session.user === undefined ? null : String(session.user),
          content,
        });
        callback();
      });
    },
  });
  // A client that hangs up in the middle is the client's business.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  t.after(close);
  return { port: (server.server.address() as AddressInfo).port, letters, close };
}
