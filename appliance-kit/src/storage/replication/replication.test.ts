import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { retryAfterMinutes } from './replications.ts';

const HOST = { host: 'backup.example', port: 8022 };

async function ready(t: Parameters<typeof bench>[0]): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  const disks = [1, 2, 3, 4].map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`);
  const { body } = await on.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true });
  await ended(on, body.id);
  for (const name of ['tank/home', 'tank/home/anna', 'tank/copies']) {
    const made = await on.client.post('/api/datasets', { name, kind: 'filesystem', properties: {} });
    assert.equal(made.status, 201);
  }
  await write(on, 'one.txt', 50_000_000);
  return on;
}

const write = (on: Bench, path: string, bytes: number) =>
  on.client.post('/internal/sim/dataset-write', { dataset: 'tank/home', path, bytes, text: 'x' });
const ended = ({ client }: Bench, id: string) =>
  eventually(async () => {
    const { body } = await client.get(`/api/jobs/${id}`);
    assert.notEqual(body.state, 'running');
    return body;
  });
const input = (target: object, rest: object = {}) => ({
  ...{ dataset: 'tank/home', recursive: true, enabled: true, intermediate: true, bytesPerSecond: 0 },
  ...{ lateAfterMinutes: 120, schedule: { every: 'hour', at: '00:00' }, target, ...rest },
});
async function there(on: Bench, dataset = 'vault/received/home') {
  const { body } = await on.client.post('/api/replications/fetch-host-key', HOST);
  return { kind: 'ssh', ...HOST, user: 'cistern', hostKey: body.hostKey, dataset };
}
const only = async (on: Bench) => (await on.client.get('/api/replications')).body.items[0];
const snapshots = async (on: Bench, dataset: string): Promise<string[]> =>
  (await on.client.get(`/api/snapshots?limit=1000&sort=created&order=up&dataset=${dataset}`)).body.items.map(
    ({ snapshot }: { snapshot: string }) => snapshot,
  );
const active = async (on: Bench) =>
  (await on.client.get('/api/alerts?state=active')).body.items.map((alert: { class: string }) => alert.class);

test('a tree is replicated to another place of the same machine, and keeps one snapshot here', async (t) => {
  const on = await ready(t);
  const made = await on.client.post('/api/replications', input({ kind: 'here', dataset: 'tank/copies/home' }));
  assert.equal(made.status, 201);
  assert.deepEqual([made.body.lagSeconds, made.body.nextRun], [null, '2026-01-01T01:00:00.000Z']);
  const job = await on.client.post(`/api/replications/${made.body.id}/run`);
  assert.equal((await on.client.post(`/api/replications/${made.body.id}/run`)).status, 409);
  const first = await ended(on, job.body.id);
  assert.deepEqual([first.state, first.result.datasets], ['done', 2]);
  const finished = async () =>
    (await on.client.get('/api/alerts?state=all&class=replication.finished')).body.items.map(
      ({ text }: { text: string }) => text,
    );
  assert.deepEqual(await finished(), [], 'nobody wants to be told');
  const wanted = { muted: false, destinations: [], escalation: null };
  assert.equal((await on.client.put('/api/alert-classes/replication.finished', wanted)).status, 200);
  on.clock.advance(60);
  const again = await ended(on, (await on.client.post(`/api/replications/${made.body.id}/run`)).body.id);
  assert.equal(again.state, 'done');
  const [told, ...more] = await finished();
  assert.deepEqual(more, []);
  assert.match(told, new RegExp(`up to the snapshot ${again.result.snapshot}: `));
  // Both places have both; here only the one that the next run goes on from is kept, whatever a schedule would do.
  const kept = await snapshots(on, 'tank/home');
  assert.deepEqual(kept, [again.result.snapshot]);
  assert.deepEqual(await snapshots(on, 'tank/copies/home/anna'), [first.result.snapshot, again.result.snapshot]);
  const { body } = await on.client.get(`/api/snapshots/${encodeURIComponent(`tank/home@${kept[0]}`)}`);
  assert.match(body.keptBy, /replication/);
  assert.equal((await only(on)).lastSuccess.snapshot, kept[0]);
  assert.equal((await on.client.delete(`/api/replications/${made.body.id}`)).status, 204);
  assert.deepEqual(await snapshots(on, 'tank/home'), []);
  assert.equal((await snapshots(on, 'tank/copies/home')).length, 2);
});

test('an interrupted run is resumed automatically, and a late one is reported', async (t) => {
  const on = await ready(t);
  const made = await on.client.post('/api/replications', input(await there(on), { bytesPerSecond: 20_000_000 }));
  const { id } = made.body;
  const job = await on.client.post(`/api/replications/${id}/run`);
  await eventually(async () => {
    const { body } = await on.client.get(`/api/jobs/${job.body.id}`);
    assert.ok(body.percent > 0);
    assert.match(body.step, /of about/);
  });
  await on.client.post('/internal/sim/replication-cut', { cut: true });
  const cut = await ended(on, job.body.id);
  assert.deepEqual([cut.state, cut.error.code], ['failed', 'interrupted']);
  const pending = await snapshots(on, 'tank/home');
  assert.equal(pending.length, 1);
  assert.ok((await only(on)).retryAt);
  // A passing failure is nobody's business yet; a target that stays behind is.
  await on.client.post('/internal/sim/replication-cut', { cut: true });
  assert.ok(!(await active(on)).includes('replication.failed'));
  on.clock.advance(3 * 3600);
  await on.client.post('/internal/sim/replication-cut', { cut: true });
  assert.ok((await active(on)).includes('replication.late'));
  await on.client.post('/internal/sim/replication-cut', { cut: false });
  on.appliance.replications.retry();
  const { job: retried } = await only(on);
  const done = await ended(on, retried);
  assert.equal(done.error, null);
  assert.equal(done.state, 'done');
  assert.ok(done.log.some(({ text }: { text: string }) => text.includes('went on where it was interrupted')));
  assert.equal(done.result.snapshot, pending[0], 'with the snapshot of the run that was interrupted');
  on.appliance.replications.retry();
  assert.equal((await only(on)).job, null, 'nothing is tried again that has succeeded');
});

test('what somebody has to mend is said at once, and nothing there is overwritten', async (t) => {
  const on = await ready(t);
  await on.client.post('/api/datasets', { name: 'tank/copies/home', kind: 'filesystem', properties: {} });
  const made = await on.client.post('/api/replications', input({ kind: 'here', dataset: 'tank/copies/home' }));
  const job = await ended(on, (await on.client.post(`/api/replications/${made.body.id}/run`)).body.id);
  assert.deepEqual([job.state, job.error.code], ['failed', 'no_common_snapshot']);
  assert.equal((await only(on)).retryAt, null);
  await on.client.post('/internal/sim/replication-cut', { cut: false });
  assert.ok((await active(on)).includes('replication.failed'));
  const look = await on.client.post('/api/replications/preview', {
    dataset: 'tank/home',
    target: { kind: 'here', dataset: 'tank/copies/home' },
  });
  assert.deepEqual([look.body.possible, look.body.exists], [false, true]);
  assert.match(look.body.sentence, /Nothing is overwritten/);
});

test('what makes no sense is refused, with the field that is wrong', async (t) => {
  const on = await ready(t);
  const good = await there(on);
  const { hostKey: _, ...unconfirmed } = good;
  const cases: [object, string][] = [
    [input(unconfirmed), '/target/hostKey'],
    [input({ ...good, dataset: 'vault/a@b' }), '/target/dataset'],
    [input({ kind: 'here', dataset: 'tank' }), '/target/dataset'],
    [input({ kind: 'here', dataset: 'tank/none/home' }), '/target/dataset'],
    [input({ kind: 'here', dataset: 'tank/home/copy' }), '/target/dataset'],
    [input(good, { dataset: 'tank/none' }), '/dataset'],
    [input(good, { dataset: 'system/state' }), '/dataset'],
    [input(good, { bytesPerSecond: -1 }), '/bytesPerSecond'],
    [input(good, { schedule: { every: 'minutes', minutes: 7 } }), '/schedule/minutes'],
  ];
  for (const [body, path] of cases) {
    const answer = await on.client.post('/api/replications', body);
    assert.deepEqual([answer.status, answer.body.errors?.[0].path], [400, path], JSON.stringify(body));
  }
  assert.equal((await on.client.post('/api/replications', input(good))).status, 201);
  assert.equal((await on.client.post('/api/replications', input(good))).body.errors[0].path, '/target/dataset');
  assert.equal(
    (await on.client.post('/api/replications/fetch-host-key', { host: 'nobody', port: 1 })).body.code,
    'unreachable',
  );
  assert.equal((await on.client.post('/api/replications/fetch-host-key', { host: 'a b', port: 1 })).status, 400);
});

test('senders: who may replicate to here, and below what', async (t) => {
  const on = await ready(t);
  const before = (await on.client.get('/api/replication-senders')).body;
  assert.deepEqual([before.items, before.accepting.port], [[], 0]);
  const key = before.identity.publicKey;
  const add = (body: object) =>
    on.client.post('/api/replication-senders', { name: 'other', publicKey: key, quotaBytes: null, ...body });
  assert.equal((await add({ under: 'tank/none' })).body.errors[0].path, '/under');
  assert.equal((await add({ under: 'system/state' })).body.errors[0].path, '/under');
  assert.equal((await add({ under: 'tank/telemetry' })).body.errors[0].path, '/under');
  const { used } = (await on.client.get('/api/datasets/tank%2Fcopies')).body;
  const quotaBytes = 64 * 2 ** 20 + used;
  if (used > 64 * 2 ** 20)
    assert.equal((await add({ under: 'tank/copies', quotaBytes: used - 1 })).body.errors[0].path, '/quotaBytes');
  const made = await add({ under: 'tank/copies', quotaBytes });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal((await on.client.get('/api/datasets/tank%2Fcopies')).body.quota.bytes, quotaBytes);
  assert.equal((await add({ under: 'tank/copies' })).body.errors[0].path, '/publicKey');
  assert.equal((await on.client.get('/api/replication-senders')).body.accepting.port, 8022);
  // Whoever was let in reaches it as soon as that is answered.
  const ports = async () =>
    (await on.client.get('/api/firewall')).body.services.find(({ name }: { name: string }) => name === 'replication')
      ?.ports;
  assert.deepEqual(await ports(), [{ protocol: 'tcp', port: 8022 }]);
  assert.equal((await on.client.delete(`/api/replication-senders/${made.body.id}`)).status, 204);
  assert.equal((await on.client.get('/api/replication-senders')).body.accepting.port, 0);
  assert.deepEqual(await ports(), []);
});

test('how long a failure waits', () => {
  assert.deepEqual(
    [1, 2, 6, 50].map((attempts) => retryAfterMinutes('unreachable', attempts)),
    [1, 2, 30, 30],
  );
  assert.equal(retryAfterMinutes('target_modified', 1), null);
});
