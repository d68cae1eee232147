import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFactor, type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import type { Peer } from '../../peers/peer.ts';
import { Execd } from '../../platform/execd.ts';
import { execdSsh } from '../../platform/execd-ssh.ts';
import { newPublicKey, readKey } from '../../platform/sim/ssh.ts';
import type { SshAccess } from '../../platform/ssh.ts';
import { Settings } from '../../state/settings.ts';
import { Keys } from './keys.ts';
import * as stored from './settings.ts';
import { Visits } from './visits.ts';

const DAY = 24 * 3600;
const NEW = 'violet tractor umbrella';
const inDays = ({ clock }: Pick<Bench, 'clock'>, days: number) =>
  new Date(clock.now() + days * DAY * 1000).toISOString();

async function setUp(t: Parameters<typeof bench>[0]) {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  return on;
}

/** A further user, who is signed in. */
async function user({ client, appliance }: Bench, name: string, role: string) {
  const made = await client.post('/api/users', { name, role });
  const theirs = new Client(appliance, '192.0.2.9');
  theirs.password = NEW;
  await theirs.post('/api/session', { user: name, password: made.body.password });
  const change = { currentPassword: made.body.password, newPassword: NEW };
  assert.equal((await theirs.post('/api/session/change-password', change)).status, 200);
  return theirs;
}

const on = (access: SshAccess) => {
  assert.ok(access.enabled, JSON.stringify(access));
  return access;
};
const whose = (access: SshAccess) => on(access).keys.map((key) => key.user);

test('ssh is off; it is switched on for a time, by the keys of those who may, and is off at its end', async (t) => {
  const all = await setUp(t);
  const { client, simulation, clock } = all;
  const off = (await client.get('/api/ssh-access')).body;
  assert.deepEqual(
    [off.enabledUntil, off.networks, off.hostKey, off.account, off.port, off.available],
    [null, ['own'], null, 'cistern-ssh', 22, true],
  );
  const key = newPublicKey();
  const added = await client.post('/api/ssh-keys', { key: `${key} ada at home\n` });
  assert.equal(added.status, 201, JSON.stringify(added.body));
  assert.deepEqual(
    [added.body.user, added.body.kind, added.body.comment, added.body.fingerprint, added.body.obstacle],
    ['ada', 'ssh-ed25519', 'ada at home', readKey(key).fingerprint, null],
  );
  assert.deepEqual(simulation.ssh.access(), { enabled: false });

  const until = inDays(all, 1);
  const set = await client.put('/api/ssh-access', { enabledUntil: until, networks: ['own', '198.51.100.7'] });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.match(set.body.hostKey, /^SHA256:[A-Za-z0-9+/]{43}$/);
  assert.deepEqual(set.body.ownNetworks, ['192.0.2.0/24', '2001:db8::/64']);
  assert.deepEqual(simulation.ssh.access(), {
    enabled: true,
    untilMs: Date.parse(until),
    networks: ['192.0.2.0/24', '2001:db8::/64', '198.51.100.7/32'],
    keys: [{ user: 'ada', key }],
  });

  // The firewall follows, and has its networks from here.
  const firewall = async () =>
    (await client.get('/api/firewall')).body.services.find(({ name }: { name: string }) => name === 'ssh');
  await all.appliance.poller.look();
  assert.deepEqual(
    [(await firewall()).ports, (await firewall()).networks, (await firewall()).setAt],
    [[{ protocol: 'tcp', port: 22 }], ['own', '198.51.100.7/32'], 'ssh'],
  );
  const tried = await client.post('/api/firewall/try', { services: [{ name: 'ssh', networks: [] }] });
  assert.equal(tried.status, 400);
  assert.match(tried.body.detail, /its networks are set where it was switched on/);

  clock.advance(DAY + 1);
  await all.appliance.poller.look();
  assert.deepEqual(simulation.ssh.access(), { enabled: false });
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal((await client.get('/api/ssh-access')).body.enabledUntil, null);
  await all.appliance.poller.look();
  assert.deepEqual([(await firewall()).ports, (await firewall()).setAt], [[], 'firewall']);
  const log = (await client.get('/api/audit-log?action=ssh-')).body.items;
  const entries = (await client.get('/api/audit-log')).body.items
    .filter(({ action }: { action: string }) => action.startsWith('ssh-'))
    .map(({ user: who, action }: { user: string; action: string }) => `${who} ${action}`);
  assert.deepEqual(entries, ['appliance ssh-access.end', 'ada ssh-access.set', 'ada ssh-key.add'], JSON.stringify(log));
});

