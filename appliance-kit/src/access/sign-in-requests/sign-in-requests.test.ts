import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, bench, Client } from '../../../tests/harness.ts';

function refused(answer: Answer, status: number, code: string, words: RegExp): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
  assert.match(answer.body.detail, words);
}

async function asked(t: Parameters<typeof bench>[0]) {
  const on = await bench(t);
  await on.client.setUp();
  const program = new Client(on.appliance, '192.0.2.8');
  const started = await program.post('/api/sign-in-requests/start', { program: 'cistern on build-7' });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const { secret, code } = started.body as { secret: string; code: string };
  const collect = (with_ = secret) => program.post('/api/sign-in-requests/collect', { secret: with_ });
  return { ...on, program, started: started.body, code, collect };
}

test('a program waits until somebody approves it, and is signed in as who did', async (t) => {
  const { client, program, started, code, collect } = await asked(t);
  assert.match(code, /^[B-Z]{4}-[B-Z]{4}$/);
  assert.equal(started.path, `/sign-in-request?code=${code}`);
  assert.deepEqual((await collect()).body, { state: 'waiting' });
  const shown = (await client.get(`/api/sign-in-requests/${code.toLowerCase().replace('-', '')}`)).body;
  assert.deepEqual([shown.program, shown.address], ['cistern on build-7', '192.0.2.8']);
  assert.equal((await client.post(`/api/sign-in-requests/${code}/approve`)).status, 204);
  refused(await client.post(`/api/sign-in-requests/${code}/approve`), 404, 'not_found', /No program waits/);
  assert.deepEqual((await collect()).body, { state: 'approved', user: 'ada' });
  assert.equal((await program.get('/api/session')).body.user.name, 'ada');
  refused(await collect(), 404, 'not_found', /Nobody has signed/);
  const { items } = (await client.get('/api/sessions')).body;
  assert.deepEqual(items.map((one: { address: string }) => one.address).sort(), ['192.0.2.7', '192.0.2.8']);
  const log = JSON.stringify((await client.get('/api/audit-log')).body);
  assert.match(log, /"sign-in-request.approve"/);
  assert.ok(!log.includes(started.secret));
});

test('refused, ended, unknown and too many are said', async (t) => {
  const on = await asked(t);
  const { client, program, clock, code, collect } = on;
  assert.equal((await client.post(`/api/sign-in-requests/${code}/refuse`)).status, 204);
  assert.deepEqual((await collect()).body, { state: 'refused' });
  assert.equal((await program.get('/api/session')).body.user, null);
  refused(await collect('x'), 404, 'not_found', /Nobody/);

  const start = (from = program) => from.post('/api/sign-in-requests/start', { program: 'a' });
  const last = (await start()).body;
  clock.advance(10 * 60 + 1);
  refused(await client.get(`/api/sign-in-requests/${last.code}`), 404, 'not_found', /No program waits/);
  refused(await collect(last.secret), 404, 'not_found', /within ten minutes/);
  for (let n = 0; n < 5; n++) assert.equal((await start()).status, 200);
  refused(await start(), 429, 'too_many', /5 programs at 192\.0\.2\.8/);
  assert.equal((await start(new Client(on.appliance, '192.0.2.9'))).status, 200);
  const bad = await program.post('/api/sign-in-requests/start', { program: 'two\nlines' });
  assert.equal(bad.status, 400);
});

test('who is disabled after having approved it gets no session', async (t) => {
  const { client, appliance, program, code, collect } = await asked(t);
  const made = await client.post('/api/users', { name: 'bob', role: 'viewer' });
  const bob = new Client(appliance, '192.0.2.10');
  bob.password = 'purple engine window';
  await bob.post('/api/session', { user: 'bob', password: made.body.password });
  const change = { currentPassword: made.body.password, newPassword: bob.password };
  assert.equal((await bob.post('/api/session/change-password', change)).status, 200);
  assert.equal((await bob.post(`/api/sign-in-requests/${code}/approve`)).status, 204);
  await client.put('/api/users/bob', { role: 'viewer', disabled: true });
  refused(await collect(), 403, 'account_disabled', /disabled/);
  assert.equal((await program.get('/api/session')).body.user, null);
});
