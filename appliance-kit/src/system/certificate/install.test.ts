import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { issuer, signed } from '../../../tests/certificates.ts';
import { bench } from '../../../tests/harness.ts';
import { reachedAs } from './handlers.ts';

/** What an authority answers to a request, with its own certificate before it. */
function signRequest(request: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'authority-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  try {
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'ca.key'];
    openssl('req', '-x509', ...ec, '-days', '365', '-subj', '/CN=Test CA', '-out', 'ca.pem');
    writeFileSync(join(dir, 'request.pem'), request);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy'];
    openssl('x509', '-req', '-in', 'request.pem', ...by, '-days', '90', '-out', 'signed.pem');
    return ['ca.pem', 'signed.pem'].map((name) => readFileSync(join(dir, name), 'utf8')).join('');
  } finally {
    rmSync(dir, { recursive: true });
  }
}

async function setUp(t: TestContext) {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}

test('a request is made, signed and installed; the one before comes back', async (t) => {
  const { client } = await setUp(t);
  const first = (await client.get('/api/certificate')).body;
  assert.deepEqual(
    [first.current.selfSigned, first.current.names, first.problem, first.previous, first.request],
    [true, ['cistern', 'cistern.local', 'localhost'], null, null, null],
  );
  const names = { names: ['cistern.test'], addresses: ['192.0.2.10'] };
  const asked = await client.post('/api/certificate/create-request', {
    ...names,
    organization: 'Example',
    country: 'DE',
  });
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
  const { request } = asked.body;
  assert.deepEqual([request.subject, request.key], ['CN=cistern.test,O=Example,C=DE', 'ECDSA P-256']);
  const certificate = signRequest(request.pem);

  const preview = await client.post('/api/certificate/preview', { certificate });
  assert.deepEqual(
    [preview.body.warnings, preview.body.notes.length, preview.body.certificate.issuer],
    [[], 2, 'Test CA'],
    JSON.stringify(preview.body),
  );
  assert.equal((await client.get('/api/certificate')).body.current.fingerprint, first.current.fingerprint);
  const installed = await client.post('/api/certificate/install', { certificate });
  assert.equal(installed.status, 200, JSON.stringify(installed.body));
  const { current, previous } = installed.body;
  assert.equal(current.fingerprint, preview.body.certificate.fingerprint);
  assert.deepEqual(
    [current.selfSigned, current.complete, current.trusted, previous.fingerprint, installed.body.request],
    [false, true, false, first.current.fingerprint, null],
  );
  const back = (await client.post('/api/certificate/restore', {})).body;
  assert.deepEqual(
    [back.current.fingerprint, back.previous.fingerprint],
    [first.current.fingerprint, current.fingerprint],
  );
  const own = (await client.post('/api/certificate/self-sign', { names: ['a.test'], addresses: [] })).body;
  assert.deepEqual([own.current.names, own.current.selfSigned], [['a.test'], true]);
  const entries = (await client.get('/api/audit-log')).body.items.filter((one: { action: string }) =>
    one.action.startsWith('certificate.'),
  );
  assert.deepEqual(
    entries.map((one: { action: string; target: string }) => `${one.action} ${one.target}`),
    ['self-sign a.test', 'restore cistern', 'install cistern.test', 'request CN=cistern.test,O=Example,C=DE'].map(
      (one) => `certificate.${one}`,
    ),
  );
});

test('what is wrong is said at its field, and nothing is done; a warning has to be accepted', async (t) => {
  const { client } = await setUp(t);
  const before = (await client.get('/api/certificate')).body.current.fingerprint;
  const { ca, certificate, key } = signed(['DNS:other.test']);
  const wrong = async (body: object, path: string, says: RegExp) => {
    const answer = await client.post('/api/certificate/install', body);
    assert.deepEqual([answer.status, answer.body.errors?.[0]?.path], [400, path], JSON.stringify(answer.body));
    assert.match(answer.body.detail, says);
  };
  await wrong(
    { certificate: `${certificate}${ca}`, key: signed(['DNS:other.test']).key },
    '/key',
    /does not belong to the certificate/,
  );
  await wrong({ certificate: 'hello' }, '/certificate', /no certificate in PEM/);
  await wrong({ certificate }, '/certificate', /there is no signing request/);
  const by = issuer();
  t.after(() => by.close());
  const ended = by.issue('receiver', { days: -1 });
  await wrong(
    { certificate: ended.certificate, key: ended.key },
    '/certificate',
    /^The certificate for receiver expired on /,
  );

  const whole = { certificate: `${certificate}${ca}`, key };
  const warned = await client.post('/api/certificate/install', whole);
  assert.deepEqual([warned.status, warned.body.errors[0].path], [409, '/accept/name'], JSON.stringify(warned.body));
  assert.match(warned.body.detail, /open as cistern\.test, and the certificate is for other\.test/);
  assert.equal((await client.get('/api/certificate')).body.current.fingerprint, before);
  const accepted = await client.post('/api/certificate/install', { ...whole, accept: ['name'] });
  assert.deepEqual(
    [accepted.status, accepted.body.current.names],
    [200, ['other.test']],
    JSON.stringify(accepted.body),
  );
});

test('a key is in the folder of the certificate and nowhere else', async (t) => {
  const { client, directory } = await setUp(t);
  const { ca, certificate, key } = signed(['DNS:cistern.test']);
  const installed = await client.post('/api/certificate/install', { certificate: `${certificate}${ca}${key}` });
  assert.equal(installed.status, 200, JSON.stringify(installed.body));
  const again = await client.post('/api/certificate/install', { certificate, key: 'no key at all' });
  const settings = await client.get('/api/settings-document');
  const audit = await client.get('/api/audit-log');
  const secret = key.split('\n')[1] as string;
  for (const [what, { body }] of Object.entries({ installed, again, settings, audit })) {
    assert.ok(!JSON.stringify(body).includes(secret) && !JSON.stringify(body).includes('no key at all'), what);
  }
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const having = files.filter((one) => readFileSync(join(one.parentPath, one.name)).includes(secret));
  assert.deepEqual(
    having.map((one) => one.name),
    ['page.pem'],
  );
});

test('the page is open under what its address names', () => {
  assert.deepEqual(
    ['cistern.test', 'cistern.test:8443', '192.0.2.7', '[2001:db8::7]:443', '', undefined].map(reachedAs),
    ['cistern.test', 'cistern.test', '192.0.2.7', '2001:db8::7', '', ''],
  );
});
