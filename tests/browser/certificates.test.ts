// Programs that have a certificate in place of a token: what nginx lets through to whom, on the port that is for them and beside it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { type ClientCertificate, type Issuer, issuer, selfSigned } from '../../appliance-kit/tests/certificates.ts';
import { freePorts } from '../ports.ts';
import { type Person as Api, setUp } from '../stack/api.ts';
import { type Asked, ask, until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let api: Api;
let ca: Issuer;
let someone: Person;
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  ca = issuer();
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  ca?.close();
  await stack?.stop();
});

const make = (body: object) =>
  api.get<{ id: string; token?: string }>('POST', '/api/tokens', { name: 'agent', role: 'writer', ...body });
/** On the port for certificates. */
const say = (path: string, certificate?: ClientCertificate, more: Asked = {}) =>
  ask(new URL(path, stack.certificateUrl), { ...(certificate && { certificate }), ...more });
const sample = (name: string) => ({ body: { samples: [{ name, value: 7 }] } });
const send = async (certificate?: ClientCertificate, more: Asked = {}) =>
  (await say('/api/v1/import', certificate, { ...sample('by.certificate'), ...more })).status;
/** For ten seconds nginx goes by the answer that it has. */
const refused = (what: string, certificate: ClientCertificate) =>
  until(`${what} is refused`, async () => (await send(certificate)) === 401 || undefined, 20);

test('with the certificate that was set samples come in; with another one, or none, they are refused', async () => {
  const own = selfSigned('agent');
  await make({ certificate: own.certificate, labels: { site: 'berlin' } });
  for (let n = 0; n < 2; n++) assert.equal(await send(own), 200, n === 0 ? 'asked' : 'remembered');
  const lies = { 'X-Cistern-Certificate': encodeURIComponent(own.certificate), 'X-Cistern-Labels': 'site=rome' };
  for (const [what, other] of [
    ['none', undefined],
    ['of the same name', selfSigned('agent')],
    ['of a CA', ca.issue('agent')],
  ] as const) {
    const reply = await say('/api/v1/import', other, sample('refused'));
    assert.equal(reply.status, 401, what);
    assert.match(reply.text, /shows no certificate that is known here/, what);
    assert.equal(await send(other, { headers: lies }), 401, `${what}, with a header`);
  }
  await until('it is found, with its label', async () => {
    const query = encodeURIComponent('{"by.certificate",site="berlin"}');
    const found = await api.get<{ data: { result: unknown[] } }>('GET', `/api/v1/query?query=${query}`);
    return found.data.result.length === 1 || undefined;
  });
  assert.equal((await say('/api/v1/query?query=up', own)).status, 403, 'a writer reads nothing');
});

test('one certificate is not answered by what was said of another, on whatever connection', async () => {
  const yes = selfSigned('yes');
  const no = selfSigned('no');
  await make({ name: 'yes', certificate: yes.certificate });
  for (let n = 0; n < 3; n++) {
    assert.equal(await send(yes), 200);
    assert.equal(await send(no), 401);
    assert.equal(await send(), 401);
  }
  // What belongs to the one session is not resumed by another.
  const { hostname, port } = new URL(stack.certificateUrl);
  const open = async (options: object): Promise<TLSSocket> => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
    await once(socket, 'secureConnect');
    return socket;
  };
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await open({ cert: yes.certificate, key: yes.key, maxVersion });
    let session = first.getSession();
    first.on('session', (newer) => {
      session = newer;
    });
    first.write(`GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    first.resume();
    await once(first, 'close');
    const again = await open({ session, maxVersion });
    assert.equal(again.isSessionReused(), false, maxVersion);
    again.write(`GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [answer] = (await once(again, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 401 /, maxVersion);
    again.destroy();
  }
  // Several requests by one connection are those of its certificate.
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, cert: yes.certificate, key: yes.key });
  for (let n = 0; n < 3; n++) assert.equal(await send(undefined, { agent }), 200);
  agent.destroy();
});

