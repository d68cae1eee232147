import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import { diskAiling } from '../../storage/disks/alerts.ts';
import { poolDegraded, poolFaulted } from '../../storage/pools/alerts.ts';
import { matches } from './silences.ts';

const subject = {
  class: 'pool.degraded',
  severity: 'warning',
  key: 'pool.degraded/tank',
  title: 'Pool “tank” is degraded',
  labels: { pool: 'tank' },
} as const;

test('what a silence matches', () => {
  const all = { classes: [], severities: [], text: '' };
  assert.ok(matches(all, subject));
  assert.ok(matches({ ...all, classes: ['pool.*'] }, subject));
  assert.ok(matches({ ...all, classes: ['disk.ailing', 'pool.degraded'] }, subject));
  assert.ok(!matches({ ...all, classes: ['pool'] }, subject));
  assert.ok(!matches({ ...all, severities: ['critical'] }, subject));
  assert.ok(matches({ ...all, severities: ['critical', 'warning'] }, subject));
  assert.ok(matches({ ...all, text: 'DEGRADED/tank' }, subject));
  assert.ok(matches({ ...all, text: 'pool=tank' }, subject));
  assert.ok(!matches({ ...all, text: 'backup' }, subject));
  assert.ok(!matches({ classes: ['pool.*'], severities: ['warning'], text: 'other' }, subject));
});

/** Two destinations; nothing is really sent, the outbox says what would be. */
async function ready(t: Parameters<typeof bench>[0]): Promise<{ on: Bench; ids: string[] }> {
  const on = await bench(t);
  await on.client.setUp();
  const ids: string[] = [];
  for (const name of ['Mail', 'Pager']) {
    const email = { host: 'mail.test', port: 25, security: 'none', verifyCertificate: false };
    const body = { name, kind: 'email', enabled: false, email: { ...email, from: 'a@b.c', to: ['d@e.f'] } };
    const { body: made } = await on.client.post('/api/destinations', body);
    ids.push(made.id);
    // Switched on beside the API: there is no journal in this test.
    on.appliance.db.run('UPDATE destinations SET enabled = 1 WHERE id = ?', made.id);
  }
  return { on, ids };
}

const pool = (name: string) => ({ pool: name, sentence: 'Degraded.', system: false, telemetry: false });
const degraded = ({ appliance }: Bench, name = 'tank') =>
  appliance.alerts.raise({ kind: poolDegraded, args: pool(name) }) as string;

/** Who was notified of what, in order, as "raise Mail". */
const notified = ({ appliance }: Bench, id: string) =>
  appliance.alerts.get(id).deliveries.map((one) => `${one.event} ${one.destinationName}`);
const kinds = ({ appliance }: Bench, id: string) => appliance.alerts.get(id).history.map(({ kind }) => kind);

const silence = (on: Bench, change: object = {}) => {
  const now = on.clock.now() / 1000;
  return { name: 'New shelf', start: now, end: now + 3600, classes: [], severities: [], text: '', ...change };
};

test('a silence holds back what matches, says so, and what is still active is sent when it ends', async (t) => {
  const { on } = await ready(t);
  const before = degraded(on, 'old');
  const { status, body: made } = await on.client.post('/api/silences', silence(on, { classes: ['pool.*'] }));
  assert.equal(status, 201);
  assert.equal(made.active, 1, 'what is active already counts');
  const staying = degraded(on, 'tank');
  const passing = degraded(on, 'brief');
  const other = on.appliance.alerts.raise({
    kind: diskAiling,
    args: { device: 'sda', words: 'A', complaint: 'It is hot.' },
  }) as string;
  assert.deepEqual(notified(on, staying), []);
  assert.deepEqual(notified(on, other), ['raise Mail', 'raise Pager'], 'another class goes out');
  on.appliance.alerts.clear(passing);
  on.appliance.alerts.clear(before);
  assert.deepEqual(notified(on, before), ['raise Mail', 'raise Pager'], 'its all-clear is suppressed');
  const shown = (await on.client.get(`/api/alerts/${staying}`)).body;
  assert.equal(shown.silence.name, 'New shelf');
  assert.match(shown.history[0].text, /suppressed by the silence “New shelf”/);
  const [listed] = (await on.client.get('/api/silences')).body.items;
  assert.deepEqual([listed.state, listed.active, listed.suppressed], ['acting', 1, 4]);

  on.clock.advance(3599);
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, staying), []);
  on.clock.advance(1);
  on.appliance.alerts.tick();
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, staying), ['raise Mail', 'raise Pager']);
  assert.deepEqual(kinds(on, staying), ['suppressed', 'released']);
  assert.deepEqual(notified(on, passing), [], 'what came and went meanwhile is only in the log');
  assert.deepEqual(notified(on, before), ['raise Mail', 'raise Pager', 'clear Mail', 'clear Pager']);
  assert.equal((await on.client.get('/api/silences')).body.items[0].state, 'ended');
});

