import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { type Store, type StoredSample, storaged } from '../../../tests/storaged.ts';
import { hostOf, selectorsOf } from '../../base/hosts.ts';
import { poolDegraded } from '../../storage/pools/alerts.ts';
import { unlikePeers } from './peers.ts';
import { silentSeconds, stateOf } from './state.ts';
import { hostWatch, missed } from './watch.ts';

test('which host a series is of', () => {
  assert.equal(hostOf({ host: 'a', instance: 'b:1' }), 'a');
  assert.equal(hostOf({ 'host.name': 'a', instance: '5e1f' }), 'a');
  assert.equal(hostOf({ instance: 'web1:9100' }), 'web1');
  assert.equal(hostOf({ instance: '[fe80::1]:9100' }), 'fe80::1');
  assert.equal(hostOf({ instance: 'fe80::1' }), 'fe80::1');
  assert.equal(hostOf({ job: 'x' }), null);
  assert.deepEqual(selectorsOf([{ name: 'a', by: ['sender'] }]), []);
  assert.deepEqual(selectorsOf([{ name: 'a.b', by: ['host', 'instance'] }], 'up'), [
    '{__name__="up", host="a.b"}',
    '{__name__="up", host="", "host.name"="", host_name="", instance=~"\\\\[?a\\\\.b\\\\]?(?::[0-9]+)?"}',
  ]);
});

test('a host is absent after three of its usual intervals, without the time in which the store was down', () => {
  const up = { now: 10_000, started: 0, heardBefore: 0 };
  const state = (silent: number, intervalSeconds: number) =>
    stateOf({ heardTime: 10_000 - silent, intervalSeconds }, null, up);
  assert.equal(state(15, 1), 'reporting');
  assert.equal(state(16, 1), 'late');
  assert.equal(state(30, 1), 'late');
  assert.equal(state(31, 1), 'absent');
  assert.equal(state(90, 60), 'reporting');
  assert.equal(state(91, 60), 'late');
  assert.equal(state(181, 60), 'absent');
  assert.equal(state(300, 0), 'late', 'heard of once');
  assert.equal(state(301, 0), 'absent');
  // Down from 9,000 to 9,990: one was heard of until the end, the other had been silent for 100 s.
  const down = { now: 10_000, started: 9_990, heardBefore: 9_000 };
  assert.equal(silentSeconds(9_000, down), 10);
  assert.equal(silentSeconds(8_900, down), 110);
  assert.equal(silentSeconds(9_995, down), 5);
  assert.equal(stateOf({ heardTime: 5, intervalSeconds: 1 }, 5, up), 'retired');
  assert.equal(stateOf({ heardTime: 9_999, intervalSeconds: 1 }, 5, up), 'reporting', 'heard of again');
});

test('unlike its peers is who is far from their median', () => {
  const values = (...list: number[]) => new Map(list.map((value, at) => [`h${at}`, value] as const));
  assert.deepEqual([...unlikePeers(values(1, 2, 3, 100), '').keys()], [], 'four are no group');
  assert.deepEqual([...unlikePeers(values(1, 2, 3, 4, 100), '').keys()], ['h4']);
  assert.deepEqual([...unlikePeers(values(0.5, 0.5, 0.5, 0.5, 0.5, 0.9), '').keys()], ['h5'], 'MAD 0');
  assert.deepEqual([...unlikePeers(values(5, 5, 5, 5, 5), '').keys()], [], 'all are alike');
  assert.deepEqual([...unlikePeers(values(100, 100, 100, 100, 109), '').keys()], [], 'a tenth of the median is alike');
  assert.deepEqual([...unlikePeers(values(0, 0, 0, 0, 0, 0.001), '', 0.01).keys()], [], 'closer than matters');
  const one = unlikePeers(values(0.01, 0.02, 0.03, 0.02, 0.42), 'site=berlin').get('h4');
  assert.equal(one?.words, '0.42, where the median of 5 hosts with site=berlin is 0.02');
});

async function ready(
  t: TestContext,
): Promise<{ on: Bench; store: Store; send: (...names: string[]) => Promise<void> }> {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  const send = (...names: string[]) =>
    store.import(
      names.map((host, at) => ({ name: 'node_load1', labels: { host, site: at % 2 ? 'berlin' : 'oslo' }, value: at })),
    );
  return { on, store, send };
}

