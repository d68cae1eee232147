// Documents: exported, planned, applied, and refused. The real `cistern` seals.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { fail } from '../../base/problems/problem.ts';
import { put } from './pointer.ts';

/** What needs no other daemon. */
const ALONE = ['audit-retention', 'destinations'];
const query = `?${ALONE.map((name) => `parts=${name}`).join('&')}`;
const PASSPHRASE = 'seventeen violet tractors';

const mail = {
  ...{ name: 'Mail', kind: 'email', enabled: false },
  email: {
    ...{ host: 'mail.example', port: 587, security: 'starttls', verifyCertificate: true },
    ...{ user: 'cistern', from: 'cistern@example.com', to: ['ops@example.com'], password: 'hunter22' },
  },
};
const syslog = {
  ...{ name: 'Logs', kind: 'syslog', enabled: false },
  syslog: { host: 'logs.example', port: 514, transport: 'tcp', verifyCertificate: false },
};

// biome-ignore lint/suspicious/noExplicitAny: documents of tests are looked into freely
type Document = any;

const documentOf = async ({ client }: Bench, parts = query): Promise<Document> =>
  (await client.get(`/api/settings-document${parts}`)).body;
const plan = async ({ client }: Bench, document: Document, more: object = {}) =>
  client.post('/api/settings-document/preview', { document, ...more });

async function apply(on: Bench, document: Document, more: object = {}) {
  const planned = await plan(on, document, more);
  assert.equal(planned.status, 200, JSON.stringify(planned.body));
  const { fingerprint } = planned.body;
  return on.client.post('/api/settings-document/apply', { document, fingerprint, ...more });
}

async function appliance(t: Parameters<typeof bench>[0], more: Parameters<typeof bench>[1] = {}) {
  const on = await bench(t, more);
  await on.client.setUp();
  return on;
}

test('a document is exported, changed, planned and applied; applied again it changes nothing', async (t) => {
  const on = await appliance(t, { cistern: program('cistern') });
  assert.equal((await on.client.post('/api/destinations', mail)).status, 201);
  const document = await documentOf(on);
  const [id] = Object.keys(document.parts.destinations.value) as [string];
  assert.deepEqual(document.parts.destinations.value[id].email.password, { secret: 'left out' });
  assert.deepEqual((await plan(on, document)).body.parts, [], 'as it is');

  document.parts.destinations.value[id].email.to = ['night@example.com'];
  document.parts.destinations.value.logs = { ...syslog, enabled: true };
  document.parts['audit-retention'].value.days = 30;
  const planned = (await plan(on, document)).body;
  assert.deepEqual(
    planned.parts.map(({ part, changes }: Document) => [part, changes.map(({ kind, path }: Document) => [kind, path])]),
    [
      ['audit-retention', [['changed', '/audit-retention/days']]],
      [
        'destinations',
        [
          ['changed', `/destinations/${id}/email/to`],
          ['added', '/destinations/logs'],
        ],
      ],
    ],
  );
  assert.match(planned.parts[0].warnings[0], /do not come back/);
  const applied = await apply(on, document);
  assert.equal(applied.status, 200, JSON.stringify(applied.body));
  assert.deepEqual(await documentOf(on), document);
  assert.deepEqual((await on.client.get(`/api/destinations/${id}`)).body.email.passwordSet, true);
  assert.deepEqual((await apply(on, document)).body, {
    plan: { ...applied.body.plan, ...(await plan(on, document)).body },
    history: [],
  });

  delete document.parts.destinations.value.logs;
  assert.equal((await apply(on, document)).status, 200);
  assert.equal((await on.client.get('/api/destinations')).body.items.length, 1);
});