test('ended by hand, ended while akd was down, one silence after the other', async (t) => {
  const { on } = await ready(t);
  const { body: first } = await on.client.post('/api/silences', silence(on));
  const { body: second } = await on.client.post('/api/silences', silence(on, { name: 'Longer', text: 'tank' }));
  const [tank, other] = [degraded(on, 'tank'), degraded(on, 'other')];
  assert.equal((await on.client.post(`/api/silences/${first.id}/end`)).body.state, 'ended');
  assert.deepEqual(notified(on, other), ['raise Mail', 'raise Pager']);
  assert.deepEqual(notified(on, tank), [], 'the other one still silences it');
  assert.equal((await on.client.post(`/api/silences/${first.id}/end`)).status, 409);
  on.clock.advance(7200);
  const again = await on.restart();
  again.appliance.alerts.tick();
  assert.deepEqual(notified(again, tank), ['raise Mail', 'raise Pager'], second.name);
});

test('a maintenance window that has not begun holds nothing back', async (t) => {
  const { on } = await ready(t);
  const now = on.clock.now() / 1000;
  await on.client.post('/api/silences', silence(on, { start: now + 600, end: now + 1200 }));
  assert.equal((await on.client.get('/api/silences')).body.items[0].state, 'waiting');
  assert.equal(notified(on, degraded(on, 'early')).length, 2);
  on.clock.advance(700);
  assert.equal(notified(on, degraded(on, 'within')).length, 0);
});

test('a silence that makes no sense is refused, naming the field', async (t) => {
  const { on } = await ready(t);
  const now = on.clock.now() / 1000;
  const wrong = async (change: object) => {
    const { status, body } = await on.client.post('/api/silences', silence(on, change));
    assert.equal(status, 400);
    return body.errors[0].path;
  };
  assert.equal(await wrong({ end: now - 1, start: now - 10 }), '/end');
  assert.equal(await wrong({ end: now }), '/end');
  assert.equal(await wrong({ end: now + 500 * 86_400 }), '/end');
  assert.equal(await wrong({ end: undefined }), '/end');
  assert.equal(await wrong({ classes: ['nothing.like.it'] }), '/classes/0');
  assert.deepEqual((await on.client.get('/api/silences')).body.items, []);
});

test('acknowledging: who, when, a note; it stops escalation, and can be withdrawn', async (t) => {
  const { on, ids } = await ready(t);
  const route = { muted: false, destinations: [ids[0]], escalation: { afterSeconds: 600, destinations: [ids[1]] } };
  assert.equal((await on.client.put('/api/alert-classes/pool.degraded', route)).status, 200);
  const [seen, ignored, cleared] = [degraded(on, 'a'), degraded(on, 'b'), degraded(on, 'c')];
  assert.deepEqual(notified(on, seen), ['raise Mail']);
  assert.equal(on.appliance.alerts.get(seen).routedBy, 'The routing of the class pool.degraded');
  on.clock.advance(300);
  const { body } = await on.client.post(`/api/alerts/${seen}/acknowledge`, { note: 'New disk is on its way' });
  assert.deepEqual(
    [body.acknowledged.by, body.acknowledged.note, body.acknowledged.at, body.escalatesAt],
    ['ada', 'New disk is on its way', '2026-01-01T00:05:00.000Z', null],
  );
  on.appliance.alerts.clear(cleared);
  on.clock.advance(299);
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, ignored), ['raise Mail']);
  on.clock.advance(1);
  on.appliance.alerts.tick();
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, seen), ['raise Mail']);
  assert.deepEqual(notified(on, cleared), ['raise Mail', 'clear Mail']);
  assert.deepEqual(notified(on, ignored), ['raise Mail', 'escalate Pager']);
  assert.match(on.appliance.alerts.get(ignored).history[0]?.text ?? '', /Not acknowledged in time: sent to Pager/);
  on.appliance.alerts.clear(ignored);
  assert.deepEqual(notified(on, ignored), ['raise Mail', 'escalate Pager', 'clear Mail', 'clear Pager']);

  on.appliance.alerts.repost(seen, 1, 'again');
  assert.deepEqual(notified(on, seen), ['raise Mail'], 'not repeated while somebody is on it');
  assert.equal((await on.client.post(`/api/alerts/${seen}/withdraw-acknowledgement`)).body.acknowledged, null);
  on.appliance.alerts.repost(seen, 1, 'again');
  assert.deepEqual(notified(on, seen), ['raise Mail', 'repost Mail']);
  assert.equal((await on.client.post(`/api/alerts/${ignored}/acknowledge`, { note: '' })).status, 409);
});