test('on the port of the pages a header that says it is a certificate is nothing', async () => {
  const own = selfSigned('forged');
  await make({ name: 'forged', role: 'administrator', certificate: own.certificate });
  assert.equal((await say('/api/v1/labels', own)).status, 200);
  const said = encodeURIComponent(own.certificate);
  for (const headers of [
    { 'X-Cistern-Certificate': said },
    { X_Cistern_Certificate: said },
    { 'X-SSL-Client-Cert': said, 'X-Client-Cert': said },
  ] as Record<string, string>[]) {
    for (const path of [
      '/api/v1/labels',
      '/api/tokens',
      '/api/v1/rules',
      '/federate?match[]=up',
      '/admin/retention',
      '/api/v1/live?query=up',
    ]) {
      for (const more of [{}, { certificate: own }])
        assert.equal((await ask(new URL(path, stack.url), { headers, ...more })).status, 401, path);
    }
    const { status } = await ask(new URL('/write?db=x', stack.url), { method: 'POST', headers, body: 'x y=1' });
    assert.equal(status, 401);
  }
  // What akd said of it on its own port is not kept for there.
  assert.equal((await say('/api/v1/labels', own)).status, 200);
  assert.equal((await ask(new URL('/api/v1/labels', stack.url), { certificate: own })).status, 401);
});

test('the port for certificates has the store’s routes alone, and knows no tokens and no sessions', async () => {
  const own = selfSigned('reader');
  await make({ name: 'reader', role: 'administrator', certificate: own.certificate });
  const { token } = await make({ name: 'secret', role: 'administrator' });
  for (const path of [
    '/',
    '/index.html',
    '/api/status',
    '/api/tokens',
    '/api/events',
    '/api/v1/rules',
    '/api/v1/alerts',
    '/admin/retention',
    '/support/',
    '/internal/authorize',
    '/sign-in',
  ]) {
    const reply = await say(path, own);
    assert.equal(reply.status, 404, path);
    assert.equal(reply.headers['set-cookie'], undefined, path);
    assert.doesNotMatch(reply.text, /<script/, path);
  }
  for (const path of ['/api/v1/query?query=up', '/api/v1/labels', '/federate?match[]=up', '/-/healthy'])
    assert.equal((await say(path, own)).status, 200, path);
  assert.equal((await say('/ping', own)).status, 204);
  const authorization = `Bearer ${token}`;
  assert.equal((await ask(new URL('/api/v1/labels', stack.url), { headers: { authorization } })).status, 200);
  assert.equal((await say('/api/v1/labels', undefined, { headers: { authorization } })).status, 401);
  const cookies = await api.get<unknown>('GET', '/api/session');
  assert.ok(cookies, 'the session is there');
});

test('what was withdrawn, has expired, ended, or comes from elsewhere is refused', async () => {
  const [withdrawn, expired, foreign] = [selfSigned('withdrawn'), selfSigned('expired'), selfSigned('foreign')];
  const first = await make({ name: 'withdrawn', certificate: withdrawn.certificate });
  const second = await make({ name: 'expired', certificate: expired.certificate });
  await make({ name: 'foreign', certificate: foreign.certificate, networks: ['192.0.2.0/24'] });
  assert.equal(await send(foreign), 401);
  // Only the last address of this header is one that nginx has seen, and it sets it itself.
  assert.equal(await send(foreign, { headers: { 'X-Forwarded-For': '192.0.2.7' } }), 401);
  for (const one of [withdrawn, expired]) assert.equal(await send(one), 200);
  await api.get('DELETE', `/api/tokens/${first.id}`);
  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec('PRAGMA busy_timeout = 5000');
  db.prepare('UPDATE tokens SET expires_at = 1 WHERE id = ?').run(second.id);
  db.close();
  await refused('what was withdrawn', withdrawn);
  await refused('what has expired', expired);

  await make({ name: 'issued', certificate: ca.ca, commonName: 'issued' });
  assert.equal(await send(ca.issue('issued')), 200);
  const other = issuer();
  for (const [what, one] of [
    ['ended', ca.issue('issued', { days: -1 })],
    ['another name', ca.issue('other')],
    ['another CA', other.issue('issued')],
    ['a server’s', ca.issue('issued', { use: 'serverAuth' })],
  ] as const)
    assert.equal(await send(one), 401, what);
  other.close();
});

test('while akd is away what it said last of a certificate holds, and nothing else', async () => {
  const own = selfSigned('steady');
  await make({ name: 'steady', certificate: own.certificate });
  assert.equal(await send(own), 200);
  await stack.stopPart('akd');
  try {
    assert.equal(await send(own), 200);
    assert.equal((await say('/api/v1/import', selfSigned('steady'), sample('x'))).status, 502);
  } finally {
    await stack.startPart('akd');
  }
});