test('what is wrong with a document is said by its field, and nothing of it is done', async (t) => {
  const on = await appliance(t);
  const good = await documentOf(on);
  for (const [changed, value, path, words] of [
    ['/version', 2, '/version', /is 2, and this appliance reads up to 1.*Update the appliance/s],
    ['/format', 'else', '/format', /no settings document/],
    ['/notes', '', '/notes', /not a known field/],
    ['/parts/destinations/value', undefined, '/parts/destinations/value', /is missing/],
    ['/parts/destinations/by', 'me', '/parts/destinations/by', /not a known field/],
  ] as const) {
    const { status, body } = await plan(on, put(good, changed, value));
    assert.deepEqual([status, body.errors[0].path], [400, path]);
    assert.match(`${body.detail} ${body.action ?? ''}`, words);
  }
  const logs = (more: object) => ({ ...syslog, syslog: { ...syslog.syslog, ...more } });
  const destination = '/parts/destinations/value/logs';
  for (const [changed, value, path, words] of [
    ['/parts/audit-retention/version', 9, '/parts/audit-retention/version', /is 9.*up to 1: update/],
    ['/parts/network', { version: 1, value: {} }, '/parts/network', /no part that this appliance knows/],
    ['/parts/audit-retention/value/forever', true, '/parts/audit-retention/value/forever', /not a known field/],
    [destination, logs({ port: 0 }), `${destination}/syslog/port`, /1/],
    ['/parts/destinations/value/a b', syslog, '/parts/destinations/value/a b', /no key/],
    [destination, logs({ transport: 'x' }), `${destination}/syslog/transport`, /tcp, tls/],
  ] as const) {
    // Something that could be is beside it, and is not done either.
    const document = put(put(good, '/parts/audit-retention/value/days', 31), changed, value);
    const { body } = await plan(on, document);
    assert.equal(body.refused[0]?.path, path, JSON.stringify(body));
    assert.match(body.refused[0].message, words);
    const applied = await apply(on, document);
    assert.deepEqual([applied.status, applied.body.errors[0].path], [400, path]);
  }
  assert.deepEqual(await documentOf(on), good);
});

test('secrets: sealed, opened, a wrong passphrase, none', async (t) => {
  const on = await appliance(t, { cistern: program('cistern') });
  const { id } = (await on.client.post('/api/destinations', mail)).body;
  const exported = await on.client.post('/api/settings-document/export', {
    parts: ['destinations'],
    passphrase: PASSPHRASE,
  });
  const document = exported.body;
  assert.equal(exported.status, 200, JSON.stringify(document));
  assert.deepEqual(document.parts.destinations.value[id].email.password, { secret: 'sealed' });
  assert.match(document.sealed, /^-----BEGIN AGE ENCRYPTED FILE-----/);
  assert.doesNotMatch(JSON.stringify(document), /hunter22/);

  const other = await appliance(t, { cistern: program('cistern') });
  assert.equal((await plan(other, document)).body.code, 'passphrase_required');
  const wrong = await plan(other, document, { passphrase: 'another passphrase' });
  assert.deepEqual([wrong.status, wrong.body.code], [409, 'wrong_passphrase']);
  const damaged = { ...document, sealed: document.sealed.slice(0, -120) };
  assert.deepEqual((await plan(other, damaged, { passphrase: PASSPHRASE })).body.errors[0].path, '/document/sealed');

  // A login without its password cannot be made; all else of the document can.
  const without = (await plan(other, document, { withoutSecrets: true })).body;
  assert.deepEqual([without.refused, without.parts], [[], []]);
  assert.match(without.leftOut[0].message, /cannot be made without its secrets.*email.password/);

  const planned = (await plan(other, document, { passphrase: PASSPHRASE })).body;
  assert.equal(planned.parts[0].changes[0].after.email.password, '********');
  assert.equal((await apply(other, document, { passphrase: PASSPHRASE })).status, 200);
  assert.equal(other.appliance.destinations.stored(id)?.email?.password, 'hunter22');
  assert.deepEqual((await plan(other, document, { passphrase: PASSPHRASE })).body.parts, []);
  // Nothing of it is written down in clear.
  for (const table of ['audit', 'settings_changes', 'settings_seen', 'destinations']) {
    assert.doesNotMatch(JSON.stringify(other.appliance.db.all(`SELECT * FROM ${table}`)), /hunter22|violet/, table);
  }
});