test('what cannot be is named at its field, and nothing is changed', async (t) => {
  const all = await setUp(t);
  const { client, simulation } = all;
  const refused = async (body: object, path: string, words: RegExp) => {
    const answer = await client.put('/api/ssh-access', { networks: ['own'], enabledUntil: inDays(all, 1), ...body });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.equal(answer.body.errors[0].path, path);
    assert.match(answer.body.detail, words);
  };
  await refused({ enabledUntil: inDays(all, 31) }, '/enabledUntil', /more than 30 days away/);
  await refused({ enabledUntil: inDays(all, -1) }, '/enabledUntil', /over already/);
  await refused({ enabledUntil: '2026-01-02' }, '/enabledUntil', /must be a time/);
  await refused({ enabledUntil: '2026-01-02T10:00:00' }, '/enabledUntil', /must be a time/);
  await refused({ networks: [] }, '/networks', /nobody could come in/);
  await refused({ networks: ['own', 'home'] }, '/networks/1', /home is neither an address nor a network/);
  await refused({ networks: ['192.0.2.0/33'] }, '/networks/0', /0 to 32/);
  assert.deepEqual(simulation.ssh.access(), { enabled: false });

  // execd refuses: it is off, and was on for nobody.
  t.mock.method(simulation.ssh, 'configure', async () => {
    throw new Error('execd is away');
  });
  const away = await client.put('/api/ssh-access', { enabledUntil: inDays(all, 1), networks: ['own'] });
  assert.equal(away.status, 500);
  t.mock.restoreAll();
  assert.equal((await client.get('/api/ssh-access')).body.enabledUntil, null);
  await all.appliance.poller.look();
  assert.deepEqual(simulation.ssh.access(), { enabled: false });
});

test('a switch off that does not succeed is shown, and tried again', async (t) => {
  const all = await setUp(t);
  const { client, simulation } = all;
  await client.put('/api/ssh-access', { enabledUntil: inDays(all, 1), networks: ['own'] });
  const failing = t.mock.method(simulation.ssh, 'configure', async () => {
    throw new Error('execd is away');
  });
  assert.equal((await client.put('/api/ssh-access', { enabledUntil: null, networks: ['own'] })).status, 500);
  const shown = (await client.get('/api/ssh-access')).body;
  assert.equal(shown.enabledUntil, null);
  assert.notEqual(shown.problem, null);
  failing.mock.restore();
  assert.ok(simulation.ssh.access().enabled);
  const again = await all.restart();
  await eventually(() => !again.simulation.ssh.access().enabled);
});

test('who may no longer sign in no longer comes in: role, disabled, deleted, second factor, password', async (t) => {
  const all = await setUp(t);
  const { client, simulation, clock, appliance } = all;
  const bob = await user(all, 'bob', 'operator');
  const eve = await user(all, 'eve', 'viewer');
  assert.equal((await client.post('/api/ssh-keys', { key: newPublicKey() })).status, 201);
  assert.equal((await bob.post('/api/ssh-keys', { key: newPublicKey() })).status, 201);
  const viewer = await eve.post('/api/ssh-keys', { key: newPublicKey() });
  assert.equal(viewer.status, 403);
  assert.match(viewer.body.detail, /Viewers cannot come in by ssh/);
  await client.put('/api/ssh-access', { enabledUntil: inDays(all, 20), networks: ['own'] });
  assert.deepEqual(whose(simulation.ssh.access()), ['ada', 'bob']);

  const change = async (role: string, disabled: boolean) =>
    assert.equal((await client.put('/api/users/bob', { role, disabled })).status, 200);
  const obstacle = async () =>
    (await client.get('/api/ssh-keys?of=everyone')).body.items.find((one: { user: string }) => one.user === 'bob')
      .obstacle;
  await change('viewer', false);
  await eventually(() => whose(simulation.ssh.access()).join() === 'ada');
  assert.equal(await obstacle(), 'role');
  await change('operator', false);
  await eventually(() => whose(simulation.ssh.access()).join() === 'ada,bob');
  await change('operator', true);
  await eventually(() => whose(simulation.ssh.access()).join() === 'ada');
  assert.equal(await obstacle(), 'disabled');
  await change('operator', false);
  await client.post('/api/users/bob/reset-password');
  await eventually(() => whose(simulation.ssh.access()).join() === 'ada');
  assert.equal(await obstacle(), 'password');
  assert.equal((await client.delete('/api/users/bob')).status, 204);
  assert.deepEqual(
    (await client.get('/api/ssh-keys?of=everyone')).body.items.map((one: { user: string }) => one.user),
    ['ada'],
  );

  // From tomorrow on administrators need a second factor: it is due by itself.
  const cleo = await user(all, 'cleo', 'administrator');
  assert.equal((await cleo.post('/api/ssh-keys', { key: newPublicKey() })).status, 201);
  await addFactor(all);
  assert.equal((await client.put('/api/second-factor-policy', { requiredFrom: inDays(all, 1) })).status, 200);
  await appliance.poller.look();
  assert.deepEqual(whose(simulation.ssh.access()), ['ada', 'cleo']);
  clock.advance(DAY + 1);
  await appliance.poller.look();
  assert.deepEqual(whose(simulation.ssh.access()), ['ada']);
});