const list = async ({ appliance, client }: Bench, query = '') => {
  await appliance.hosts.look();
  return (await client.get(`/api/hosts${query}`)).body;
};
const names = (answer: { items: { name: string }[] }) => answer.items.map(({ name }) => name);

test('hosts are listed, filtered, and sent when they have changed', async (t) => {
  const { on, store, send } = await ready(t);
  assert.deepEqual(names(await list(on)), []);
  await send('web1', 'web2', 'db1');
  const all = await list(on);
  assert.deepEqual(names(all), ['db1', 'web1', 'web2']);
  assert.equal(all.full, true);
  assert.deepEqual(all.states, { reporting: 3, late: 0, absent: 0, retired: 0 });
  assert.deepEqual(all.items[0].labels, { site: 'oslo' });
  assert.deepEqual([all.items[0].by, all.items[0].series, all.items[0].inputs], [['host'], 1, ['import']]);
  assert.deepEqual(names(await list(on, '?search=WEB')), ['web1', 'web2']);
  assert.deepEqual(names(await list(on, '?label=site%3Dberlin')), ['web2']);
  const page = await list(on, '?limit=1&offset=1');
  assert.deepEqual([names(page), page.total], [['web1'], 3]);
  const same = await list(on, `?since=${all.version}`);
  assert.deepEqual([names(same), same.full, same.gone], [[], false, []]);
  const input = { note: 'below the stairs', ownLabels: { rack: '7' } };
  assert.equal((await on.client.put('/api/hosts/web1', input)).body.labels.rack, '7');
  assert.deepEqual(names(await list(on, `?since=${all.version}`)), ['web1']);
  assert.deepEqual(names(await list(on, '?search=stairs')), ['web1']);
  await store.remove('{host="db1"}');
  const later = await list(on, `?since=${all.version}`);
  assert.deepEqual([names(later), later.gone], [['web1'], ['db1']]);
  assert.equal((await on.client.get('/api/hosts/db1')).status, 404);
  await store.stop();
  const without = await list(on);
  assert.deepEqual(names(without), ['web1', 'web2'], 'what was known is shown on');
  assert.notEqual(without.error, null);
});

test('an action on many is one request: labels, silence, retiring, a rule', async (t) => {
  const { on, send } = await ready(t);
  const { client, appliance } = on;
  await send('web1', 'web2', 'db1');
  await appliance.hosts.look();
  const hosts = ['web1', 'web2', 'nobody'];
  const labelled = (await client.post('/api/hosts/label', { hosts, set: { tier: 'front' }, remove: [] })).body;
  assert.deepEqual(labelled, { changed: 2, skipped: [{ name: 'nobody', why: 'there is no such host' }], id: null });
  assert.deepEqual(names(await list(on, '?label=tier%3Dfront')), ['web1', 'web2']);
  await client.post('/api/hosts/label', { hosts, set: {}, remove: ['tier'] });
  assert.deepEqual(names(await list(on, '?label=tier%3Dfront')), []);

  // What still sends is not retired.
  const early = (await client.post('/api/hosts/retire', { hosts: ['web1'] })).body;
  assert.equal(early.changed, 0);
  assert.match(early.skipped[0].why, /still sends/);

  const silenced = (await client.post('/api/hosts/silence', { hosts, reason: 'move', forSeconds: 3600 })).body;
  assert.equal(silenced.changed, 2);
  assert.deepEqual((await client.get(`/api/silences/${silenced.id}`)).body.hosts, ['web1', 'web2']);
  const web1 = (await client.get('/api/hosts/web1')).body;
  assert.equal(Date.parse(web1.silencedUntil), on.clock.now() + 3_600_000);
  assert.equal((await client.get('/api/hosts/db1')).body.silencedUntil, null);
  // An alert that is of no host goes on.
  const pool = { pool: 'tank', sentence: 'Degraded.', system: false, telemetry: false };
  const other = appliance.alerts.raise({ kind: poolDegraded, args: pool }) as string;
  assert.equal(appliance.alerts.get(other).silence, null);

  const rule = { name: 'Load', metric: 'node_load1', as: 'value', direction: 'above', limit: 0.5, severity: 'warning' };
  const made = (await client.post('/api/hosts/watch', { hosts: ['web2', 'db1'], ...rule })).body;
  assert.equal(made.changed, 2);
  const { body: threshold } = await client.get(`/api/thresholds/${made.id}`);
  assert.match(threshold.expression, /host=~"\(\?:web2\|db1\)"/);
  await eventually(async () => {
    on.clock.advance(61);
    await appliance.thresholds.evaluate();
    const { body: found } = await client.get('/api/alerts?state=active&class=threshold.exceeded');
    const about = found.items.map((one: { labels: { host: string } }) => one.labels.host);
    assert.deepEqual(about.sort(), ['db1', 'web2']);
  });
  await appliance.hosts.look();
  const db1 = (await client.get('/api/hosts/db1')).body;
  assert.deepEqual([db1.alerts, db1.worst], [1, 'warning']);
});