test('a stored secret is not sent elsewhere by a document that does not have it', async (t) => {
  const on = await appliance(t);
  const { id } = (await on.client.post('/api/destinations', mail)).body;
  const document = await documentOf(on);
  document.parts.destinations.value[id].email.host = 'evil.example';
  const { refused } = (await plan(on, document)).body;
  assert.equal(refused[0].path, `/parts/destinations/value/${id}/email/password`);
  document.parts.destinations.value[id].email.password = 'given with it';
  assert.equal((await apply(on, document)).status, 200);
});

test('what is applied is what was shown: a change in between is refused', async (t) => {
  const on = await appliance(t);
  const document = await documentOf(on);
  document.parts['audit-retention'].value.days = 40;
  const { fingerprint } = (await plan(on, document)).body;
  await on.client.put('/api/audit-retention', { days: 50, entries: 20_000 });
  const refused = await on.client.post('/api/settings-document/apply', { document, fingerprint });
  assert.deepEqual([refused.status, refused.body.code], [409, 'plan_changed']);
  assert.equal((await on.client.get('/api/audit-retention')).body.days, 50);
});

/** All parts that need no other daemon. */
async function partsAlone({ client }: Bench): Promise<string> {
  const { items } = (await client.get('/api/settings-parts')).body;
  const names: string[] = items.map(({ name }: { name: string }) => name);
  const others = ['inputs', 'metric-meanings', 'retention', 'recorded-statistics'];
  return `?${names
    .filter((name) => !others.includes(name))
    .map((name) => `parts=${name}`)
    .join('&')}`;
}

test('when a part fails, those before it are put back', async (t) => {
  const on = await appliance(t);
  const parts = await partsAlone(on);
  const before = await documentOf(on, parts);
  const document = structuredClone(before);
  document.parts['audit-retention'].value.days = 40;
  document.parts.users.value.bob = { role: 'operator', disabled: false };
  document.parts.destinations.value.logs = syslog;
  document.parts['snmp-agent'].value = {
    ...document.parts['snmp-agent'].value,
    enabled: true,
    community: 'open sesame',
  };
  const works = on.simulation.configureSnmp;
  on.simulation.configureSnmp = () => Promise.reject(fail('command_failed', 'snmpd does not start.'));
  const answer = await apply(on, document);
  assert.deepEqual([answer.status, answer.body.code], [409, 'settings_not_applied']);
  assert.match(answer.body.detail, /snmp-agent.*snmpd does not start.*as they were before/s);
  assert.deepEqual(await documentOf(on, parts), before);
  assert.deepEqual((await on.client.get('/api/settings-changes?part=destinations')).body.items, []);
  assert.equal(on.appliance.audit.latest(1)[0]?.action, 'settings.take-back');

  on.simulation.configureSnmp = works;
  const done = await apply(on, document);
  assert.equal(done.status, 200, JSON.stringify(done.body));
  assert.equal((await on.client.get('/api/users')).body.items.length, 2);
  const noted = (await on.client.get('/api/settings-changes')).body.items.slice(0, 4);
  assert.deepEqual(
    noted.map(({ part, cause }: Document) => [part, cause]),
    ['snmp-agent', 'destinations', 'users', 'audit-retention'].map((part) => [part, 'apply']),
  );
});

