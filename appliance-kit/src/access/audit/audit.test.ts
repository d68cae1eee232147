import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { allSteps } from '../../appliance.ts';
import type { Peer } from '../../peers/peer.ts';
import { Database } from '../../state/database.ts';
import { Settings } from '../../state/settings.ts';
import { verify } from '../audit-chain/verify.ts';
import { Audit } from './audit.ts';
import { canonical, GENESIS, hashOf, type Stored } from './chain.ts';
import { takeOver } from './handed-in.ts';
import { GATHER_MS, MOST } from './repetitions.ts';
import type { AuditEntry } from './schema.ts';

const by = { name: 'ada', address: '192.0.2.7', way: 'page' } as const;
const items = async (on: Bench, query = '') => (await on.client.get(`/api/audit-log${query}`)).body.items;

const newestOf = (audit: Audit) => audit.latest(1)[0] as AuditEntry;

/** An export is no JSON document: asked for as it is. */
async function file(on: Bench, query: string): Promise<string> {
  const cookie = [...on.client.cookies].map((pair) => pair.join('=')).join('; ');
  const headers = { host: 'cistern.test', cookie, 'x-forwarded-for': '192.0.2.7' };
  const answer = await on.appliance.app.inject({ method: 'GET', url: `/api/audit-export?${query}`, headers });
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.body;
}

test('what is hashed is what docs/FORMATS.md says, byte by byte', () => {
  const entry: Stored = {
    id: 17,
    time: Date.UTC(2026, 0, 1, 2, 3, 4, 567),
    ...{ user: 'ada', address: '192.0.2.7', way: 'page' as const, action: 'threshold.update', target: 'Größe' },
    before_json: '{"raise":10}',
    after_json: null,
  };
  const text = canonical(GENESIS, entry);
  const hash = hashOf(GENESIS, entry);
  const formats = readFileSync(join(import.meta.dirname, '../../../../docs/FORMATS.md'), 'utf8');
  assert.ok(formats.includes(`\n${text}`), text);
  assert.ok(formats.includes(hash), hash);
});

test('an entry says by which way it came about', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { body } = await on.client.post('/api/tokens', { name: 'robot', role: 'administrator' });
  const authorization = `Bearer ${body.token}`;
  const program = new Client(on.appliance);
  const make = (name: string, headers: Record<string, string>) =>
    program.post('/api/tokens', { name, role: 'viewer' }, { headers: { authorization, ...headers } });
  await make('a', {});
  await make('b', { 'user-agent': 'cistern' });
  await make('c', { 'x-forwarded-for': '' });
  const found = (await items(on, '?action=token.create')).map(({ way, user }: { way: string; user: string }) => [
    way,
    user,
  ]);
  assert.deepEqual(found, [
    ['console', 'token:robot'],
    ['cli', 'token:robot'],
    ['token', 'token:robot'],
    ['page', 'ada'],
  ]);
});

test('refusals of who is known are recorded once and then counted; a stranger’s are not', async (t) => {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  const { body } = await on.client.post('/api/tokens', { name: 'looker', role: 'viewer' });
  const headers = { authorization: `Bearer ${body.token}` };
  const viewer = new Client(on.appliance);
  for (const name of ['bob', 'eve', 'bob']) {
    assert.equal((await viewer.delete(`/api/users/${name}`, { headers })).body.code, 'forbidden');
  }
  assert.equal((await new Client(on.appliance).get('/api/users')).status, 401);
  // nginx asks about a write that a viewer may not make; what may be a secret in the path is left out.
  const asked = { ...headers, 'x-original-method': 'POST', 'x-original-uri': '/api/v1/trap/s3cret?x=1' };
  assert.equal((await viewer.get('/internal/authorize', { headers: asked })).status, 403);
  const [store, first, ...rest] = await items(on, '?action=request.refused');
  assert.deepEqual(rest, []);
  assert.deepEqual(
    [first.user, first.target, first.after.problem],
    ['token:looker', 'DELETE /api/users/:name', 'forbidden'],
  );
  assert.equal(store.target, 'POST /api/v1/trap');
  assert.ok(!JSON.stringify(store).includes('s3cret'));
  on.clock.advance(GATHER_MS / 1000);
  on.appliance.audit.recordCounted();
  const [counted] = await items(on, '?action=request.refused');
  assert.deepEqual([counted.user, counted.target], ['token:looker', 'DELETE /api/users/:name']);
  assert.equal(counted.after.repeated.times, 2);
});

test('nobody fills the log with refusals, and a stranger does not hide those of who is known', async (t) => {
  const on = await bench(t);
  const { audit } = on.appliance;
  for (let n = 0; n < 10 * MOST; n++) {
    audit.recordRepeated(
      { name: '', address: `2001:db8::${n}`, way: 'page' },
      'session.refused',
      'an unknown name',
      null,
    );
  }
  audit.recordRepeated(by, 'request.refused', 'GET /api/users', null);
  assert.equal(audit.count(), MOST + 1);
  audit.recordCounted(true);
  const last = newestOf(audit);
  assert.deepEqual([last.user, last.target], ['-', 'several, counted together']);
  const { repeated } = last.after as { repeated: { times: number } };
  assert.equal(repeated.times, 9 * MOST);
  assert.equal(audit.count(), MOST + 2);
});