test('own keys: what is wrong is said when it is pasted, each is one user’s, and only administrators see others', async (t) => {
  const all = await setUp(t);
  const { client } = all;
  const bob = await user(all, 'bob', 'operator');
  const key = newPublicKey();
  for (const [bad, words] of [
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nc4nary', /private key/],
    [`command="sh" ${key}`, /no options before it/],
    [`${key}\n${newPublicKey()}`, /one by one/],
    ['ssh-dss AAAA', /DSA keys are too weak/],
    [key.slice(0, 40), /whole|damaged/],
    ['', /begins with its kind|empty/],
  ] as const) {
    const answer = await bob.post('/api/ssh-keys', { key: bad });
    assert.equal(answer.status, 400, bad);
    assert.match(answer.body.detail, words);
    assert.equal(answer.body.errors[0].path, '/key');
    assert.doesNotMatch(JSON.stringify(answer.body), /c4nary/);
  }
  const { body: added } = await bob.post('/api/ssh-keys', { key });
  assert.match((await bob.post('/api/ssh-keys', { key })).body.detail, /You have this key already/);
  assert.match((await client.post('/api/ssh-keys', { key })).body.detail, /Another user/);
  assert.equal((await bob.get('/api/ssh-keys?of=everyone')).status, 403);
  assert.deepEqual((await client.get('/api/ssh-keys')).body.items, []);
  const mine = await client.post('/api/ssh-keys', { key: newPublicKey() });
  assert.equal((await bob.delete(`/api/ssh-keys/${mine.body.id}`)).status, 404);
  for (let n = 1; n < 10; n++) assert.equal((await bob.post('/api/ssh-keys', { key: newPublicKey() })).status, 201);
  assert.match((await bob.post('/api/ssh-keys', { key: newPublicKey() })).body.detail, /the most/);
  assert.equal((await client.delete(`/api/ssh-keys/${added.id}`)).status, 204, 'an administrator may');
  const removed = (await client.get('/api/audit-log?action=ssh-key.remove')).body.items[0];
  assert.deepEqual([removed.user, removed.target, removed.before.fingerprint], ['ada', 'bob', added.fingerprint]);
  // Without the password again neither the switch nor a key is changed.
  bob.password = null;
  all.clock.advance(600);
  assert.equal((await bob.post('/api/ssh-keys', { key: newPublicKey() })).body.code, 'confirmation_required');
});

