import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as zpool from '../../../tests/fixtures/zpool.ts';
import { type Bench, bench, eventually, PASSWORD } from '../../../tests/harness.ts';
import { parsePools } from '../../platform/linux/pools.ts';

const DAY = 86_400;

async function withTank(t: Parameters<typeof bench>[0]): Promise<Bench> {
  const b = await bench(t, { scanSeconds: 10 });
  await b.client.setUp();
  const disks = ['data1', 'data2', 'data3', 'data4'].map((name) => `scsi-0QEMU_QEMU_HARDDISK_${name}`);
  const { body } = await b.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: false });
  await eventually(async () => assert.equal((await b.client.get(`/api/jobs/${body.id}`)).body.state, 'done'));
  await b.appliance.poller.look();
  return b;
}

/** Days pass, and with them the session. */
async function later(b: Bench, days: number): Promise<void> {
  b.clock.advance(days * DAY);
  assert.equal((await b.client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
}

const alerts = async (b: Bench, name: string) => {
  await b.appliance.poller.look();
  // A look that was under way is followed by another.
  await b.appliance.poller.look();
  const { items } = (await b.client.get('/api/alerts?state=all')).body;
  return items.filter((alert: { class: string }) => alert.class === name);
};

test('that a resilver has ended is reported once, as an event', async (t) => {
  const b = await withTank(t);
  await b.client.post('/internal/sim/resilver', { pool: 'tank', seconds: 60 });
  assert.deepEqual(await alerts(b, 'resilver.finished'), []);
  b.clock.advance(61);
  const [ended, ...more] = await alerts(b, 'resilver.finished');
  assert.deepEqual(more, []);
  assert.deepEqual([ended.severity, ended.state], ['info', 'cleared']);
  assert.match(ended.text, /without errors/);
  assert.match(ended.action, /Nothing/);
  assert.equal((await alerts(b, 'resilver.finished')).length, 1);
  // A scrub is no resilver, and one that finds nothing is no news.
  await b.client.post('/api/pools/tank/scrub', { action: 'start' });
  b.clock.advance(60);
  assert.equal((await alerts(b, 'resilver.finished')).length, 1);
  assert.deepEqual(await alerts(b, 'scrub.found'), []);
  // Unless somebody wants to be told.
  assert.deepEqual(await alerts(b, 'scrub.finished'), []);
  const wanted = { muted: false, destinations: [], escalation: null };
  assert.equal((await b.client.put('/api/alert-classes/scrub.finished', wanted)).status, 200);
  await b.client.post('/api/pools/tank/scrub', { action: 'start' });
  b.clock.advance(60);
  const [told, ...others] = await alerts(b, 'scrub.finished');
  assert.deepEqual([told.severity, others.length], ['info', 0]);
  assert.match(told.text, /^The scrub of “tank” has ended after .*: without errors\.$/);
});

test('a scan that ended long ago is remembered, but no news', async (t) => {
  const b = await withTank(t);
  for (const [days, told] of [
    [8, 0],
    [6, 1],
  ] as const) {
    await b.client.post('/api/pools/tank/scrub', { action: 'start' });
    await b.client.post('/internal/sim/pool-rot', { pool: 'tank', bytes: 4096 });
    await later(b, days);
    assert.equal((await alerts(b, 'scrub.found')).length, told, `${days} days`);
  }
  await b.client.post('/internal/sim/resilver', { pool: 'tank', seconds: 60 });
  await later(b, 8);
  assert.deepEqual(await alerts(b, 'resilver.finished'), []);
  assert.equal((await b.client.get('/api/pools/tank/scans')).body.items.length, 3);
});

test('a spare that stands in is a condition of its own, until it is free again', async (t) => {
  const b = await withTank(t);
  const reading = (status: object) => async () =>
    parsePools(JSON.stringify(status), JSON.stringify(zpool.list), zpool.properties, b.clock.now());
  b.simulation.pools = reading(zpool.spare);
  const [ended, ...more] = await alerts(b, 'spare.used');
  assert.deepEqual(more, [], 'the list of spares is none');
  assert.deepEqual([ended.severity, ended.state, ended.labels.disk], ['warning', 'active', 'scsi-S']);
  assert.equal(ended.text, 'The spare scsi-S of “tank” stands in for scsi-A.');
  // The disk was replaced.
  b.simulation.pools = reading(zpool.healthy);
  assert.deepEqual(
    (await alerts(b, 'spare.used')).map(({ state }: { state: string }) => state),
    ['cleared'],
  );
});

test('a pool that the machine has and that is not there is an alert, until it is back', async (t) => {
  const b = await withTank(t);
  const pools = b.simulation.pools.bind(b.simulation);
  assert.deepEqual(await alerts(b, 'pool.missing'), []);
  // After a start that could not import it.
  b.simulation.pools = async () => (await pools()).filter(({ name }) => name !== 'tank');
  assert.deepEqual(await alerts(b, 'pool.missing'), [], 'a pool that is being made is remembered already');
  b.clock.advance(301);
  const [missing, ...more] = await alerts(b, 'pool.missing');
  assert.deepEqual(more, []);
  assert.deepEqual([missing.severity, missing.state, missing.labels.pool], ['critical', 'active', 'tank']);
  assert.match(missing.text, /“tank” belongs to this machine, and is not imported/);
  // Not knowing is no reason to clear.
  const remembered = b.simulation.rememberedPools.bind(b.simulation);
  b.simulation.rememberedPools = () => Promise.reject(new Error('execd does not answer'));
  assert.equal((await alerts(b, 'pool.missing'))[0].state, 'active');
  b.simulation.rememberedPools = remembered;
  b.simulation.pools = pools;
  assert.equal((await alerts(b, 'pool.missing'))[0].state, 'cleared');
});
