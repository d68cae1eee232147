import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { bench } from '../../../../tests/harness.ts';
import type { Message } from '../../alerts/message.ts';
import { testMessage } from '../handlers.ts';
import { bodyFor } from './body.ts';
import { sendWebhook } from './send.ts';

interface Seen {
  headers: http.IncomingHttpHeaders;
  body: string;
}

/** A receiver that answers as it is set. */
async function receiver(t: { after(work: () => void): void }, status = 204, answer = '') {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      seen.push({ headers: request.headers, body });
      response.writeHead(status, status === 302 ? { location: 'http://elsewhere.example/' } : {}).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in/s3cret` };
}

const message = (change: Partial<Message['alert']> = {}, event: Message['event'] = 'raise'): Message => {
  const made = testMessage('first', Date.UTC(2026, 0, 1));
  return { ...made, event, alert: { ...made.alert, severity: 'warning', ...change } };
};

test('JSON is posted with a signature that the receiver can check', async (t) => {
  const { seen, url } = await receiver(t);
  const lines: string[] = [];
  const webhook = { preset: 'json' as const, url, verifyCertificate: true, secret: 'a "secret"' };
  await sendWebhook(webhook, message(), (direction, text) => lines.push(`${direction} ${text}`));
  const [{ headers, body }] = seen as [Seen];
  const expected = createHmac('sha256', 'a "secret"').update(`${headers['x-cistern-timestamp']}.${body}`).digest('hex');
  assert.equal(headers['x-cistern-signature'], `sha256=${expected}`);
  assert.equal(headers['x-cistern-delivery'], JSON.parse(body).eventId);
  assert.equal(JSON.parse(body).alert.class, 'test.message');
  assert.match(JSON.parse(body).link, /^https:\/\/first\/alerts\//);
  // What is shown to people holds neither the secret nor the path, which often is one.
  assert.ok(!lines.join('\n').includes('s3cret') && !lines.join('\n').includes('a \\"secret'), lines.join('\n'));
  assert.ok(lines.includes('< 204 No Content'));
});

test('a refusal, a redirection and silence are reported in the other side’s words', async (t) => {
  const post = async (status: number, answer: string) => {
    const { url } = await receiver(t, status, answer);
    return sendWebhook({ preset: 'json', url, verifyCertificate: true }, message(), () => {}).then(
      () => '',
      (error: Error) => error.message,
    );
  };
  assert.match(await post(403, 'invalid_token'), /403 Forbidden, invalid_token/);
  assert.match(await post(302, ''), /302 Found/);
  const nobody = { preset: 'json' as const, url: 'http://127.0.0.1:1/x', verifyCertificate: true };
  await assert.rejects(
    sendWebhook(nobody, message(), () => {}),
    /127\.0\.0\.1:1 did not take the message: .*ECONNREFUSED/,
  );
});

test('Slack: nothing in an alert becomes markup or a mention', () => {
  const text = 'a <!channel> & <http://x|y>\nnew line';
  const made = JSON.stringify(
    bodyFor({ preset: 'slack', url: 'https://x', verifyCertificate: true }, message({ title: text, text })),
  );
  assert.ok(made.includes('&lt;!channel&gt; &amp; &lt;http://x|y&gt; new line'), made);
  assert.ok(!made.includes('<!channel>'));
});

test('PagerDuty: raise, repetition and end belong to one incident', () => {
  const webhook = { preset: 'pagerduty' as const, url: 'https://x', verifyCertificate: true, secret: 'key' };
  const of = (event: Message['event']) => bodyFor(webhook, message({ id: 'al-1' }, event)) as Record<string, unknown>;
  assert.deepEqual(
    (['raise', 'repost', 'clear'] as const).map((event) => [of(event).event_action, of(event).dedup_key]),
    [
      ['trigger', 'al-1'],
      ['trigger', 'al-1'],
      ['resolve', 'al-1'],
    ],
  );
  assert.equal(of('raise').routing_key, 'key');
});

test('an address is kept like a password, and a bad one is refused', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { url, seen } = await receiver(t);
  const input = (webhook: object) => ({ name: 'hook', kind: 'webhook', enabled: false, webhook });
  const fields = { preset: 'json', verifyCertificate: true };
  const made = await on.client.post('/api/destinations', input({ ...fields, url, secret: 'x' }));
  assert.equal(made.status, 201);
  assert.deepEqual([made.body.webhook.secretSet, made.body.webhook.host], [true, new URL(url).host]);
  assert.ok(!JSON.stringify((await on.client.get('/api/destinations')).body).includes('s3cret'));
  assert.ok(!JSON.stringify((await on.client.get('/api/audit-log')).body).includes('s3cret'));
  // Left out, it stays.
  const tried = await on.client.post('/api/destinations/test', { ...input(fields), id: made.body.id });
  assert.deepEqual([tried.body.ok, seen.length], [true, 1]);
  for (const [bad, path] of [
    [{}, '/webhook/url'],
    [{ url: 'ftp://x/' }, '/webhook/url'],
    [{ url: 'https://user:pass@x/' }, '/webhook/url'],
    [{ url: 'https://hooks.example/x', preset: 'pagerduty' }, '/webhook/secret'],
    [{ url: 'http://hooks.example/x', preset: 'pagerduty', secret: 'key' }, '/webhook/url'],
    [{ url: 'http://hooks.example/x', preset: 'slack' }, '/webhook/url'],
  ] as const) {
    const answer = await on.client.post('/api/destinations', input({ ...fields, ...bad }));
    assert.equal(answer.body.errors?.[0].path, path, JSON.stringify(bad));
  }
});
