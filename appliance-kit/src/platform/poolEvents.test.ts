import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../tests/harness.ts';
import { Peer } from '../peers/peer.ts';
import { Execd } from './execd.ts';
import { PoolChanges } from './poolChanges.ts';
import { concernsState, followPoolEvents, type PoolEventParts } from './poolEvents.ts';

const event = (name: string) => `${JSON.stringify({ class: name, text: `Jan  1 2026\t${name}` })}\n`;
const STATE = 'resource.fs.zfs.statechange';

/** An execd whose streams the test writes to. */
async function peer(t: TestContext, options: Partial<PoolEventParts> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'events-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const streams: http.ServerResponse[] = [];
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.write('{}\n');
    streams.push(response);
  });
  const socket = join(directory, 'http.sock');
  server.listen(socket);
  await once(server, 'listening');
  const execd = new Execd(new Peer('execd', socket));
  const calls: number[] = [];
  const stop = followPoolEvents({
    open: async () => (await execd.open('pool.events', {})).content,
    changed: () => calls.push(performance.now()),
    leastMs: 50,
    retryMs: 10,
    ...options,
  });
  t.after(() => {
    stop();
    server.closeAllConnections();
    server.close();
  });
  await eventually(async () => assert.equal(streams.length, 1));
  return { streams, asked, calls, stop };
}

test('which events concern the state of a pool', () => {
  for (const name of [
    STATE,
    'resource.fs.zfs.removed',
    'resource.fs.zfs.autoreplace',
    'sysevent.fs.zfs.scrub_start',
    'sysevent.fs.zfs.resilver_finish',
    'sysevent.fs.zfs.vdev_attach',
    'sysevent.fs.zfs.pool_import',
    'ereport.fs.zfs.checksum',
  ]) {
    assert.ok(concernsState(event(name)), name);
  }
  for (const line of [
    event('sysevent.fs.zfs.history_event'),
    event('sysevent.fs.zfs.config_sync'),
    '{}',
    '',
    'null',
    '{"class":7}',
    'not JSON',
  ]) {
    assert.ok(!concernsState(line), line);
  }
});

test('an event causes a look at once, and many of them few', async (t) => {
  const { streams, asked, calls } = await peer(t);
  assert.deepEqual(asked, ['POST /v1/pool.events']);
  const [stream] = streams as [http.ServerResponse];
  stream.write(event('sysevent.fs.zfs.history_event'));
  await sleep(100);
  assert.equal(calls.length, 0);
  const line = event(STATE);
  stream.write(line.slice(0, 20));
  await sleep(20);
  assert.equal(calls.length, 0, 'half a line is none');
  const at = performance.now();
  stream.write(line.slice(20));
  await eventually(async () => assert.equal(calls.length, 1));
  assert.ok((calls[0] as number) - at < 500, 'at once');
  await sleep(100);
  assert.equal(calls.length, 1);
  for (let i = 0; i < 20; i++) {
    stream.write(line.repeat(50));
    await sleep(10);
  }
  await sleep(250);
  assert.ok(calls.length >= 3 && calls.length <= 7, `${calls.length} calls`);
  for (let i = 2; i < calls.length; i++) {
    assert.ok((calls[i] as number) - (calls[i - 1] as number) > 40, 'not more often than said');
  }
});

test('what has ended is opened again, later each time', async (t) => {
  const { streams, calls, stop } = await peer(t);
  streams[0]?.end();
  await eventually(async () => assert.equal(streams.length, 2));
  streams[1]?.destroy();
  await eventually(async () => assert.equal(streams.length, 3));
  streams[2]?.write(event(STATE));
  await eventually(async () => assert.equal(calls.length, 1));
  const gone = once(streams[2] as http.ServerResponse, 'close');
  stop();
  await gone;
  await sleep(150);
  assert.equal(streams.length, 3, 'not after it was stopped');
});

test('a peer that says nothing any more is left', async (t) => {
  // A busy machine may hold a heartbeat up for most of a second.
  const { streams } = await peer(t, { silentMs: 1_000 });
  for (let i = 0; i < 15; i++) {
    await sleep(100);
    streams[0]?.write('{}\n');
  }
  assert.equal(streams.length, 1, 'a heartbeat is enough');
  const gone = once(streams[0] as http.ServerResponse, 'close');
  await eventually(async () => assert.equal(streams.length, 2));
  await gone;
});

test('one that is stopped while it opens listens to nothing', async () => {
  const { PassThrough } = await import('node:stream');
  const late = new PassThrough();
  let tries = 0;
  const stop = followPoolEvents({
    open: async () => {
      tries += 1;
      if (tries === 1) throw new Error('not there yet');
      await sleep(50);
      return late;
    },
    changed: () => assert.fail('nothing happened'),
    retryMs: 10,
  });
  await sleep(30);
  stop();
  await sleep(60);
  assert.ok(late.destroyed);
  assert.equal(tries, 2);
});

test('what was read holds until something happens, and as long as it would be heard of', async (t) => {
  const changes = new PoolChanges();
  assert.deepEqual([changes.pools(), changes.datasets()], [null, null], 'before anything is heard nothing is known');
  const { streams } = await peer(t, { changes });
  await eventually(() => assert.notEqual(changes.pools(), null));
  let [pools, datasets] = [changes.pools(), changes.datasets()];

  streams[0]?.write('{}\n');
  streams[0]?.write(event('sysevent.fs.zfs.history_event'));
  await eventually(() => assert.notEqual(changes.datasets(), datasets));
  assert.equal(changes.pools(), pools, 'a command to a dataset changes no pool');

  datasets = changes.datasets();
  streams[0]?.write(event(STATE));
  await eventually(() => assert.notEqual(changes.pools(), pools));
  assert.notEqual(changes.datasets(), datasets);

  [pools, datasets] = [changes.pools(), changes.datasets()];
  streams[0]?.end();
  await eventually(() => assert.equal(streams.length, 2));
  await eventually(() => assert.notEqual(changes.pools(), null));
  assert.notEqual(changes.pools(), pools, 'nobody knows what happened meanwhile');
  assert.notEqual(changes.datasets(), datasets);
});
