// Sends an alert by SMTP, and can show the whole exchange with the server as it happens.
import { isIP } from 'node:net';
import { createTransport } from 'nodemailer';
import { fail } from '../../../base/problems/problem.ts';
import type { Message } from '../../alerts/index.ts';
import type { OnLine } from '../exchange.ts';
import { Refused } from '../refused.ts';
import type { EmailInput } from '../schema.ts';
import type { Chart } from './chart.ts';
import { CHART_ID, compose } from './message.ts';
import { accessToken, forgetTokens } from './oauth.ts';

const CONNECT_MS = 10_000;
/** RFC 5321 lets a server think for minutes; an alert cannot wait that long, and is tried again. */
const SILENCE_MS = 30_000;
const TOTAL_MS = 60_000;

/** What nodemailer throws. */
interface SmtpError {
  readonly message: string;
  readonly code?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

/**
 * Turns nodemailer's log entries into lines of the exchange. Whatever follows an AUTH command is masked up to the
 * server's verdict, and the mail's own text is left out.
 */
export function exchangeLogger(onLine: OnLine): Record<string, unknown> {
  let secret = false;
  const entry = (fields: unknown, text: unknown) => {
    const { tnx } = (fields ?? {}) as { tnx?: string };
    for (const line of String(text ?? '').split(/\r?\n/)) {
      if (line === '') continue;
      if (tnx === 'client') {
        if (/^AUTH\b/i.test(line)) {
          secret = true;
          onLine('>', `${line.split(' ').slice(0, 2).join(' ')} ********`);
        } else {
          onLine('>', secret ? '********' : line);
        }
      } else if (tnx === 'server') {
        // 334 asks for the next part of the secret; it may hold a challenge, which is none of the reader's business.
        if (secret && !line.startsWith('334')) secret = false;
        onLine('<', secret ? '334 ********' : line);
      }
    }
  };
  return Object.fromEntries(['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, entry]));
}

export async function sendEmail(
  email: EmailInput,
  message: Message,
  onLine: OnLine,
  chart: Chart | null = null,
  /** Of the host, when it was looked up already. */
  address = email.host,
): Promise<void> {
  const mail = compose(message, chart);
  const token = email.login === 'xoauth2' ? await accessToken(email, onLine) : null;
  const transport = createTransport({
    host: address,
    port: email.port,
    secure: email.security === 'tls',
    requireTLS: email.security === 'starttls',
    ignoreTLS: email.security === 'none',
    ...(email.user !== undefined && {
      auth:
        token === null
          ? { user: email.user, pass: email.password ?? '' }
          : { type: 'OAuth2' as const, user: email.user, accessToken: token },
    }),
    ...(email.login === 'cram-md5' && { authMethod: 'CRAM-MD5' }),
    tls: {
      rejectUnauthorized: email.verifyCertificate,
      ...(email.ca !== undefined && { ca: email.ca }),
      ...(isIP(email.host) === 0 && { servername: email.host }),
    },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    dnsTimeout: CONNECT_MS,
    debug: true,
    logger: exchangeLogger(onLine) as never,
    // A mail is made of what we compose: nothing in it may name a file or an address to be fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const where = `${email.host}:${email.port}`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not finish within ${TOTAL_MS / 1000} s`)), TOTAL_MS);
  });
  try {
    onLine(
      '!',
      `Connecting to ${where} (${email.security === 'none' ? 'without encryption' : email.security.toUpperCase()})`,
    );
    const info = await Promise.race([
      transport.sendMail({
        from: email.from,
        to: [...email.to],
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
        messageId: mail.messageId,
        references: mail.references,
        inReplyTo: mail.references[0],
        date: new Date(message.at),
        headers: mail.headers,
        list: { id: { comment: 'Cistern alerts', url: mail.listId } },
        ...(chart && {
          attachments: [
            { filename: 'last-hour.png', content: chart.png, cid: CHART_ID, contentDisposition: 'inline' as const },
          ],
        }),
      }),
      late,
    ]);
    const refused = info.rejected.map(String);
    // Sending again would reach those twice who have it already; that some did not get it is said, not repeated.
    if (refused.length > 0) onLine('!', `The server refused these recipients: ${refused.join(', ')}`);
  } catch (error) {
    // A token may have been withdrawn before its time: the next try asks for another.
    if (token !== null) forgetTokens();
    const { response, message, code, responseCode } = error as SmtpError;
    const words = `The mail server ${where} did not take the message: ${response ?? message}`;
    // RFC 5321, 4.2.1: 5yz will not change by trying again. What was said before the text is about servers and addresses.
    if (code === 'EMESSAGE' && (responseCode ?? 500) >= 500) {
      throw new Refused(words, 'See what the mail server’s own log says of it.');
    }
    throw fail(
      'command_failed',
      words,
      code === 'EAUTH'
        ? 'Check the user name and the password.'
        : code === 'ETLS' || /certificate/i.test(message)
          ? 'Check the encryption chosen, and that the server’s certificate is valid for its name.'
          : 'Check the host, the port and the encryption chosen, and that the server may be reached from here.',
    );
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}
