// The real storaged beside an appliance of the tests, at the socket at which akd asks it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { program } from './cistern.ts';
import { type Bench, eventually } from './harness.ts';

export interface StoredSample {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Seconds since the epoch; now when left out. */
  readonly time?: number;
  readonly value?: number;
  readonly histogram?: { readonly bins: Readonly<Record<string, number>> };
}

export interface Store {
  /** As somebody on the network sends them; all have to be taken. */
  readonly import: (samples: readonly StoredSample[]) => Promise<void>;
  /** As a daemon of the appliance stores what it measures: names that begin with `cistern_` are its own. */
  readonly importOwn: (samples: readonly StoredSample[]) => Promise<void>;
  /** All that a selector matches is gone when it resolves. */
  readonly remove: (selector: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function storaged(t: TestContext, { directory }: Pick<Bench, 'directory'>): Promise<Store> {
  const folder = join(directory, 'run', 'storaged');
  mkdirSync(folder, { recursive: true });
  const socketPath = join(folder, 'http.sock');
  const flags = ['--data', join(directory, 'telemetry'), '--socket', socketPath, '--statsd', '', '--statsd-admin', ''];
  const child = spawn(program('storaged'), flags, { stdio: ['ignore', 'ignore', 'inherit'] });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  };
  t.after(stop);
  const ask = (method: string, path: string, body?: unknown, from?: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        ...(from !== undefined && { 'x-forwarded-for': from }),
      };
      const request = http.request({ socketPath, method, path, headers });
      request.on('error', reject);
      request.on('response', async (response) => {
        const text = Buffer.concat(await response.toArray()).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text });
      });
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  await eventually(async () => assert.equal((await ask('GET', '/healthz')).status, 200), 60_000);
  const take = async (samples: readonly StoredSample[], from?: string) => {
    const { status, text } = await ask('POST', '/api/v1/import', { samples }, from);
    assert.equal(status, 200, text);
    assert.deepEqual((JSON.parse(text) as { rejected: unknown[] | null }).rejected ?? [], []);
  };
  return {
    stop,
    remove: async (selector) => {
      const { status, text } = await ask('POST', `/admin/tsdb/delete_series?match[]=${encodeURIComponent(selector)}`);
      assert.equal(status, 204, text);
    },
    import: (samples) => take(samples, '192.0.2.1'),
    importOwn: (samples) => take(samples),
  };
}
