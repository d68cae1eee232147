// Certificates in place of a secret: which are taken, and every refusal. That nginx hands over none but those whose key the client has
// is tested there (tests/browser/certificates.test.ts).
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { issuer, selfSigned } from '../../../tests/certificates.ts';
import { bench, Client } from '../../../tests/harness.ts';

const DAY = 86_400;

async function withCertificates(t: TestContext) {
  const on = await bench(t);
  // OpenSSL makes certificates that begin now.
  on.clock.step((Date.now() + 60_000 - on.clock.now()) / 1000);
  await on.client.setUp();
  const ours = issuer();
  t.after(() => ours.close());
  const make = (body: object) => on.client.post('/api/tokens', { name: 'agent', role: 'writer', ...body });
  /** What nginx asks; `more` are headers that it would never send. */
  const ask = async (pem: string, more: Record<string, string> = {}, address = '192.0.2.50') => {
    const headers = {
      'x-cistern-certificate': encodeURIComponent(pem),
      'x-original-method': 'POST',
      'x-original-uri': '/api/v1/write',
      ...more,
    };
    return await new Client(on.appliance, address).get('/internal/authorize', { headers });
  };
  const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).status;
  return { ...on, ours, make, ask, status };
}

test('the certificate that was set is taken, by its record, and no other', async (t) => {
  const { client, clock, ours, make, ask, status } = await withCertificates(t);
  const own = selfSigned('agent', 400);
  const made = await make({ certificate: own.certificate, labels: { site: 'berlin' }, networks: ['192.0.2.0/24'] });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.token, undefined, 'there is no secret');
  const x509 = new X509Certificate(own.certificate);
  assert.deepEqual(made.body.certificate, {
    sha256: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
    subject: 'CN=agent',
    validTo: new Date(x509.validTo).toISOString(),
    commonName: null,
  });
  const yes = await ask(own.certificate);
  assert.equal(yes.status, 204, JSON.stringify(yes.body));
  assert.equal(yes.headers['x-cistern-user'], encodeURIComponent('token:agent'));
  assert.equal(yes.headers['x-cistern-labels'], 'site=berlin');
  const used = (await client.get(`/api/tokens/${made.body.id}`)).body;
  assert.deepEqual([used.lastUsedFrom, Date.parse(used.lastUsedAt)], ['192.0.2.50', clock.now()]);
  // Of the same name, of a CA, from elsewhere, for more than a writer may, and what is none.
  assert.equal(await status(selfSigned('agent').certificate), 401);
  assert.equal(await status(ours.issue('agent').certificate), 401);
  assert.equal(await status(own.certificate, {}, '198.51.100.7'), 401);
  assert.equal(await status(own.certificate, { 'x-original-method': 'GET', 'x-original-uri': '/api/v1/query' }), 403);
  for (const text of ['x', '%', own.certificate.slice(0, 200), own.certificate + own.certificate, 'x'.repeat(20_000)])
    assert.equal(await status(text), 401, text.slice(0, 40));
  assert.equal(await status(own.certificate, { 'x-cistern-certificate': '%E0%A4%A' }), 401);
  // It is who the certificate says, or nobody: neither a token nor a session beside it counts.
  const secret = (await make({ name: 'secret' })).body.token;
  assert.equal(await status('', { authorization: `Bearer ${secret}` }), 204);
  assert.equal(await status(own.certificate, { authorization: `Bearer ${secret}` }), 401);
  assert.equal(await status(selfSigned('x').certificate, { authorization: `Bearer ${secret}` }), 401);
  assert.equal(
    await status(own.certificate, { authorization: `Bearer certificate:${made.body.certificate.sha256}` }),
    401,
  );
  assert.equal(await status('', { authorization: `Bearer certificate:${made.body.certificate.sha256}` }), 401);

  // Withdrawn.
  assert.equal((await client.delete(`/api/tokens/${made.body.id}`)).status, 204);
  assert.equal(await status(own.certificate), 401);
  const [entry] = (await client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual([entry.action, entry.before.certificate.subject], ['token.delete', 'CN=agent']);
});

test('nothing but the question of nginx goes by a certificate', async (t) => {
  const { appliance, make } = await withCertificates(t);
  const own = selfSigned('agent');
  await make({ role: 'administrator', certificate: own.certificate });
  const headers = { 'x-cistern-certificate': encodeURIComponent(own.certificate) };
  for (const path of ['/api/tokens', '/api/status', '/api/v1/rules', '/api/users'])
    assert.equal((await new Client(appliance, '192.0.2.50').get(path, { headers })).status, 401, path);
});

