import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Bench, bench, PASSWORD } from '../../tests/harness.ts';
import { SECRETS } from '../alerting/destinations/destinations.ts';
import { anywhere } from '../alerting/destinations/reach.ts';
import { Senders } from '../alerting/destinations/send.ts';
import { silentLog } from '../base/log.ts';
import { Seal } from './sealed.ts';
import { SealedFields } from './sealed-fields.ts';

const CANARY = 'c4nary-in-clear';
const email = {
  ...{ host: 'mail.example.org', port: 587, security: 'starttls', verifyCertificate: true, user: 'cistern' },
  ...{ from: 'cistern@example.org', to: ['ops@example.org'], password: CANARY },
};
const hook = { verifyCertificate: true, preset: 'json', url: `https://hooks.example.org/${CANARY}`, secret: CANARY };
const output = {
  ...{ begin: 'now', keep: [], labels: {}, lagMiB: 64 },
  remoteWrite: { url: 'https://remote.example.org/write', version: 'auto', user: 'cistern', password: CANARY },
};

async function withSecrets(t: Parameters<typeof bench>[0]) {
  const on = await bench(t);
  await on.client.setUp();
  const added = async (path: string, body: object) => {
    const { status, body: answer } = await on.client.post(path, { enabled: false, ...body });
    assert.equal(status, 201, JSON.stringify(answer));
    return answer.id as string;
  };
  const mail = await added('/api/destinations', { name: 'Mail', kind: 'email', email });
  const webhook = await added('/api/destinations', { name: 'Hook', kind: 'webhook', webhook: hook });
  return { ...on, mail, webhook };
}

async function restarted(on: Bench) {
  const again = await on.restart();
  assert.equal((await again.client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
  return again;
}

const onDisk = (directory: string) =>
  ['state.db', 'state.db-wal'].map((name) => readFileSync(join(directory, 'state', name), 'latin1')).join('');

test('no secret of a destination or an output is readable in the database', async (t) => {
  const on = await withSecrets(t);
  assert.ok(!onDisk(on.directory).includes(CANARY));
  const row = on.appliance.db.get('SELECT settings_json FROM destinations WHERE id = ?', on.mail);
  const stored = JSON.parse(row?.settings_json as string);
  assert.equal(stored.email.host, 'mail.example.org', 'what is no secret can be read in an export');
  assert.deepEqual(Object.keys(stored.email.password), ['sealed']);
  const shown = (await on.client.get(`/api/destinations/${on.webhook}`)).body;
  assert.equal(shown.webhook.host, 'hooks.example.org', 'the appliance itself can open it');
});

test('what an older version stored in clear is sealed at the start, and nothing of it stays in the file', async (t) => {
  const on = await withSecrets(t);
  const { db } = on.appliance;
  db.run('UPDATE destinations SET settings_json = ? WHERE id = ?', JSON.stringify({ email }), on.mail);
  db.run(
    'INSERT INTO outputs (id, name, kind, enabled, settings_json, created_at) VALUES (?, ?, ?, 0, ?, 0)',
    ...['out', 'there', 'remote-write', JSON.stringify(output)],
  );
  assert.ok(onDisk(on.directory).includes(CANARY), 'it is there before');
  const again = await restarted(on);
  assert.ok(!onDisk(on.directory).includes(CANARY));
  const shown = (await again.client.get(`/api/destinations/${on.mail}`)).body;
  assert.equal(shown.email.passwordSet, true);
  const there = (await again.client.get('/api/outputs/out')).body;
  assert.deepEqual([there.remoteWrite.user, there.remoteWrite.passwordSet], ['cistern', true]);
  for (const table of ['destinations', 'outputs']) {
    const [row] = again.appliance.db.all(`SELECT settings_json FROM ${table} WHERE settings_json LIKE '%"sealed"%'`);
    assert.ok(row, table);
  }
});

test('what cannot be opened is named, and nothing is sent without it', async (t) => {
  const on = await withSecrets(t);
  const { db } = on.appliance;
  const row = db.get('SELECT settings_json FROM destinations WHERE id = ?', on.webhook);
  const sealed = new SealedFields({
    ...{ seal: new Seal(Buffer.alloc(32, 1)), log: silentLog },
    ...{ kind: 'destination', table: 'destinations', secrets: SECRETS },
  });
  const { settings, lost } = sealed.read(on.webhook, row?.settings_json as string);
  assert.deepEqual(lost, ['webhook.url', 'webhook.secret']);
  assert.ok(!JSON.stringify(settings).includes('sealed'));
  const destination = { id: on.webhook, name: 'Hook', kind: 'webhook', enabled: true, lost, ...settings } as const;
  const senders = new Senders({} as never, anywhere);
  await assert.rejects(
    senders.send(destination, {} as never),
    /cannot be read any more: webhook\.url, webhook\.secret/,
  );
});

test('with another key a destination says which secret has to be entered again, and takes it', async (t) => {
  const on = await withSecrets(t);
  writeFileSync(join(on.directory, 'state', 'secrets.key'), Buffer.alloc(32, 1));
  const { client } = await restarted(on);
  const body = { id: on.webhook, name: 'Hook', kind: 'webhook', enabled: true };
  const { url: _, secret: __, ...rest } = hook;
  const tried = (await client.post('/api/destinations/test', { ...body, webhook: rest })).body;
  assert.match(JSON.stringify(tried), /\/webhook\/url is missing/);
  const { password: ___, ...withoutPassword } = email;
  const mail = { id: on.mail, name: 'Mail', kind: 'email', enabled: true, email: withoutPassword };
  const unsent = (await client.post('/api/destinations/test', mail)).body;
  assert.match(JSON.stringify(unsent), /email\/password is needed with a user/);
  const changed = await client.put(`/api/destinations/${on.webhook}`, {
    ...{ name: 'Hook', kind: 'webhook', enabled: false },
    webhook: hook,
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal(changed.body.webhook.secretSet, true);
});