test('somebody adds a certificate at the page, and the program that has it sends', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Ftokens');
  await signInBy(page);
  await page.getByRole('button', { name: 'New API token' }).click();
  await page.getByLabel('Name of the token').fill('by the page');
  await page.getByLabel('It proves itself by').selectOption('own');
  const own = selfSigned('page', 900);
  await page.getByLabel('Certificate of the program').fill(own.certificate + own.key);
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Create the token' }).click();
  await page.getByText('there is a private key with it').first().waitFor();
  await page.getByLabel('Certificate of the program').fill(own.certificate);
  await lookAt(page, 'settings-token-certificate');
  await page.getByRole('button', { name: 'Create the token' }).click();
  await page.getByText('cert_file: /etc/prometheus/client.pem').waitFor();
  await lookAt(page, 'settings-token-certificate-made');
  await page.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('grid', { name: 'API tokens' }).getByRole('row').filter({ hasText: 'by the page' });
  await row.getByText('of CN=page').waitFor();
  assert.equal(await send(own), 200);
  await page.getByRole('button', { name: 'New API token' }).click();
  await page.getByLabel('Name of the token').fill('by a CA');
  await page.getByLabel('It proves itself by').selectOption('ca');
  await page.getByLabel('Certificate of the CA').fill(ca.ca);
  await page.getByLabel('Name in the certificates').fill('by-the-ca');
  await page.getByRole('button', { name: 'Create the token' }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  assert.equal(await send(ca.issue('by-the-ca')), 200);
  await lookAt(page, 'settings-tokens-certificates');
});

test('an input is given a port for TLS at the page; OpenSSL sends by the lines that it shows, and trusts its certificate', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Finputs');
  await signInBy(page);
  const [plain, tls] = (await freePorts(2)) as [number, number];
  const form = page.getByRole('form', { name: 'Save' });
  const row = page.getByRole('grid', { name: 'Inputs' }).getByRole('row').filter({ hasText: 'Graphite' });
  await page.getByRole('button', { name: 'Change Graphite' }).click();
  await form.getByLabel('Take samples').check();
  await form.getByLabel('Only from these addresses').fill('own');
  await form.getByLabel('Port', { exact: true }).fill(String(plain));
  await form.getByLabel('Port for pickle').fill('0');
  await form.getByLabel('Port for TLS').fill('9443');
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('belongs to programs with a certificate').first().waitFor();
  await form.getByLabel('Port for TLS').fill(String(tls));
  await lookAt(page, 'settings-input-tls');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText(`port ${plain}; TLS ${tls}`).waitFor();

  // The link for senders has the certificate; the line for a shell is run as it is.
  await page.getByText('Fingerprint (SHA-256)').waitFor();
  const folder = mkdtempSync(path.join(tmpdir(), 'sender-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download it for senders' }).click(),
  ]);
  await download.saveAs(path.join(folder, 'cistern.pem'));
  await page.getByLabel('Client', { exact: true }).selectOption('Graphite by TLS, from a shell');
  const lines = page.getByRole('region', { name: 'Lines for Graphite by TLS, from a shell' });
  const line = ((await lines.textContent()) ?? '').trim();
  assert.match(line, new RegExp(`-CAfile cistern.pem -connect localhost:${tls}$`));
  await lookAt(page, 'settings-inputs-tls');
  await promisify(execFile)('bash', ['-c', line], { cwd: folder, timeout: 20_000 });
  const known = async (name: string) => {
    const query = encodeURIComponent(`count({"${name}"})`);
    const found = await api.get<{ data: { result: unknown[] } }>('GET', `/api/v1/query?query=${query}`);
    return found.data.result.length === 1 || undefined;
  };
  await until('what OpenSSL sent', () => known('room.temperature'));

  // Plain text that comes there is refused, and whose it was is shown.
  const socket = connectPlain(tls, '127.0.0.1');
  socket.on('error', () => {});
  socket.end('plain.text 7 1\n');
  await page
    .getByRole('grid', { name: 'Senders' })
    .getByRole('row')
    .filter({ hasText: '127.0.0.1' })
    .getByText('not by TLS, or distrustful')
    .waitFor();

  // Another one is made; who trusts the one before does not connect.
  await page.getByRole('button', { name: 'Make another one' }).click();
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByText('because somebody asked for another one').waitFor();
  await assert.rejects(promisify(execFile)('bash', ['-o', 'pipefail', '-c', line], { cwd: folder, timeout: 20_000 }));
});
