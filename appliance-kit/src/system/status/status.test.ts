import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';

const disks = [1, 2].map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`);

async function setUp(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}
const status = async ({ client }: Bench) => (await client.get('/api/status')).body;
const part = (body: { parts: { name: string }[] }, name: string) =>
  body.parts.find((one) => one.name === name) as unknown as { state: string; sentence: string };

test('before set-up is finished that is the next step; after it the answer is about the machine', async (t) => {
  const on = await setUp(t);
  const before = await status(on);
  assert.deepEqual([before.sentence, before.next.page], ['Set-up is not finished.', '/setup']);
  assert.equal(part(before, 'ingest').state, 'info', 'without a pool nothing is wrong with ingest');
  await on.client.post('/api/setup/finish');
  const after = await status(on);
  assert.match(after.sentence, /no pool for telemetry yet/);
  assert.equal(after.severity, 'info');
  assert.deepEqual(after.alerts, { critical: 0, warning: 0, info: 0 });
});

test('the worst part decides, in words, with a next step', async (t) => {
  const on = await setUp(t);
  await on.client.post('/api/setup/finish');
  const { body: job } = await on.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: false });
  await eventually(async () => assert.equal((await on.client.get(`/api/jobs/${job.id}`)).body.state, 'done'));
  await on.client.post('/internal/sim/disk-remove', { disk: 'data1' });
  const degraded = await status(on);
  assert.equal(degraded.severity, 'warning');
  assert.match(degraded.sentence, /^Pool “tank”: Degraded\. Disk .*data1 was removed; data is safe/);
  assert.deepEqual(degraded.next, { text: 'Go to Data safety', page: '/storage' });
  assert.equal(degraded.alerts.warning, 1);
  await on.client.post('/internal/sim/service', { name: 'nginx', state: 'failed' });
  const failed = await status(on);
  assert.equal(failed.severity, 'critical');
  assert.match(failed.sentence, /Web server failed/);
});

test('a pool that fills up is told of before it is full', async (t) => {
  const on = await setUp(t);
  const states: [number, string][] = [];
  for (const ratio of [0.5, 0.85, 0.97]) {
    await on.client.post('/internal/sim/pool-fill', { pool: 'system', ratio });
    states.push([ratio, part(await status(on), 'pools').state]);
  }
  assert.deepEqual(states, [
    [0.5, 'ok'],
    [0.85, 'warning'],
    [0.97, 'critical'],
  ]);
});
