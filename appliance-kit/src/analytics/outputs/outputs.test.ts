import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';

/** A real storaged on the socket where akd looks for it. */
async function storaged(t: TestContext, { directory }: Bench): Promise<ChildProcess> {
  mkdirSync(join(directory, 'run', 'storaged'), { recursive: true });
  const socket = join(directory, 'run', 'storaged', 'http.sock');
  const places = ['--data', join(directory, 'data'), '--socket', socket, '--statsd', ''];
  const running = spawn(program('storaged'), places, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  running.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  t.after(async () => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGTERM');
    await once(running, 'exit');
  });
  await eventually(() => assert.match(said, /ready/, said));
  return running;
}

/** A receiver that answers with a given status, and counts. */
async function receiver(t: TestContext) {
  const state = { status: 204, requests: 0, authorization: '' as string | undefined };
  const server: Server = createServer((request, response) => {
    state.requests++;
    state.authorization = request.headers.authorization;
    request.resume().on('end', () => {
      const written = { 'X-Prometheus-Remote-Write-Samples-Written': '1000000' };
      response.writeHead(state.status, written).end(state.status === 204 ? undefined : 'not today');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/write` };
}

const toRemote = (url: string, more: object = {}) => ({
  ...{ name: 'Copy', enabled: true, kind: 'remote-write', begin: 'now', keep: [], labels: { site: 'a' }, lagMiB: 64 },
  remoteWrite: { url, version: 'auto', token: 'very-secret', ...more },
});

test('an output is made, delivers, fails with an alert, and its secret never comes back', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  const to = await receiver(t);
  const { appliance, client, clock } = b;
  const down = await client.post('/api/outputs', toRemote(to.url));
  assert.equal(down.status, 503, 'it is not taken while nobody can check it');

  await storaged(t, b);
  const { status, body } = await client.post('/api/outputs', toRemote(to.url));
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual([body.remoteWrite.tokenSet, body.remoteWrite.passwordSet], [true, false]);
  const health = async () => (await client.get(`/api/outputs/${body.id}`)).body.health;
  await eventually(async () => {
    const now = await health();
    assert.equal(now.state, 'delivering');
    assert.ok(now.sent > 0 && now.lastDeliveredAt !== null, JSON.stringify(now));
  });
  assert.equal(to.state.authorization, 'Bearer very-secret');
  for (const path of ['/api/outputs', `/api/outputs/${body.id}`, '/api/audit-log']) {
    assert.ok(!JSON.stringify((await client.get(path)).body).includes('very-secret'), path);
  }

  to.state.status = 503;
  await eventually(async () => assert.equal((await health()).state, 'failing'));
  const failing = await health();
  assert.match(failing.error, /503 Service Unavailable: not today/);
  const active = async () =>
    (await client.get('/api/alerts?state=active')).body.items.filter(
      ({ class: name }: { class: string }) => name === 'output.failing',
    );
  await appliance.poller.look();
  assert.equal((await active()).length, 0, 'not at once');
  clock.advance(60);
  const alert = await eventually(async () => {
    await appliance.poller.look();
    const [first] = await active();
    assert.ok(first);
    return first;
  });
  assert.match(alert.text, /Copy.*503 Service Unavailable/);
  assert.equal(alert.page, `/analytics/outputs/${body.id}`);
  to.state.status = 204;
  await eventually(async () => {
    assert.equal((await health()).state, 'delivering');
    assert.equal((await health()).lagBytes, 0);
  });
  await eventually(async () => {
    await appliance.poller.look();
    clock.advance(60);
    await appliance.poller.look();
    assert.equal((await active()).length, 0);
  });

  // A change without the secret keeps it, unless it would go elsewhere.
  const { token: _, ...without } = toRemote(to.url).remoteWrite;
  const renamed = await client.put(`/api/outputs/${body.id}`, {
    ...toRemote(to.url),
    name: 'Other',
    remoteWrite: without,
  });
  assert.deepEqual([renamed.status, renamed.body.remoteWrite?.tokenSet], [200, true], JSON.stringify(renamed.body));
  const elsewhere = {
    ...toRemote('http://elsewhere.example/write'),
    remoteWrite: { ...without, url: 'http://elsewhere.example/' },
  };
  const refused = await client.put(`/api/outputs/${body.id}`, elsewhere);
  assert.equal(refused.status, 400);
  assert.equal(refused.body.errors[0].path, '/remoteWrite/url');

  const off = await client.put(`/api/outputs/${body.id}`, { ...toRemote(to.url), enabled: false });
  assert.equal(off.body.health.state, 'off');
  assert.equal((await client.delete(`/api/outputs/${body.id}`)).status, 204);
  assert.deepEqual((await client.get('/api/outputs')).body.items, []);
});

test('what cannot be is refused with its place; a receiver is tried without being saved', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  await storaged(t, b);
  const to = await receiver(t);
  const { client } = b;
  for (const [change, path] of [
    [{ keep: ['rate(x[5m])'] }, '/keep/0'],
    [{ labels: { __name__: 'x' } }, '/labels'],
    [{ remoteWrite: { url: 'ftp://x', version: 'auto' } }, '/remoteWrite'],
    [{ remoteWrite: { url: to.url, version: 'auto', ca: 'no certificate' } }, '/remoteWrite/ca'],
    [{ kind: 'file' }, '/file'],
    [{ kind: 'graphite', graphite: { address: 'nowhere', prefix: '', quantiles: [] } }, '/graphite'],
  ] as const) {
    const { status, body } = await client.post('/api/outputs', { ...toRemote(to.url), ...change });
    assert.ok(status === 400 || status === 422, `${path}: ${status}`);
    assert.equal(body.errors?.[0]?.path, path, JSON.stringify(body));
  }
  assert.deepEqual((await client.get('/api/outputs')).body.items, []);
  const good = await client.post('/api/outputs/test', toRemote(to.url));
  assert.equal(good.body.ok, true, JSON.stringify(good.body));
  assert.match(good.body.text, /204/);
  to.state.status = 401;
  const bad = await client.post('/api/outputs/test', toRemote(to.url));
  assert.deepEqual([bad.body.ok, /401.*not today/.test(bad.body.text)], [false, true], JSON.stringify(bad.body));

  assert.equal((await client.post('/api/outputs', toRemote(to.url))).status, 201);
  const twice = await client.post('/api/outputs', toRemote(to.url));
  assert.deepEqual([twice.status, twice.body.errors[0].path], [409, '/name']);
});

test('storaged that was down during a change is sent the list again', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  const running = await storaged(t, b);
  const to = await receiver(t);
  const { body } = await b.client.post('/api/outputs', toRemote(to.url));
  const list = () => JSON.parse(readFileSync(join(b.directory, 'data', 'outputs.json'), 'utf8')).outputs;
  assert.equal(list().length, 1);
  running.kill('SIGKILL');
  await once(running, 'exit');
  assert.equal((await b.client.delete(`/api/outputs/${body.id}`)).status, 204);
  assert.equal(list().length, 1, 'it was down');
  await storaged(t, b);
  // As often as it is looked: on a busy machine one look may find that storaged does not answer in time.
  await eventually(async () => {
    await b.appliance.poller.look();
    assert.deepEqual(list(), []);
  });
});
