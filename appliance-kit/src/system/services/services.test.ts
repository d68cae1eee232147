import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import type { Service } from '../../platform/service.ts';
import { Settings } from '../../state/settings.ts';
import { OwnEnds } from './ownEnds.ts';
import { RestartWatch } from './restarts.ts';

test('a service that ends again and again is told of, and no longer when it has run for a while', async (t) => {
  const { client, clock, appliance } = await bench(t);
  await client.setUp();
  const active = async () => {
    await appliance.poller.look();
    return (await client.get('/api/alerts')).body.items.map((one: { class: string }) => one.class);
  };
  assert.deepEqual(await active(), []);
  for (let time = 0; time < 2; time++) {
    await client.post('/internal/sim/service-ends', { name: 'nginx' });
    clock.advance(30);
    assert.deepEqual(await active(), [], `${time + 1}`);
  }
  // Others are others.
  await client.post('/internal/sim/service-ends', { name: 'snmpd' });
  assert.deepEqual(await active(), []);
  await client.post('/internal/sim/service-ends', { name: 'nginx' });
  assert.deepEqual(await active(), ['service.restarting']);
  const [alert] = (await client.get('/api/alerts')).body.items;
  assert.match(alert.text, /Web server \(nginx\) was started again three times/);
  assert.equal(alert.severity, 'critical');
  clock.advance(200);
  assert.deepEqual(await active(), ['service.restarting']);
  // It is not three any more, but two within five minutes.
  clock.advance(70);
  assert.deepEqual(await active(), []);
});

test('akd itself: its ends are counted over its starts, unless it was told to end or the system was started again', async (t) => {
  const { appliance } = await bench(t);
  const settings = new Settings(appliance.db);
  const start = (bootId: string, seconds: number) => new OwnEnds(settings).began(bootId, seconds * 1000);
  assert.deepEqual(start('one', 40), [], 'the first start');
  assert.deepEqual(start('one', 100), [0]);
  assert.deepEqual(start('one', 110), [10_000, 0]);
  new OwnEnds(settings).stopped();
  assert.deepEqual(start('one', 120), [20_000, 10_000], 'an end in order is none');
  assert.deepEqual(start('one', 405), [295_000, 0], 'five minutes are remembered');
  assert.deepEqual(start('two', 30), [], 'the system was started again');

  const akd = { name: 'akd', title: 'Management', restarts: 7, reason: null } as Service;
  const watch = new RestartWatch();
  watch.ended('akd', [200_000, 100_000, 0], 1_000);
  const [found] = watch.look([akd], 2_000);
  assert.deepEqual([found?.service, found?.restarts], ['akd', 3], 'what the service manager has counted is not added');
  assert.deepEqual(watch.look([akd], 102_000), [], 'two are left');
  assert.equal(watch.look([{ ...akd, restarts: 8 }], 103_000)[0]?.restarts, 3);
});

test('services: listed, failing, alerted after a moment, restarted', async (t) => {
  const { client, clock, appliance } = await bench(t);
  await client.setUp();
  const names = (await client.get('/api/services')).body.items.map((one: { name: string }) => one.name);
  assert.deepEqual(names, ['storaged', 'akd', 'execd', 'replicd', 'tracerd', 'supportd', 'gatherd', 'nginx', 'snmpd']);

  await client.post('/internal/sim/service', { name: 'storaged', state: 'failed', reason: 'It crashed.' });
  assert.deepEqual((await client.get('/api/alerts')).body.items, [], 'a restart that is under way is no failure');
  clock.advance(10);
  await appliance.poller.look();
  const [alert] = (await client.get('/api/alerts')).body.items;
  assert.equal(alert.class, 'service.failed');
  assert.match(alert.text, /Telemetry store \(storaged\) is not running.*It crashed\./);
  assert.match(alert.impact, /No measurement is taken in/);

  const { status, body } = await client.post('/api/services/storaged/restart');
  assert.deepEqual([status, body.state], [202, 'online']);
  await appliance.poller.look();
  assert.deepEqual((await client.get('/api/alerts')).body.items, []);
  assert.equal((await client.post('/api/services/sshd/restart')).body.code, 'not_found');
});