test('what a CA issues for one name is taken while both hold, for clients only', async (t) => {
  const { clock, ours, make, status } = await withCertificates(t);
  const theirs = issuer(); // of the same name
  t.after(() => theirs.close());
  const made = await make({ certificate: ours.ca, commonName: 'agent', expiresInDays: null });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual([made.body.certificate.commonName, made.body.expiresAt], ['agent', null]);
  const first = ours.issue('agent', { days: 30 });
  const second = ours.issue('agent', { days: 90 });
  for (const { certificate } of [first, second]) assert.equal(await status(certificate), 204);
  for (const [what, { certificate }] of Object.entries({
    'another name': ours.issue('agent2'),
    'a name and more': ours.issue('agent/CN=other'),
    'another CA of that name': theirs.issue('agent'),
    'for servers': ours.issue('agent', { use: 'serverAuth' }),
    'a CA itself': ours.issue('agent', { ca: true }),
    ended: ours.issue('agent', { days: -1 }),
    nobody: selfSigned('agent'),
  }))
    assert.equal(await status(certificate), 401, what);
  assert.equal(await status(ours.ca), 401, 'the CA’s own');
  assert.equal(await status(ours.issue('agent', { use: 'serverAuth,clientAuth' }).certificate), 204);
  clock.advance(40 * DAY);
  assert.equal(await status(first.certificate), 401, 'it has ended');
  assert.equal(await status(second.certificate), 204);
  clock.step(-41 * DAY);
  assert.equal(await status(second.certificate), 401, 'it does not hold yet');
  clock.step(3_700 * DAY);
  assert.equal(await status(ours.issue('agent', { days: 4_000 }).certificate), 401, 'the CA has ended');
});

test('one that is set itself is never taken for one that a CA has issued', async (t) => {
  const { client, clock, ours, make, status } = await withCertificates(t);
  const agent = ours.issue('agent');
  assert.equal((await make({ name: 'all', certificate: ours.ca, commonName: 'agent' })).status, 201);
  assert.equal(await status(agent.certificate), 204);
  const short = await make({ name: 'short', certificate: agent.certificate, expiresInDays: 1 });
  assert.equal(short.status, 201);
  clock.advance(2 * DAY);
  assert.equal(await status(agent.certificate), 401, 'its own record has expired');
  await client.post('/api/session', { user: 'ada', password: 'correct horse battery' });
  assert.equal((await client.delete(`/api/tokens/${short.body.id}`)).status, 204);
  assert.equal(await status(agent.certificate), 204);
});

test('a token lasts no longer than the certificate that is its own', async (t) => {
  const { client, make } = await withCertificates(t);
  const own = selfSigned('agent', 20);
  const { body } = await make({ certificate: own.certificate, expiresInDays: null });
  assert.equal(body.expiresAt, body.certificate.validTo);
  const change = { name: 'agent', owner: body.owner, networks: [] };
  const longer = await client.put(`/api/tokens/${body.id}`, { ...change, expiresAt: null });
  assert.equal(longer.status, 400);
  assert.match(longer.body.detail, /its certificate ends on/);
  const sooner = await client.put(`/api/tokens/${body.id}`, {
    ...change,
    expiresAt: new Date(Date.now() + 5 * DAY * 1000).toISOString(),
  });
  assert.equal(sooner.status, 200, JSON.stringify(sooner.body));
});

test('what cannot be set is named', async (t) => {
  const { ours, make, status } = await withCertificates(t);
  const own = selfSigned('agent');
  const damaged = own.certificate.replace(/\n.{20}/, `\n${'A'.repeat(20)}`);
  for (const [body, words, path] of [
    [{ certificate: '' }, /there is none in it/, '/certificate'],
    [{ certificate: 'MIIB' }, /there is none in it/, '/certificate'],
    [{ certificate: own.certificate + own.key }, /a private key with it/, '/certificate'],
    [{ certificate: own.certificate + ours.ca }, /these are 2: paste the client’s alone/, '/certificate'],
    [{ certificate: ours.ca + ours.ca, commonName: 'a' }, /these are 2: paste the issuing CA’s alone/, '/certificate'],
    [{ certificate: damaged }, /cannot be read/, '/certificate'],
    [
      { certificate: ours.issue('agent', { days: -1 }).certificate },
      /that of O=Example, CN=agent ended on/,
      '/certificate',
    ],
    [{ certificate: ours.issue('x').certificate, commonName: 'agent' }, /is no CA/, '/certificate'],
    [{ commonName: 'agent' }, /there is none/, '/commonName'],
  ] as const) {
    const answer = await make(body);
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.match(answer.body.detail, words);
    assert.equal(answer.body.errors[0].path, path);
  }
  assert.equal((await make({ certificate: own.certificate })).status, 201);
  const twice = await make({ name: 'again', certificate: `a comment\n${own.certificate}` });
  assert.deepEqual([twice.status, twice.body.code], [409, 'conflict']);
  assert.match(twice.body.detail, /belongs to the token “agent”/);
  assert.equal(await status(own.certificate), 204);
});