test('values, the ones unlike their peers, and the charts of a host', async (t) => {
  const { on, store } = await ready(t);
  const hosts = Array.from({ length: 8 }, (_, at) => `h${at}`);
  await store.import(
    hosts.flatMap((host, at): StoredSample[] => [
      { name: 'system_load1', labels: { host, site: 'berlin' }, value: at === 7 ? 40 : 4 },
      { name: 'system_n_cpus', labels: { host, site: 'berlin' }, value: 4 },
      { name: 'jobs_total', labels: { instance: `${host}:9100`, queue: 'a' }, value: at },
      { name: 'jobs_total', labels: { instance: `${host}:9100`, queue: 'b' }, value: at },
    ]),
  );
  await on.appliance.hosts.look();
  const { body: waiting } = await on.client.get('/api/host-values?group=site');
  const marked = waiting.items.filter((one: { unlike: unknown }) => one.unlike !== null);
  assert.deepEqual(
    marked.map((one: { name: string }) => one.name),
    ['h7'],
  );
  assert.equal(marked[0].value, 0.9);
  assert.equal(marked[0].measure, 'run queue');
  const { body: sums } = await on.client.get('/api/host-values?metric=jobs_total&of=sum');
  assert.deepEqual(
    sums.items.map(({ name, value }: { name: string; value: number }) => [name, value]).sort(),
    hosts.map((name, at) => [name, 2 * at]),
  );
  const { body: charts } = await on.client.get('/api/hosts/h7/charts');
  const titles = charts.items.map((one: { title: string }) => one.title);
  assert.ok(titles.includes('Load') && titles.includes('jobs_total'), titles.join());
  for (const { query } of charts.items) {
    assert.match(query, /h7/);
  }
  const sheet = { name: 'h7', description: '', shared: false, rangeSeconds: 3600, end: null, annotations: [] };
  assert.equal((await on.client.post('/api/worksheets', { ...sheet, charts: charts.items })).status, 201);
});

test('a retired host is no longer absent, and is back when it is heard of', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  // What an earlier run of the store knew: one was silent for two hours when it ended, the other was not.
  const host = (name: string, heard: number) => ({
    ...{ name, by: ['host'], first: heard - 60_000, last: heard, heard, interval: 10_000, series: 1 },
    ...{ inputs: ['import'], labels: {} },
  });
  const now = Date.now();
  mkdirSync(join(on.directory, 'telemetry/blocks'), { recursive: true });
  const known = { version: 1, hosts: [host('old', now - 7_200_000), host('young', now)] };
  writeFileSync(join(on.directory, 'telemetry/blocks/hosts'), JSON.stringify(known));
  const store = await storaged(t, on);
  const send = (name: string) => store.import([{ name: 'node_load1', labels: { host: name }, value: 1 }]);
  assert.deepEqual(names(await list(on, '?state=absent')), ['old']);
  assert.deepEqual(
    on.appliance.hosts.all().flatMap(({ name, state }) => (state === 'absent' ? [name] : [])),
    ['old'],
  );
  assert.equal((await on.client.post('/api/hosts/retire', { hosts: ['old'] })).body.changed, 1);
  const [retired] = (await list(on, '?state=retired')).items;
  assert.deepEqual([retired.name, retired.retired.by], ['old', 'ada']);
  assert.deepEqual(on.appliance.hosts.counts(), { reporting: 1, late: 0, absent: 0, retired: 1 });
  assert.equal((await on.client.post('/api/hosts/restore', { hosts: ['old'] })).body.changed, 1);
  assert.deepEqual(names(await list(on, '?state=absent')), ['old']);
  await on.client.post('/api/hosts/retire', { hosts: ['old'] });
  await eventually(async () => {
    await send('old');
    assert.deepEqual(names(await list(on, '?state=retired')), []);
  });
});

