// InfluxDB's own clients, of versions 1 and 2, write to a real storaged as to an InfluxDB.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HttpError, InfluxDB, Point } from '@influxdata/influxdb-client';
import { InfluxDB as InfluxDB1 } from 'influx';
import { program } from './cistern.ts';
import { eventually } from './harness.ts';

let storaged: ChildProcess;
let folder: string;
let url: URL;
let said = '';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'influx-clients-'));
  url = new URL(`http://127.0.0.1:${await freePort()}`);
  storaged = spawn(program('storaged'), ['--data', path.join(folder, 'data'), '--http', url.host, '--statsd', ''], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  storaged.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await eventually(async () => {
    assert.equal(storaged.exitCode, null, said);
    assert.ok((await fetch(new URL('/healthz', url)).catch(() => null))?.ok);
  });
});

after(async () => {
  if (storaged.exitCode === null) {
    const ended = once(storaged, 'exit');
    storaged.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The values of all series with a label, by name. */
async function values(selector: string): Promise<Record<string, string>> {
  const answer = await fetch(new URL(`/api/v1/query?query=${encodeURIComponent(selector)}`, url));
  const { data } = (await answer.json()) as {
    data: { result: { metric: { __name__: string }; value: [number, string] }[] };
  };
  return Object.fromEntries(data.result.map(({ metric, value }) => [metric.__name__, value[1]]));
}

test('the client of InfluxDB 2', async () => {
  const api = new InfluxDB({ url: url.href, token: 'any' }).getWriteApi('any', 'bucket', 'ms', { gzipThreshold: 100 });
  const point = new Point('room,1')
    .tag('a b', 'c=d')
    .floatField('temp', 21.5)
    .intField('n', 3)
    .booleanField('on', true);
  api.writePoint(point.stringField('text', 'x "y"\\\nz'));
  for (let i = 0; i < 50; i++) api.writePoint(new Point('many').tag('i', String(i)).uintField('v', i));
  await api.close();
  const found = await values('{db="bucket","a b"="c=d"}');
  assert.deepEqual(found, { 'room,1_temp': '21.5', 'room,1_n': '3', 'room,1_on': '1' });
  assert.deepEqual(await values('sum without (i) (many_v{db="bucket"})'), { undefined: String((49 * 50) / 2) });

  let failure: unknown;
  const failing = new InfluxDB({ url: url.href, token: 'any' }).getWriteApi('any', 'bucket', 'ns', {
    maxRetries: 0,
    writeFailed: async (error) => {
      failure = error;
    },
  });
  failing.writeRecords(['good v=1', 'bad v=x']);
  await failing.close();
  assert.ok(failure instanceof HttpError, String(failure));
  assert.equal(failure.statusCode, 400);
  assert.equal(failure.code, 'invalid');
  assert.match(failure.message, /line 2: the field "v": "x"/);
  assert.deepEqual(await values('good_v'), { good_v: '1' });
});

test('the client of InfluxDB 1', async () => {
  const api = new InfluxDB1({ host: url.hostname, port: Number(url.port), database: 'shop' });
  assert.equal((await api.ping(5000))[0]?.online, true);
  assert.deepEqual(await api.getDatabaseNames(), ['cistern']);
  await api.createDatabase('shop');
  await api.writePoints([{ measurement: 'queue', tags: { host: 'h' }, fields: { depth: 1.5 } }]);
  assert.deepEqual(await values('{db="shop",host="h"}'), { queue_depth: '1.5' });
  await assert.rejects(
    api.writePoints([{ measurement: 'cistern', fields: { x: 1 } }]),
    /names that begin with cistern_ are those of the appliance/,
  );
});
