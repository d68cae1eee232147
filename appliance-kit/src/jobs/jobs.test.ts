import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, eventually } from '../../tests/harness.ts';
import { appliance as itself } from '../http/gate/caller.ts';
import { MOST_OF_ONE } from './jobs.ts';

test('a job that was running when akd ended says so at the next start', async (t) => {
  const before = await bench(t);
  await before.client.setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  const job = before.appliance.jobs.start(
    { kind: 'pool.create', title: 'Wait', cancellable: false, caller: itself },
    () => promise,
  );
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
  const free = appliance.jobs.start(
    { kind: 'pool.create', title: 'Free', cancellable: true, caller: itself },
    ({ signal }) => untilAborted(signal),
  );
  assert.equal((await client.post(`/api/jobs/${free.id}/cancel`)).status, 200);
  await eventually(() => assert.equal(appliance.jobs.get(free.id).state, 'cancelled'));
  assert.equal((await client.post(`/api/jobs/${free.id}/cancel`)).body.code, 'conflict');

  const { promise, resolve } = Promise.withResolvers<void>();
  const firm = appliance.jobs.start(
    { kind: 'pool.create', title: 'Firm', cancellable: false, caller: itself },
    () => promise,
  );
  assert.equal((await client.post(`/api/jobs/${firm.id}/cancel`)).body.code, 'conflict');
  resolve();
  await eventually(() => assert.equal(appliance.jobs.get(firm.id).state, 'done'));
});

test('an error nobody foresaw is not shown to the client', async (t) => {
  const { appliance } = await bench(t);
  const job = appliance.jobs.start(
    { kind: 'pool.create', title: 'Bad', cancellable: false, caller: itself },
    async () => {
      throw new Error('secret detail at /etc/shadow');
    },
  );
  await eventually(() => assert.equal(appliance.jobs.get(job.id).state, 'failed'));
  assert.ok(!JSON.stringify(appliance.jobs.get(job.id)).includes('shadow'));
});

test('a kind of job and a topic that no domain declares are refused', async (t) => {
  const { appliance } = await bench(t);
  const request = { kind: 'pool.shred', title: 'Shred', cancellable: false, caller: itself };
  assert.throws(() => appliance.jobs.start(request, () => Promise.resolve()), /no domain declares .*pool\.shred/);
  assert.deepEqual(appliance.jobs.list(), []);
  assert.throws(() => appliance.changes.publish('weather'), /no domain declares the topic “weather”/);
});

test('a caller has only so many jobs at a time; others, and the appliance itself, are not kept from theirs', async (t) => {
  const { appliance, client } = await bench(t);
  await client.setUp();
  const { jobs } = appliance;
  const ends = Promise.withResolvers<void>();
  const start = (caller: { name: string; address: string }) =>
    jobs.start({ kind: 'pool.create', title: 'Wait', cancellable: true, caller }, ({ signal }) =>
      Promise.race([
        ends.promise,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      ]),
    );
  try {
    const ada = { name: 'ada', address: '192.0.2.1' };
    const mine = Array.from({ length: MOST_OF_ONE }, () => start(ada));
    assert.throws(() => start({ ...ada, address: '192.0.2.2' }), /8 jobs of ada are under way already/);
    start({ name: 'bob', address: '192.0.2.1' });
    for (let n = 0; n <= MOST_OF_ONE; n++) start(itself);

    // By the API: refused in words, and the audit log does not say that it was done.
    const answer = await client.post('/api/audit-chain/verify', {});
    assert.deepEqual([answer.status, answer.body.code], [429, 'too_many']);
    assert.match(answer.body.action, /stop one that nobody needs/);
    const done = () => client.get('/api/audit-log').then(({ body }) => JSON.stringify(body).includes('"audit.verify"'));
    assert.equal(await done(), false);
    assert.equal((await client.post(`/api/jobs/${mine[0]?.id}/cancel`)).status, 200);
    await eventually(async () => assert.equal((await client.post('/api/audit-chain/verify', {})).status, 202));
    assert.equal(await done(), true);
  } finally {
    ends.resolve();
  }
  await jobs.settled();
});