test('akd is killed at each step of applying: at the next start all is as before, or all is applied', async (t) => {
  let on = await appliance(t);
  const parts = await partsAlone(on);
  await on.client.post('/api/destinations', mail);
  const before = await documentOf(on, parts);
  const document = structuredClone(before);
  document.parts['audit-retention'].value.days = 40;
  document.parts.destinations.value = { logs: syslog };
  const program = fileURLToPath(new URL('../../../tests/fixtures/apply-and-die.ts', import.meta.url));
  const die = (step: number) =>
    spawnSync(process.execPath, [program, on.directory, String(step)], {
      input: JSON.stringify(document),
      encoding: 'utf8',
    });
  let step = 1;
  for (; ; step++) {
    const { signal, stdout, stderr } = die(step);
    if (signal === null) {
      // There are no more steps: it was applied.
      assert.equal(stdout.trim(), `200 ${step - 1}`, stderr);
      break;
    }
    assert.equal(signal, 'SIGKILL');
    on = await on.restart();
    await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
    const meanwhile = await on.client.put('/api/audit-retention', { days: 60, entries: 20_000 });
    assert.match(meanwhile.body.detail, /are being put back/, 'nobody changes what is half applied');
    await on.appliance.start();
    await eventually(() => assert.equal(on.appliance.db.get('SELECT 1 FROM settings_applying'), undefined));
    assert.deepEqual(await documentOf(on, parts), before, `step ${step}`);
    const { items } = (await on.client.get('/api/alerts?state=all')).body;
    assert.ok(items.some((one: Document) => one.class === 'settings.reverted'));
  }
  // One value, one thing removed and one made, each with a step before and after.
  assert.equal(step, 7);
  on = await on.restart();
  await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
  document.parts['audit-retention'].value.days = 41;
  assert.equal(die(0).signal, 'SIGKILL');
  on = await on.restart();
  await on.appliance.start();
  await eventually(() => assert.equal(on.appliance.db.get('SELECT 1 FROM settings_applying'), undefined));
  await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.deepEqual(await documentOf(on, parts), document, 'all of it was applied, and that was finished');
});

test('each change keeps who, when, by which way, and the part before; it is compared and restored', async (t) => {
  const on = await appliance(t);
  await on.appliance.start();
  const { id } = (await on.client.post('/api/destinations', mail)).body;
  on.clock.advance(60);
  const token = (await on.client.post('/api/tokens', { name: 'robot', role: 'administrator' })).body;
  const headers = { authorization: `Bearer ${token.token}`, 'user-agent': 'cistern' };
  const robot = new Client(on.appliance, '192.0.2.99');
  await robot.put(
    `/api/destinations/${id}`,
    { ...mail, name: 'Post', email: { ...mail.email, password: 'another' } },
    { headers },
  );
  await on.client.delete(`/api/destinations/${id}`);
  const of = async (part: string) => (await on.client.get(`/api/settings-changes?part=${part}`)).body.items;
  const [removed, changed, made] = await of('destinations');
  assert.deepEqual(
    [made, changed, removed].map(({ user, way, cause, added, changed, removed }) => [
      user,
      way,
      cause,
      added,
      changed,
      removed,
    ]),
    [
      ['ada', 'page', 'change', 1, 0, 0],
      ['token:robot', 'cli', 'change', 0, 2, 0],
      ['ada', 'page', 'change', 0, 0, 1],
    ],
  );
  const shown = (await on.client.get(`/api/settings-changes/${changed.id}`)).body;
  assert.deepEqual(
    shown.changes.map(({ path, before, after }: Document) => [path, before, after]),
    [
      [`/destinations/${id}/email/password`, '********', '********'],
      [`/destinations/${id}/name`, 'Mail', 'Post'],
    ],
  );
  assert.equal(shown.before[id].email.password, '********');
  const now = (await on.client.get(`/api/settings-changes/${changed.id}?with=now`)).body;
  assert.deepEqual(
    now.changes.map(({ kind }: Document) => kind),
    ['removed'],
  );

  // As it was before the change: with the password of then.
  const preview = (await on.client.get(`/api/settings-changes/${changed.id}/restore-preview`)).body;
  assert.deepEqual(
    preview.parts[0].changes.map(({ kind, path }: Document) => [kind, path]),
    [['added', `/destinations/${id}`]],
  );
  const restored = await on.client.post(`/api/settings-changes/${changed.id}/restore`, {
    fingerprint: preview.fingerprint,
  });
  assert.equal(restored.status, 200, JSON.stringify(restored.body));
  assert.equal(on.appliance.destinations.stored(id)?.email?.password, 'hunter22');
  assert.deepEqual((await of('destinations'))[0].cause, 'restore');

  // Who was withdrawn does not come back.
  await on.client.delete(`/api/tokens/${token.id}`);
  const [gone] = await of('tokens');
  const back = (await on.client.get(`/api/settings-changes/${gone.id}/restore-preview`)).body;
  assert.deepEqual(back.parts, []);
  assert.match(back.leftOut[0].message, /was withdrawn/);
});
