import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { smtp } from '../../../tests/smtp.ts';
import { storaged } from '../../../tests/storaged.ts';
import { diskAiling } from '../../storage/disks/alerts.ts';
import { thresholdExceeded } from '../thresholds/alerts.ts';

const rule = {
  ...{ name: 'Every gauge', expression: 'load', direction: 'above', raise: 8, clear: 6, severity: 'warning' },
  ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
};

async function setUp(t: TestContext): Promise<Bench> {
  const on = await bench(t, {
    start: true,
    cistern: program('cistern'),
    gatherMs: 20,
    bursts: { many: 5, quietMs: 100, maxMs: 2_000, afterMs: 100 },
  });
  // The store's samples are of now.
  on.clock.step(Math.round((Date.now() - on.clock.now()) / 1000));
  await on.client.setUp();
  // The step is an alert of its own, which is no part of what follows.
  const stepped = "SELECT count(*) AS n FROM alerts WHERE class = 'clock.stepped'";
  await eventually(() => assert.equal(on.appliance.db.get(stepped)?.n, 1), 20_000);
  return on;
}

const args = (n: number, version = 'v3') => ({
  ...({ ruleId: 'th-1', ruleName: 'Egress', severity: 'warning', direction: 'above', expression: 'egress' } as const),
  ...{ value: 9, limit: 8, unit: '', labels: { host: `h${n}`, version }, seriesKey: `[["host","h${n}"]]` },
});

function raise({ appliance }: Bench, from: number, to: number, severity: 'warning' | 'critical' = 'warning'): string[] {
  return appliance.db.transaction(() =>
    Array.from({ length: to - from }, (_, at) => {
      const given = { ...args(from + at), severity };
      const request = { kind: thresholdExceeded, args: given, ruleId: 'th-1', ruleName: 'Egress', value: 9, limit: 8 };
      return appliance.alerts.raise(request) as string;
    }),
  );
}

