import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually } from '../../../tests/harness.ts';

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
  t.after(() => ended(running));
  await eventually(() => assert.match(said, /ready/, said));
  return running;
}

async function ended(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return;
  running.kill('SIGTERM');
  await once(running, 'exit');
}

const off = {
  ...{ enabled: false, networks: ['192.0.2.0/24'], seriesPerSecond: 0, seriesBurst: 0 },
  ...{ senderSeriesPerSecond: 0, senderSeriesBurst: 0 },
};

test('an input is switched off, that is in the audit log, and a store that forgot it is told again', async (t) => {
  const b = await bench(t);
  const { client, appliance } = b;
  await client.setUp();
  assert.equal((await client.get('/api/inputs')).status, 503, 'nobody knows while the store is down');
  const first = await storaged(t, b);
  const { items } = (await client.get('/api/inputs')).body;
  assert.deepEqual(items.map(({ name }: { name: string }) => name).sort(), [
    'collectd',
    'collectd_http',
    'graphite',
    'httptrap',
    'import',
    'influx',
    'influx_socket',
    'otlp',
    'remote_write',
    'statsd',
  ]);
  const set = await client.put('/api/inputs/import', off);
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.deepEqual([set.body.enabled, set.body.networks], [false, ['192.0.2.0/24']]);
  const [entry] = (await client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual(
    [entry.action, entry.target, entry.before.enabled, entry.after.enabled],
    ['input.set', 'import', true, false],
  );

  const enabled = async () => (await client.get('/api/inputs/import')).body.enabled;
  await ended(first);
  const second = await storaged(t, b);
  assert.equal(await enabled(), false, 'the store keeps it');
  await ended(second);
  rmSync(join(b.directory, 'data', 'inputs.json'));
  await storaged(t, b);
  assert.equal(await enabled(), true);
  await eventually(async () => {
    await appliance.poller.look();
    assert.equal(await enabled(), false);
  });
});

test('settings that cannot be are named, and change nothing', async (t) => {
  const b = await bench(t);
  const { client, appliance } = b;
  await client.setUp();
  await storaged(t, b);
  for (const [change, path] of [
    [{ networks: ['192.0.2.0/24', 'home'] }, '/networks'],
    [{ seriesPerSecond: 5 }, '/seriesBurst'],
    [{ senderSeriesPerSecond: 5 }, '/senderSeriesBurst'],
  ] as const) {
    const answer = await client.put('/api/inputs/import', { ...off, ...change });
    assert.equal(answer.status, 400);
    assert.deepEqual(
      answer.body.errors.map((one: { path: string }) => one.path),
      [path],
    );
  }
  const masked = await client.put('/api/inputs/import', { ...off, networks: ['192.0.2.7/24'] });
  assert.match(
    masked.body.detail,
    /write 192\.0\.2\.0\/24 for the network/,
    'what only the store finds is said as well',
  );
  assert.equal((await client.put('/api/inputs/gopher', off)).status, 404);
  assert.equal((await client.get('/api/inputs/import')).body.enabled, true);
  assert.equal((await new Client(appliance).get('/api/inputs')).status, 401);
});