test('an escalation waits for the end of a silence', async (t) => {
  const { on, ids } = await ready(t);
  const route = { muted: false, destinations: [ids[0]], escalation: { afterSeconds: 600, destinations: [ids[1]] } };
  await on.client.put('/api/alert-classes/pool.degraded', route);
  const id = degraded(on);
  await on.client.post('/api/silences', silence(on));
  on.clock.advance(1000);
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, id), ['raise Mail']);
  on.clock.advance(3000);
  on.appliance.alerts.tick();
  assert.deepEqual(notified(on, id), ['raise Mail', 'escalate Pager']);
});

test('the catalogue: every class, where it goes; muted ones are only logged, removed destinations lose nothing', async (t) => {
  const { on, ids } = await ready(t);
  const { items } = (await on.client.get('/api/alert-classes')).body;
  const faulted = items.find((kind: { class: string }) => kind.class === 'pool.faulted');
  assert.deepEqual(
    [faulted.severities, faulted.muted, faulted.destinations, faulted.active],
    [['critical'], false, [], 0],
  );
  assert.match(faulted.title, /Pool “tank” is faulted/);
  await on.client.put('/api/alert-classes/pool.degraded', { muted: true, destinations: [], escalation: null });
  const muted = degraded(on);
  assert.deepEqual(notified(on, muted), []);
  assert.deepEqual(kinds(on, muted), ['muted']);
  on.appliance.alerts.clear(muted);
  assert.deepEqual(notified(on, muted), []);

  await on.client.put('/api/alert-classes/pool.faulted', { muted: false, destinations: [ids[1]], escalation: null });
  on.appliance.db.run('DELETE FROM destinations WHERE id = ?', ids[1] as string);
  const id = on.appliance.alerts.raise({ kind: poolFaulted, args: pool('x') }) as string;
  assert.deepEqual(notified(on, id), ['raise Mail']);

  const { status, body } = await on.client.put('/api/alert-classes/pool.faulted', {
    ...{ muted: false, destinations: ['dst-gone'], escalation: null },
  });
  assert.deepEqual([status, body.errors[0].path], [400, '/destinations/0']);
  assert.equal((await on.client.put('/api/alert-classes/no.such', { ...faulted, muted: false })).status, 400);
});

test('the log: filters, and the same as CSV and JSON', async (t) => {
  const { on } = await ready(t);
  const tank = degraded(on, 'tank');
  on.clock.advance(60);
  on.appliance.alerts.raise({
    kind: diskAiling,
    args: { device: '=cmd|x', words: 'of "A", hot', complaint: 'It is 100% hot.' },
  });
  on.appliance.alerts.clear(tank);
  const count = async (query: string) => (await on.client.get(`/api/alerts?${query}`)).body.items.length;
  assert.equal(await count(''), 1);
  assert.equal(await count('state=all'), 2);
  assert.equal(await count('state=all&class=pool.*'), 1);
  assert.equal(await count('state=all&class=pool.degraded'), 1);
  assert.equal(await count('state=all&class=p_ol*'), 0);
  assert.equal(await count('state=all&severity=warning'), 2);
  assert.equal(await count('state=all&severity=critical&severity=info'), 0);
  assert.equal(await count('state=all&search=100%25'), 1);
  assert.equal(await count('state=all&search=%25tank%25'), 0);
  assert.equal(await count('state=all&search=TANK'), 1);
  const from = Date.UTC(2026, 0, 1) / 1000;
  assert.equal(await count(`state=all&from=${from + 60}`), 1);
  assert.equal(await count(`state=all&to=${from + 60}`), 1);

  const cookie = [...on.client.cookies].map((pair) => pair.join('=')).join('; ');
  const get = async (query: string) =>
    on.appliance.app.inject({ method: 'GET', url: `/api/alert-export?${query}`, headers: { cookie, host: 'x' } });
  const csv = await get('format=csv');
  assert.match(String(csv.headers['content-disposition']), /alerts\.csv/);
  const lines = csv.body.split('\r\n');
  assert.equal(lines.length, 4);
  assert.match(lines[0] as string, /^id,class,severity,state,raised,cleared,title/);
  assert.match(
    lines[1] as string,
    /disk\.ailing,warning,active,2026-01-01T00:01:00\.000Z,,"Disk of ""A"", hot is not well"/,
  );
  assert.equal(JSON.parse((await get('format=json')).body).items.length, 2);
  assert.equal(JSON.parse((await get('format=json&class=no')).body).items.length, 0);
  assert.equal((await get('format=xml')).statusCode, 400);
  // What is described is what is sent: the same list as of /api/alerts.
  const { paths } = (await on.client.get('/api/openapi.json')).body;
  const described = (path: string) => paths[path].get.responses['200'].content['application/json'].schema;
  assert.deepEqual(described('/api/alert-export'), described('/api/alerts'));
});