test('a burst of a rule is one group and one mail, which say how many of how many and what they have in common', async (t) => {
  const on = await setUp(t);
  const store = await storaged(t, on);
  const mailbox = await smtp(t);
  const server = { host: '127.0.0.1', port: mailbox.port, security: 'none', verifyCertificate: false };
  const people = { from: 'a@example.org', to: ['b@example.org'] };
  await on.client.post('/api/destinations', {
    name: 'Mail',
    kind: 'email',
    enabled: true,
    email: { ...server, ...people },
  });
  const gauges = Array.from({ length: 1650 }, (_, n) => ({
    name: 'load',
    labels: { host: `h${n}`, version: n < 1010 ? 'v3' : 'v2' },
    value: n < 998 ? 9 : 5,
  }));
  await store.import(gauges);
  await on.client.post('/api/thresholds', rule);
  const group = await eventually(async () => {
    await on.appliance.thresholds.evaluate();
    const { items } = (await on.client.get('/api/alert-groups')).body;
    assert.equal(items[0]?.total, 998);
    return items[0];
  }, 30_000);
  assert.equal(group.title, 'Every gauge: 998 of 1,650 series');
  assert.equal(group.text, 'All have version=v3; so do 12 of the 652 other series.');
  assert.deepEqual([group.of, group.active, group.acknowledged, group.cleared, group.alert], [1650, 998, 0, 0, null]);

  await eventually(() => assert.equal(mailbox.letters.length, 1), 20_000);
  const content = (mailbox.letters[0]?.content ?? '').replace(/=\r\n/g, '').replace(/=3D/g, '=');
  assert.match(content, /^Subject: \[.*\] Warning: Every gauge: 998 of 1,650 series\r$/m);
  assert.match(content, /All have version=v3; so do 12 of the 652 other series\./);
  assert.equal([...(content.split('<html')[0] ?? '').matchAll(/ raised: Every gauge \(/g)].length, 10);
  assert.match(content, /and 988 more/);
  assert.ok(content.includes(`/alerts/${group.id}`));

  // Long after it, when the others have changed, it still says what was so.
  on.clock.advance(20);
  on.appliance.alerts.tick();
  await store.import(gauges.map((one) => ({ ...one, value: 5 })));
  await eventually(async () => {
    await on.appliance.thresholds.evaluate();
    const { state, cleared, text } = (await on.client.get(`/api/alert-groups/${group.id}`)).body;
    assert.deepEqual([state, cleared, text], ['cleared', 998, group.text]);
  }, 30_000);
  // Nothing is lost for it: each alert is in the log, and was sent.
  const { db } = on.appliance;
  await eventually(() => {
    const open = db.get("SELECT count(*) AS n FROM deliveries WHERE state != 'delivered'")?.n;
    assert.equal(open, 0);
    const sent = db.all(
      'SELECT class, event, count(*) AS n FROM deliveries JOIN alerts ON id = alert_id GROUP BY class, event ORDER BY n, event',
    );
    assert.deepEqual(
      sent.map((one) => [one.class, one.event, one.n]),
      [
        ['threshold.exceeded', 'clear', 998],
        ['threshold.exceeded', 'raise', 998],
      ],
    );
  }, 20_000);
  assert.equal(mailbox.letters.length, 2);
});

test('later alerts join a group within a minute; after that another begins. It stays the same when all have cleared', async (t) => {
  const on = await setUp(t);
  const groups = async (query = '') => (await on.client.get(`/api/alert-groups${query}`)).body.items;
  const ids = raise(on, 0, 3);
  on.clock.advance(50);
  raise(on, 3, 5, 'critical');
  on.appliance.alerts.raise({ kind: diskAiling, args: { device: 'sda', words: 'Disk', complaint: 'It is hot.' } });
  const [disk, first] = await groups();
  assert.deepEqual([first.total, first.severity, first.title], [5, 'critical', 'Egress: 5 series']);
  assert.deepEqual([disk.total, disk.alert.class, disk.title], [1, 'disk.ailing', disk.alert.title]);
  assert.equal((await on.client.get(`/api/alerts/${ids[0]}`)).body.groupId, first.id);

  on.clock.advance(61);
  raise(on, 5, 7);
  assert.deepEqual(
    (await groups()).map(({ total }: { total: number }) => total),
    [2, 1, 5],
  );
  assert.deepEqual(
    (await groups(`?limit=1&before=${disk.id}`)).map(({ id }: { id: string }) => id),
    [first.id],
  );
  for (const { id } of on.appliance.alerts.activeOfClass('threshold.exceeded')) on.appliance.alerts.clear(id);
  assert.deepEqual((await groups()).length, 1);
  const log = await groups('?state=all&search=h3');
  assert.deepEqual(
    [log.length, log[0].id, log[0].total, log[0].matching, log[0].state],
    [1, first.id, 5, 1, 'cleared'],
  );
  assert.equal((await on.client.get('/api/alert-groups/bu-nothing')).status, 404);
});

test('a rule that goes on raising for hours is not one group for ever', async (t) => {
  const on = await setUp(t);
  for (let n = 0; n < 130; n++) {
    raise(on, n, n + 1);
    on.clock.advance(30);
  }
  const { items } = (await on.client.get('/api/alert-groups')).body;
  assert.deepEqual(
    items.map(({ total }: { total: number }) => total),
    [9, 121],
  );
});

test('the members are paged: active ones first, the worst of these before', async (t) => {
  const on = await setUp(t);
  const ids = raise(on, 0, 120);
  raise(on, 120, 121, 'critical');
  on.appliance.alerts.clear(ids[0] as string);
  const [{ id }] = (await on.client.get('/api/alert-groups')).body.items;
  const page = async (query: string) => (await on.client.get(`/api/alert-groups/${id}/alerts?${query}`)).body;
  const first = await page('limit=50');
  assert.deepEqual([first.total, first.items.length, first.items[0].severity], [121, 50, 'critical']);
  const last = await page('limit=50&offset=100');
  assert.deepEqual([last.items.length, last.items.at(-1).state], [21, 'cleared']);
  assert.equal((await page('state=active')).total, 120);
  assert.deepEqual(
    (await page('search=h17')).items.map(({ labels }: { labels: object }) => labels),
    [{ host: 'h17', version: 'v3' }],
  );
});

test('the whole group is acknowledged, withdrawn and silenced by one request each', async (t) => {
  const on = await setUp(t);
  const { client } = on;
  const ids = raise(on, 0, 40);
  await client.post(`/api/alerts/${ids[0]}/acknowledge`, { note: 'mine' });
  const [{ id }] = (await client.get('/api/alert-groups')).body.items;
  const { body: done } = await client.post(`/api/alert-groups/${id}/acknowledge`, { note: 'all of them' });
  assert.deepEqual([done.active, done.acknowledged], [40, 40]);
  const noteOf = async (one: string) => (await client.get(`/api/alerts/${one}`)).body.acknowledged?.note;
  assert.deepEqual([await noteOf(ids[0] as string), await noteOf(ids[39] as string)], ['mine', 'all of them']);
  assert.equal((await client.post(`/api/alert-groups/${id}/acknowledge`, { note: '' })).status, 409);
  const withdrawn = (await client.post(`/api/alert-groups/${id}/withdraw-acknowledgement`)).body;
  assert.equal(withdrawn.acknowledged, 0);
  const { history } = (await client.get(`/api/alerts/${ids[39]}`)).body;
  assert.deepEqual(
    history.map((one: { kind: string }) => one.kind),
    ['acknowledged', 'withdrawn'],
  );

  const end = Math.floor(on.clock.now() / 1000) + 3600;
  const silence = await client.post(`/api/alert-groups/${id}/silence`, { name: 'Known', end });
  assert.equal(silence.status, 200);
  assert.deepEqual(
    [silence.body.classes, silence.body.text, silence.body.active],
    [['threshold.exceeded'], 'th-1', 40],
  );
  assert.equal((await client.get(`/api/alert-groups/${id}`)).body.silence.name, 'Known');
  const { items } = (await client.get('/api/audit-log')).body;
  const actions = items.map(({ action }: { action: string }) => action);
  assert.equal(actions.filter((action: string) => action === 'alert-group.acknowledge').length, 1);
  assert.ok(actions.includes('silence.create'));
});

test('what has not changed is not sent again; counts and the worst groups are in the summary', async (t) => {
  const on = await setUp(t);
  const { client } = on;
  raise(on, 0, 30);
  on.appliance.alerts.raise({ kind: diskAiling, args: { device: 'sda', words: 'Disk', complaint: 'It is hot.' } });
  const summary = await client.get('/api/alert-summary');
  const { warning, critical, groups, worst } = summary.body;
  assert.deepEqual([warning + critical, groups, worst.length], [31, 2, 2]);
  for (const path of ['/api/alert-summary', '/api/alert-groups', `/api/alert-groups/${worst[0].id}/alerts`]) {
    const first = await client.get(path);
    const again = await client.request('GET', path, undefined, {
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    assert.deepEqual([again.status, again.body], [304, undefined], path);
  }
  raise(on, 30, 31);
  const known = { headers: { 'if-none-match': String(summary.headers.etag) } };
  const changed = await client.request('GET', '/api/alert-summary', undefined, known);
  assert.deepEqual([changed.status, changed.body.warning + changed.body.critical], [200, 32]);
});

test('looking for an active alert reads the active ones, however long the log is', async (t) => {
  const on = await setUp(t);
  const cleared = raise(on, 0, 30);
  on.appliance.db.transaction(() => {
    for (const id of cleared) on.appliance.alerts.clear(id);
  });
  raise(on, 30, 40);
  const asked = t.mock.method(on.appliance.db, 'all');
  const { body } = await on.client.get('/api/alerts?state=active&search=h3&limit=25');
  assert.deepEqual(
    body.items.map(({ labels }: { labels: Record<string, string> }) => labels.host),
    Array.from({ length: 10 }, (_, at) => `h${39 - at}`),
  );
  const [sql, ...values] = asked.mock.calls.map((call) => call.arguments).find(([one]) => one.includes('LIKE')) ?? [''];
  const [first] = on.appliance.db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values);
  assert.match(String(first?.detail), /alerts_active/);
});
