// Four receivers with certificates that an authority of one's own has signed, and what becomes of each choice.
import assert from 'node:assert/strict';
import https from 'node:https';
import type net from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { signed } from '../../../tests/certificates.ts';
import { bench } from '../../../tests/harness.ts';
import { message } from '../../../tests/messages.ts';
import { smtp } from '../../../tests/smtp.ts';
import { authorityProblem, describeAuthority } from './authority.ts';
import { sendEmail } from './email/send.ts';
import { sendSyslog } from './syslog/send.ts';
import { sendWebhook } from './webhook/send.ts';

test('a server is believed when the authority that was given has signed it, and only then', async (t) => {
  const own = signed(['IP:127.0.0.1', 'DNS:localhost']);
  const other = signed(['IP:127.0.0.1']);
  const { certificate: cert, key } = own;
  const mail = await smtp(t, { secure: true, certificate: cert, key });
  const upgraded = await smtp(t, { certificate: cert, key });
  let posted = 0;
  const web = https.createServer({ cert, key }, (request, response) =>
    request.resume().on('end', () => {
      posted++;
      response.end();
    }),
  );
  let logged = '';
  const log = tls.createServer({ cert, key }, (socket) => socket.on('data', (chunk) => (logged += chunk)));
  for (const server of [web, log]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.on('tlsClientError', () => {});
    t.after(() => server.close());
  }
  const port = (server: net.Server) => (server.address() as AddressInfo).port;
  const host = '127.0.0.1';
  const ways = (change: { verifyCertificate: boolean; ca?: string }) => [
    () => {
      const to = { from: 'a@example.org', to: ['b@example.org'], security: 'tls' as const };
      return sendEmail({ host, port: mail.port, ...to, ...change }, message(), () => {});
    },
    () => {
      const to = { from: 'a@example.org', to: ['b@example.org'], security: 'starttls' as const };
      return sendEmail({ host, port: upgraded.port, ...to, ...change }, message(), () => {});
    },
    () => sendWebhook({ url: `https://${host}:${port(web)}/`, preset: 'json', ...change }, message(), () => {}),
    () => sendSyslog({ host, port: port(log), transport: 'tls', ...change }, message(), () => {}),
  ];
  for (const send of ways({ verifyCertificate: true, ca: own.ca })) await send();
  assert.deepEqual([mail.letters.length, upgraded.letters.length, posted, logged.length > 0], [1, 1, 1, true]);
  for (const change of [{ verifyCertificate: true }, { verifyCertificate: true, ca: other.ca }])
    for (const send of ways(change))
      await assert.rejects(send(), /did not take the message: .*(self.signed|verify|certificate)/);
  // Not switched off with it: the name has to be right as well.
  const elsewhere = signed(['DNS:elsewhere.example']);
  const stranger = await smtp(t, { secure: true, certificate: elsewhere.certificate, key: elsewhere.key });
  const to = { from: 'a@example.org', to: ['b@example.org'], security: 'tls' as const };
  await assert.rejects(
    sendEmail({ host, port: stranger.port, ...to, verifyCertificate: true, ca: elsewhere.ca }, message(), () => {}),
    /altnames|127\.0\.0\.1/,
  );
});

test('an authority is checked, shown by name and end, kept until it is emptied', async (t) => {
  const own = signed(['DNS:logs.example.org'], 30);
  const now = Date.now();
  assert.equal(authorityProblem(own.ca, now), null);
  assert.equal(authorityProblem(`${own.ca}\n${own.ca}`, now), null);
  assert.match(authorityProblem('hello', now) ?? '', /holds no certificate/);
  assert.match(
    authorityProblem(own.certificate, now) ?? '',
    /is no authority’s: O=Example, CN=receiver was signed by O=Example, CN=Example CA/,
  );
  assert.match(authorityProblem(own.key + own.ca, now) ?? '', /holds a private key/);
  assert.match(authorityProblem(own.ca.replace('MII', 'AAA'), now) ?? '', /cannot be read/);
  assert.match(authorityProblem(own.ca, now + 31 * 86_400_000) ?? '', /is of no use any more/);
  assert.equal(describeAuthority(undefined), null);

  const { client } = await bench(t).then(async (on) => {
    await on.client.setUp();
    return on;
  });
  const syslog = { host: 'logs.example.org', port: 6514, transport: 'tls', verifyCertificate: true };
  const input = { name: 'Logs', kind: 'syslog', enabled: false };
  const refused = await client.post('/api/destinations', { ...input, syslog: { ...syslog, ca: own.certificate } });
  assert.deepEqual([refused.status, refused.body.errors[0].path], [400, '/syslog/ca']);
  const { body: made } = await client.post('/api/destinations', { ...input, syslog: { ...syslog, ca: own.ca } });
  assert.ok(made.syslog, JSON.stringify(made));
  assert.equal(made.syslog.authority.subject, 'O=Example, CN=Example CA');
  assert.ok(Math.abs(Date.parse(made.syslog.authority.expiresAt) - (now + 30 * 86_400_000)) < 2 * 3600_000);
  assert.ok(!JSON.stringify(made).includes('BEGIN'));
  const change = (ca?: string) =>
    client.put(`/api/destinations/${made.id}`, { ...input, syslog: { ...syslog, ...(ca !== undefined && { ca }) } });
  assert.notEqual((await change()).body.syslog.authority, null);
  assert.equal((await change('')).body.syslog.authority, null);
});
