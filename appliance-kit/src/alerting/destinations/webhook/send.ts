// Posts an alert as JSON. With a secret the receiver can verify that it comes from here and is no repetition of an old one:
// X-Cistern-Signature is "sha256=" and HMAC-SHA-256, in hexadecimal, of X-Cistern-Timestamp, a full stop and the body.
import { createHmac } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { fail } from '../../../base/problems/problem.ts';
import type { Message } from '../../alerts/index.ts';
import type { OnLine } from '../exchange.ts';
import { isAboutMessage, Refused } from '../refused.ts';
import type { WebhookInput } from '../schema.ts';
import { bodyFor } from './body.ts';

const TOTAL_MS = 20_000;
const MAX_SHOWN = 2_000;

export function signature(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

function post(
  url: URL,
  { verifyCertificate, ca }: Pick<WebhookInput, 'verifyCertificate' | 'ca'>,
  headers: Record<string, string>,
  body: string,
  lookup: LookupFunction | undefined,
): Promise<{ status: number; reason: string; text: string }> {
  return new Promise((resolve, reject) => {
    const answered = (response: http.IncomingMessage) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        // Whoever answers with more than a word has nothing to say that we would read.
        if (bytes <= 64 * 1024) chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          reason: response.statusMessage ?? '',
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    };
    const signal = AbortSignal.timeout(TOTAL_MS);
    const options = { method: 'POST', headers, agent: false as const, signal, ...(lookup && { lookup }) };
    const request =
      url.protocol === 'https:'
        ? https.request(
            url,
            { ...options, rejectUnauthorized: verifyCertificate, ...(ca !== undefined && { ca }) },
            answered,
          )
        : http.request(url, options, answered);
    request.on('error', reject);
    request.end(body);
  });
}

export async function sendWebhook(
  webhook: WebhookInput,
  message: Message,
  onLine: OnLine,
  lookup?: LookupFunction,
): Promise<void> {
  const url = new URL(webhook.url);
  const body = JSON.stringify(bodyFor(webhook, message));
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'Cistern',
    'x-cistern-event': message.event,
    // The same when it is tried again: the receiver can see that it has it already.
    'x-cistern-delivery': message.eventId,
    'x-cistern-timestamp': timestamp,
  };
  if (webhook.preset === 'json' && webhook.secret !== undefined) {
    headers['x-cistern-signature'] = signature(webhook.secret, timestamp, body);
  }
  // The path of a webhook is often a secret itself: it is not shown beyond the host.
  onLine('>', `POST ${url.origin}/…`);
  for (const [name, value] of Object.entries(headers)) onLine('>', `${name}: ${value}`);
  const shown = webhook.secret ? body.replaceAll(JSON.stringify(webhook.secret).slice(1, -1), '********') : body;
  onLine('>', shown.slice(0, MAX_SHOWN));
  let answer: Awaited<ReturnType<typeof post>>;
  try {
    answer = await post(url, webhook, headers, body, lookup);
  } catch (error) {
    const words =
      error instanceof Error && error.name === 'TimeoutError'
        ? `no answer within ${TOTAL_MS / 1000} s`
        : (error as Error).message;
    throw fail(
      'command_failed',
      `${url.host} did not take the message: ${words}`,
      /certificate|self.signed|altnames/i.test(words)
        ? 'Check that the server’s certificate is valid for its name.'
        : 'Check the address, and that it may be reached from here.',
    );
  }
  onLine('<', `${answer.status} ${answer.reason}`);
  if (answer.text !== '') onLine('<', answer.text.slice(0, MAX_SHOWN));
  if (answer.status >= 200 && answer.status < 300) return;
  const said = answer.text.trim().slice(0, 200);
  const words = `${url.host} did not take the message: ${answer.status} ${answer.reason}${said && `, ${said}`}`;
  if (isAboutMessage(answer.status)) throw new Refused(words, 'See what the receiver’s own log says of it.');
  throw fail(
    'command_failed',
    words,
    answer.status === 401 || answer.status === 403
      ? 'Check the address and the secret.'
      : answer.status >= 300 && answer.status < 400
        ? 'It sends one elsewhere: give the address it names.'
        : 'Check the address, and what the receiver’s own log says.',
  );
}