test('an absent host is an alert, once that is switched on; neither the store’s nor akd’s restart raises or clears one', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const hour = 3_600_000;
  const host = (name: string, first: number, heard: number) => ({
    ...{ name, by: ['host'], first, last: heard, heard, interval: 10_000, series: 1, inputs: ['import'], labels: {} },
  });
  const now = Date.now();
  mkdirSync(join(on.directory, 'telemetry/blocks'), { recursive: true });
  const hosts = [
    host('gone', now - 9 * hour, now - 2 * hour),
    host('other', now - 9 * hour, now - 2 * hour),
    host('container', now - 2 * hour - 60_000, now - 2 * hour),
    host('young', now - 9 * hour, now),
  ];
  writeFileSync(join(on.directory, 'telemetry/blocks/hosts'), JSON.stringify({ version: 1, hosts }));
  let store = await storaged(t, on);
  let current = on;
  const look = async () => {
    await current.appliance.poller.look();
    current.clock.advance(31);
    await current.appliance.poller.look();
  };
  const active = async () => {
    const { body } = await current.client.get('/api/alerts?class=host.silent');
    return body.items.map(({ id, labels }: { id: string; labels: { host: string } }) => [labels.host, id]).sort();
  };
  const hostsOf = async () => (await active()).map(([name]: [string]) => name);

  await look();
  assert.deepEqual(await active(), [], 'it is off');
  const route = { muted: false, destinations: [], escalation: null };
  assert.equal((await on.client.put('/api/alert-classes/host.silent', route)).status, 200);
  await look();
  const both = await active();
  assert.deepEqual(await hostsOf(), ['gone', 'other'], 'one that came and went is not missed');
  const [alert] = (await on.client.get('/api/alerts?class=host.silent&search=gone')).body.items;
  assert.equal(alert.page, '/hosts/gone');

  await store.stop();
  await look();
  assert.deepEqual(await active(), both, 'the store is away');
  current = await on.restart();
  await current.client.post('/api/session', { user: 'ada', password: 'correct horse battery' });
  await look();
  assert.deepEqual(await active(), both, 'akd was started without the store');
  store = await storaged(t, on);
  await look();
  assert.deepEqual(await active(), both, 'the store is back');

  assert.equal((await current.client.post('/api/hosts/retire', { hosts: ['other'] })).body.changed, 1);
  await look();
  assert.deepEqual(await hostsOf(), ['gone']);
  await eventually(async () => {
    await store.import([{ name: 'node_load1', labels: { host: 'gone' }, value: 1 }]);
    await look();
    assert.deepEqual(await active(), []);
  });
});

test('while the class is off, what it had raised is cleared', async (t) => {
  const on = await bench(t);
  const known = { state: 'absent', firstAt: '2026-01-01T00:00:00Z', lastAt: '2026-01-02T00:00:00Z' } as const;
  const hosts = [
    { ...known, name: 'a', intervalSeconds: 10 },
    { ...known, name: 'once', intervalSeconds: null },
    { ...known, name: 'retired', intervalSeconds: 10, state: 'retired' as const },
  ];
  assert.deepEqual(
    missed(hosts).map(({ args }) => args),
    [{ host: 'a', since: known.lastAt, intervalSeconds: 10 }],
  );
  const { conditions, routing, db, alerts } = on.appliance;
  await on.client.setUp();
  const watch = hostWatch({
    ...{ db, conditions, routing, hosts: { look: async () => {}, error: null, all: () => hosts } },
  });
  const look = async () => (await watch.look())();
  const count = () => alerts.activeOfClass('host.silent').length;
  const route = (muted: boolean) =>
    on.client.put('/api/alert-classes/host.silent', { muted, destinations: [], escalation: null });
  assert.ok(!routing.isWanted('host.silent'), 'at first');
  assert.equal((await route(false)).status, 200);
  await look();
  on.clock.advance(31);
  await look();
  assert.equal(count(), 1);
  assert.equal((await route(true)).status, 200);
  await look();
  assert.equal(count(), 0);
});

test('views are their owner’s, or shared', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const view = { name: 'Silent ones', shared: true, address: 'state=absent&group=site' };
  const { body: made } = await on.client.post('/api/host-views', view);
  assert.deepEqual((await on.client.get('/api/host-views')).body.items, [made]);
  assert.equal((await on.client.post('/api/host-views', { ...view, address: 'a b' })).status, 400);
  assert.equal((await on.client.delete(`/api/host-views/${made.id}`)).status, 204);
  assert.deepEqual((await on.client.get('/api/host-views')).body.items, []);
});
