import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, eventually } from '../../tests/harness.ts';

test('a job that was running when akd ended says so at the next start', async (t) => {
  const before = await bench(t);
  await before.client.setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  const job = before.appliance.jobs.start({ kind: 'pool.create', title: 'Wait', cancellable: false }, () => promise);
  // As a crash would leave it: the state on disk still says that it runs.
  const { state } = before.appliance.jobs.get(job.id);
  assert.equal(state, 'running');
  before.appliance.db.run("UPDATE jobs SET id = 'job-crashed'");
  resolve();
  const { client } = await before.restart();
  await client.post('/api/session', { user: 'ada', password: 'correct horse battery' });
  const { body } = await client.get('/api/jobs/job-crashed');
  assert.equal(body.state, 'interrupted');
  assert.match(body.error.detail, /ended while this was running/);
  assert.ok(body.finishedAt);
});

test('a job can be cancelled when it allows that, and not when it does not', async (t) => {
  const { appliance, client } = await bench(t);
  await client.setUp();
  const untilAborted = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const free = appliance.jobs.start({ kind: 'pool.create', title: 'Free', cancellable: true }, ({ signal }) =>
    untilAborted(signal),
  );
  assert.equal((await client.post(`/api/jobs/${free.id}/cancel`)).status, 200);
  await eventually(() => assert.equal(appliance.jobs.get(free.id).state, 'cancelled'));
  assert.equal((await client.post(`/api/jobs/${free.id}/cancel`)).body.code, 'conflict');

  const { promise, resolve } = Promise.withResolvers<void>();
  const firm = appliance.jobs.start({ kind: 'pool.create', title: 'Firm', cancellable: false }, () => promise);
  assert.equal((await client.post(`/api/jobs/${firm.id}/cancel`)).body.code, 'conflict');
  resolve();
  await eventually(() => assert.equal(appliance.jobs.get(firm.id).state, 'done'));
});

test('an error nobody foresaw is not shown to the client', async (t) => {
  const { appliance } = await bench(t);
  const job = appliance.jobs.start({ kind: 'pool.create', title: 'Bad', cancellable: false }, async () => {
    throw new Error('secret detail at /etc/shadow');
  });
  await eventually(() => assert.equal(appliance.jobs.get(job.id).state, 'failed'));
  assert.ok(!JSON.stringify(appliance.jobs.get(job.id)).includes('shadow'));
});

test('a kind of job and a topic that no domain declares are refused', async (t) => {
  const { appliance } = await bench(t);
  const request = { kind: 'pool.shred', title: 'Shred', cancellable: false };
  assert.throws(() => appliance.jobs.start(request, () => Promise.resolve()), /no domain declares .*pool\.shred/);
  assert.deepEqual(appliance.jobs.list(), []);
  assert.throws(() => appliance.changes.publish('weather'), /no domain declares the topic “weather”/);
});