test('a name that cannot stand in what sshd reads is refused with a sentence', async (t) => {
  const { appliance, clock } = await bench(t);
  const { db, users, factors } = appliance;
  const keys = new Keys({ db, clock, users, factors });
  users.createExternal('jörg "x', 'operator', 'p', 's');
  assert.throws(() => keys.mayAdd('jörg "x'), /The name jörg "x cannot be used with ssh/);
  users.createExternal('j.berg@example.org', 'operator', 'p', 's2');
  keys.mayAdd('j.berg@example.org');
  keys.add('j.berg@example.org', readKey(newPublicKey()));
  const obstacle = () => [keys.list()[0]?.obstacle, keys.usable().length];
  users.signedIn('j.berg@example.org');
  assert.deepEqual(obstacle(), ['provider', 0], 'the provider is not there any more');
  users.external = { ...users.external, kindOf: () => 'oidc' };
  assert.deepEqual(obstacle(), [null, 1]);
  clock.advance(12 * 3600);
  assert.deepEqual(obstacle(), ['provider', 0], 'as long as a session of such a user lasts');
});

test('a system without such an account says so, and how one gets in', async (t) => {
  const { client, simulation } = await bench(t);
  await client.setUp();
  Object.defineProperty(simulation, 'ssh', { value: null });
  assert.equal((await client.get('/api/ssh-access')).body.available, false);
  const set = await client.put('/api/ssh-access', { enabledUntil: '2026-01-02T00:00:00Z', networks: ['own'] });
  assert.equal(set.status, 409);
  assert.match(set.body.detail, /cannot come in by ssh on this system/);
  assert.equal((await client.post('/api/ssh-keys', { key: newPublicKey() })).status, 409);
});

test('the first visit counts from the moment at which ssh was switched on', async (t) => {
  const all = await setUp(t);
  const { client, appliance, clock } = all;
  const settings = new Settings(appliance.db);
  assert.equal(settings.get(stored.visited), undefined);
  const began = clock.now();
  const set = await client.put('/api/ssh-access', { enabledUntil: inDays(all, 1), networks: ['own'] });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  const { since } = settings.get(stored.visited) ?? { since: '' };
  assert.ok(Date.parse(since) <= began, since);
});

test('what users did by ssh is in the audit log once, and a key knows when it was used', async (t) => {
  const { client, appliance, clock } = await bench(t);
  await client.setUp();
  const { db, audit, users, factors } = appliance;
  const settings = new Settings(db);
  const key = (await client.post('/api/ssh-keys', { key: newPublicKey() })).body;
  const asked: string[] = [];
  let answer: unknown;
  const supportd = {
    call: async ({ path }: { path: string }) => {
      asked.push(path);
      if (answer === null) throw new Error('away');
      const once = answer;
      answer = { ...(once as object), entries: [], more: false };
      return once;
    },
  } as unknown as Peer;
  const visits = new Visits({ db, settings, clock, audit, supportd, keys: new Keys({ db, clock, users, factors }) });
  await visits.read();
  assert.deepEqual(asked, [], 'nobody ever switched it on');
  visits.on();
  const entry = (action: string, command = '') => ({
    ...{
      time: '2026-01-01T00:00:05.123456Z',
      user: 'ada',
      address: '192.0.2.9',
      action,
      command,
      key: key.fingerprint,
    },
  });
  answer = { cursor: 'c2', more: true, entries: [entry('ssh.sign-in'), entry('ssh.run', 'zpool status')] };
  await visits.read();
  answer = { cursor: 'c4', more: false, entries: [entry('ssh.refuse', 'reboot'), entry('ssh.sign-out')] };
  await visits.read();
  answer = null;
  await visits.read();
  answer = { cursor: 'c5', more: false, entries: [entry('pool.destroy', 'tank')] };
  await visits.read();
  const found = (await client.get('/api/audit-log?way=ssh')).body.items;
  assert.deepEqual(
    found.map((one: Record<string, string>) => `${one.user} ${one.address} ${one.action} ${one.target}`),
    [
      'ada 192.0.2.9 ssh.sign-out ada',
      'ada 192.0.2.9 ssh.refuse reboot',
      'ada 192.0.2.9 ssh.run zpool status',
      'ada 192.0.2.9 ssh.sign-in ada',
    ],
  );
  assert.equal(found[0].time, '2026-01-01T00:00:05.123Z');
  assert.deepEqual(found[3].after, { fingerprint: key.fingerprint });
  assert.equal((await client.get('/api/ssh-keys')).body.items[0].lastUsedAt, '2026-01-01T00:00:05.123Z');
  const since = encodeURIComponent('2025-12-31T23:59:59.000Z');
  const later = encodeURIComponent('2026-01-01T00:00:05.123456Z');
  assert.deepEqual(asked, [
    ...[`/ssh-entries?cursor=&since=${since}`, `/ssh-entries?cursor=c2&since=${later}`],
    ...[`/ssh-entries?cursor=c2&since=${later}`, `/ssh-entries?cursor=c4&since=${later}`],
    `/ssh-entries?cursor=c4&since=${later}`,
  ]);
  assert.equal(settings.get(stored.visited)?.cursor, 'c4');
  // Long after its end nothing is started for it any more.
  clock.advance(601);
  await visits.read();
  assert.equal(asked.length, 5);
});

test('execd is asked in its own words', async () => {
  const asked: unknown[] = [];
  const peer = {
    call: async ({ path, json }: { path: string; json: unknown }) => {
      asked.push([path, json]);
      return path.endsWith('check-key') ? readKey(KEY) : { hostKey: readKey(KEY) };
    },
  } as unknown as Peer;
  const KEY = newPublicKey();
  const ssh = execdSsh(new Execd(peer));
  const access: SshAccess = {
    enabled: true,
    untilMs: 5,
    networks: ['192.0.2.0/24'],
    keys: [{ user: 'ada', key: KEY }],
  };
  assert.equal((await ssh.configure(access))?.fingerprint, readKey(KEY).fingerprint);
  assert.equal((await ssh.checkKey(KEY)).encoded, KEY.split(' ')[1]);
  assert.deepEqual(asked, [
    ['/v1/ssh.configure', access],
    ['/v1/ssh.check-key', { key: KEY }],
  ]);
});