test('a name that is no user’s is not written down: it may be a password', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  await on.client.post('/api/session', { user: PASSWORD, password: 'ada' });
  await on.client.post('/api/session', { user: 'ada', password: 'wrong' });
  const found = await items(on, '?action=session.refused');
  assert.deepEqual(
    found.map(({ target }: { target: string }) => target),
    ['ada', 'an unknown name'],
  );
  assert.ok(!JSON.stringify(await items(on)).includes(PASSWORD));
});

test('secrets are masked, and what is very long is described', async (t) => {
  const { audit } = (await bench(t)).appliance;
  const secrets = {
    newPassword: 'c4n4ry',
    bearerToken: 'c4n4ry',
    nested: [{ apiKey: 'c4n4ry', authorization: 'c4n4ry' }],
  };
  audit.record(by, 'x.y', 'z', secrets, { text: 'x'.repeat(100_000) });
  const entry = newestOf(audit);
  assert.ok(!JSON.stringify(entry).includes('c4n4ry'));
  const { tooLong } = entry.after as { tooLong: { bytes: number; beginning: string } };
  assert.equal(tooLong.bytes, 100_011);
  assert.ok(JSON.stringify(entry).length < 10_000);
  // Control characters would forge lines where lines are read.
  audit.record({ ...by, name: 'a\nb' }, 'x.y', 'one\u0000two\nthree');
  assert.deepEqual([newestOf(audit).user, newestOf(audit).target], ['a b', 'one two three']);
});

test('the log is found by every field, by time and by text, page by page', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { audit } = on.appliance;
  for (let n = 0; n < 1_200; n++) {
    on.clock.advance(1);
    const name = n % 3 === 0 ? 'bob' : 'eve';
    const way = n % 2 === 0 ? 'cli' : 'page';
    audit.record({ name, address: `10.0.0.${n % 5}`, way }, `thing.verb${n % 4}`, `target ${n}`, null, {
      n,
      note: '50%_\\',
    });
  }
  const total = 1_200;
  const count = async (query: string) => (await items(on, `?limit=1000&${query}`)).length;
  assert.equal(await count('user=bob'), total / 3);
  assert.equal(await count('action=thing.verb1'), total / 4);
  assert.equal(await count('action=thing.&user=eve'), 800);
  assert.equal(await count('target=target%207'), 1);
  assert.equal(await count('address=10.0.0.3&way=cli'), total / 10);
  const seconds = on.clock.now() / 1000;
  assert.equal(await count(`from=${seconds - 9}&to=${seconds}`), 9);
  assert.equal(await count('search=TARGET%20119'), 11);
  assert.equal(await count(`search=${encodeURIComponent('50%_')}&user=bob`), total / 3);
  assert.equal(
    await count(`search=${encodeURIComponent('5_%')}`),
    0,
    'what LIKE would take for any text is taken as it is',
  );
  const first = await items(on, '?user=bob&limit=150');
  const second = await items(on, `?user=bob&limit=250&before=${first.at(-1).id}`);
  const third = await items(on, `?user=bob&limit=250&before=${second.at(-1).id}`);
  const ids = [...first, ...second, ...third].map(({ id }) => id);
  assert.equal(new Set(ids).size, total / 3);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  );
  assert.equal((await on.client.get('/api/audit-log?way=elsewhere')).body.code, 'invalid_request');
});

