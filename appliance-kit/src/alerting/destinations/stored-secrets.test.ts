import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, Client } from '../../../tests/harness.ts';

const email = {
  ...{ host: 'mail.example.org', port: 587, security: 'starttls', verifyCertificate: true, user: 'cistern' },
  ...{ from: 'cistern@example.org', to: ['ops@example.org'] },
};
const webhook = { verifyCertificate: true, preset: 'json' };
const snmp = { host: 'nms.example.org', port: 162, version: '2c', inform: false };

/** An administrator has stored the secrets; an operator may change destinations, and must not get to read them. */
test('a stored secret is sent nowhere else, by no change and no test', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const { token } = (await client.post('/api/tokens', { name: 'operator', role: 'operator' })).body;
  const operator = new Client(appliance);
  const headers = { authorization: `Bearer ${token}` };
  const add = async (body: object) => (await client.post('/api/destinations', { enabled: false, ...body })).body.id;
  const ids = {
    email: await add({ name: 'Mail', kind: 'email', email: { ...email, password: 'c4nary' } }),
    webhook: await add({
      ...{ name: 'Hook', kind: 'webhook' },
      webhook: { ...webhook, url: 'https://hooks.example.org/c4nary', secret: 'c4nary' },
    }),
    snmp: await add({ name: 'NMS', kind: 'snmp', snmp: { ...snmp, community: 'c4nary' } }),
  };
  const cases: [keyof typeof ids, string, object, string | null][] = [
    ['email', 'another host', { ...email, host: '192.0.2.66' }, '/email/password'],
    ['email', 'another port', { ...email, port: 25 }, '/email/password'],
    ['email', 'in the clear', { ...email, security: 'none' }, '/email/password'],
    ['email', 'whoever answers', { ...email, verifyCertificate: false }, '/email/password'],
    ['email', 'another receiver is no other server', { ...email, to: ['duty@example.org'] }, null],
    ['email', 'given anew', { ...email, host: '192.0.2.66', password: 'own' }, null],
    ['webhook', 'another address', { ...webhook, url: 'https://evil.example/' }, '/webhook/secret'],
    ['webhook', 'whoever answers', { ...webhook, verifyCertificate: false }, '/webhook/url'],
    ['webhook', 'a form that sends the secret', { ...webhook, preset: 'pagerduty' }, '/webhook/secret'],
    ['webhook', 'as it was', webhook, null],
    ['snmp', 'another host', { ...snmp, host: '192.0.2.66' }, '/snmp/community'],
    ['snmp', 'inform', { ...snmp, inform: true }, null],
  ];
  for (const [kind, what, settings, path] of cases) {
    const body = { name: 'Changed', kind, enabled: false, [kind]: settings };
    const change = await operator.put(`/api/destinations/${ids[kind]}`, body, { headers });
    assert.equal(change.status, path === null ? 200 : 400, `${kind}, ${what}: ${JSON.stringify(change.body)}`);
    if (path === null) continue;
    assert.equal(change.body.errors[0].path, path, what);
    assert.match(change.body.errors[0].message, /must be given again/);
    const tried = await operator.post('/api/destinations/test', { id: ids[kind], ...body }, { headers });
    assert.equal(tried.status, 400, `the test of ${kind}, ${what}`);
  }
});