test('an export is the whole filter, oldest first, safe in a spreadsheet, and recorded', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  on.appliance.audit.record(by, 'x.y', '=HYPERLINK("http://x")', null, { note: 'a, "b"' });
  for (let n = 0; n < 1_100; n++) on.appliance.audit.record(by, 'x.z', `t${n}`);
  const lines = (await file(on, 'format=jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const all = lines.map(({ id }) => id);
  assert.deepEqual(
    all,
    all.map((_, at) => at + 1),
  );
  // What is exported is enough to verify it elsewhere.
  const { audit } = on.appliance;
  assert.equal(lines.at(-1).hash, audit.hashAt(lines.length));
  const csv = (await file(on, 'format=csv&action=x.y')).split('\r\n');
  assert.equal(csv[0], 'id,time,user,address,way,action,target,before,after,hash');
  assert.equal(csv.length, 3);
  assert.match(
    csv[1] as string,
    /,x\.y,"'=HYPERLINK\(""http:\/\/x""\)",,"\{""note"":""a, \\""b\\""""\}",[0-9a-f]{64}$/,
  );
  const [second, first] = await items(on, '?action=audit.export');
  assert.deepEqual([first.target, first.after], ['jsonl', null]);
  assert.deepEqual([second.target, second.after], ['csv', { action: 'x.y' }]);
});

test('the oldest are dropped by number and by age, counted, and what is left still verifies', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { audit, db } = on.appliance;
  const before = audit.lastGiven();
  for (let n = 0; n < 100; n++) {
    on.clock.advance(86_400);
    audit.record(by, 'x.y', `t${n}`);
  }
  assert.equal(audit.drop(0, 80, 7), 7, 'a few at a time');
  while (audit.drop(0, 80, 7) > 0);
  assert.equal(audit.count(), 80);
  assert.equal(audit.anchor()?.dropped, before + 20);
  assert.equal(audit.anchor()?.hash.length, 64);
  while (audit.drop(on.clock.now() - 10 * 86_400_000, 80, 500) > 0);
  assert.equal(audit.count(), 11);
  assert.deepEqual((await verify(audit)).damages, []);
  // The newest is kept however old it is, and what follows is chained to it.
  on.clock.advance(1_000 * 86_400);
  while (audit.drop(on.clock.now(), 80, 500) > 0);
  assert.equal(audit.count(), 1);
  audit.record(by, 'x.y', 'after');
  assert.deepEqual((await verify(audit)).damages, []);
  assert.equal(db.get('SELECT dropped FROM audit_anchor')?.dropped, before + 99);
});

test('the settings are held, changed with the password, and recorded', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  assert.deepEqual((await on.client.get('/api/audit-retention')).body, {
    ...{ days: 730, entries: 500_000 },
    etag: (await on.client.get('/api/audit-retention')).body.etag,
  });
  on.clock.advance(600);
  on.client.password = null;
  const wanted = { days: 365, entries: 20_000 };
  assert.equal((await on.client.put('/api/audit-retention', wanted)).body.code, 'confirmation_required');
  on.client.password = PASSWORD;
  assert.equal((await on.client.put('/api/audit-retention', wanted)).status, 200);
  assert.equal(
    (await on.client.put('/api/audit-retention', { days: 1, entries: 20_000 })).body.code,
    'invalid_request',
  );
  const [entry] = await items(on, '?limit=1');
  assert.deepEqual([entry.action, entry.before.days, entry.after.days], ['audit-retention.set', 730, 365]);
});

test('entries from before there was a chain are chained when the database is taken over', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const name = join(directory, 'state.db');
  copyFileSync(new URL('../../../tests/golden/6/state.db', import.meta.url), name);
  const old = new DatabaseSync(name);
  old.exec('BEGIN');
  const insert = old.prepare('INSERT INTO audit (time, user, address, action, target) VALUES (?, ?, ?, ?, ?)');
  for (let n = 0; n < 2_500; n++) insert.run(n, n % 2 ? 'token:robot' : 'appliance', 'local', 'x.y', `t${n}`);
  old.exec('COMMIT');
  const rows = Number(old.prepare('SELECT count(*) AS n FROM audit').get()?.n);
  old.close();
  const db = new Database(name, allSteps);
  t.after(() => db.close());
  const audit = new Audit(db, { now: () => 0, monotonic: () => 0 }, { publish: () => {} } as never);
  const found = await verify(audit);
  assert.deepEqual([found.entries, found.damages], [rows, []]);
  assert.deepEqual(
    audit.latest(2).map(({ way }) => way),
    ['token', 'appliance'],
  );
  audit.record(by, 'x.y', 'afterwards');
  assert.deepEqual((await verify(audit)).damages, []);
});

test('what was done at supportd’s page is taken over once, with the time it was done', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { audit, db } = on.appliance;
  const settings = new Settings(db);
  let answer: unknown;
  const asked: string[] = [];
  const supportd = {
    call: async ({ path }: { path: string }) => {
      asked.push(path);
      if (answer === null) throw new Error('away');
      return answer;
    },
  } as unknown as Peer;
  const take = () => takeOver({ db, settings, clock: on.clock, audit, supportd });
  const entry = (number: number, action = 'support.sign-in') => ({
    ...{ number, time: '2025-12-31T23:00:00.5Z', user: 'ada', address: '192.0.2.9', action, target: 'ada' },
  });
  answer = { log: 'a', dropped: 0, entries: [entry(1, 'support.refused'), entry(2)] };
  await take();
  answer = { log: 'a', dropped: 0, entries: [] };
  await take();
  answer = null;
  await take();
  answer = { log: 'a', dropped: 3, entries: [entry(6)] };
  await take();
  // It had to begin anew.
  answer = { log: 'b', dropped: 0, entries: [entry(1)] };
  await take();
  answer = { log: 'b', dropped: 0, entries: [{ ...entry(2), action: 'pool.destroy' }] };
  await take();
  const found = await items(on, '?way=support');
  assert.deepEqual(
    found.map(({ action, user }: { action: string; user: string }) => `${user} ${action}`),
    [
      'ada support.sign-in',
      'ada support.sign-in',
      'appliance support.dropped',
      'ada support.sign-in',
      'ada support.refused',
    ],
  );
  assert.equal(found[0].time, '2025-12-31T23:00:00.500Z');
  assert.deepEqual(found[2].after, { entries: 3 });
  assert.deepEqual(asked, [
    ...['/audit-entries?log=&after=0', '/audit-entries?log=a&after=2', '/audit-entries?log=a&after=2'],
    ...['/audit-entries?log=a&after=2', '/audit-entries?log=a&after=6', '/audit-entries?log=b&after=1'],
  ]);
  assert.deepEqual((await verify(audit)).damages, []);
});
