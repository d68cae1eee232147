// A remote writer that no one here wrote: Debian's own Prometheus, scraping itself every second and writing to the
// appliance.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../ports.ts';
import { until } from './until.ts';

export interface Writer {
  stop(): Promise<void>;
  log(): string;
}

export async function prometheus(dir: string, url: string, token: string): Promise<Writer> {
  const program = process.env.CISTERN_PROMETHEUS ?? resolve('out/prometheus/usr/bin/prometheus');
  if (!existsSync(program)) throw new Error(`there is no ${program}: ./build.sh test vm unpacks it`);
  mkdirSync(dir, { recursive: true });
  const port = await freePort();
  writeFileSync(
    join(dir, 'prometheus.yml'),
    `global: {scrape_interval: 1s}
scrape_configs:
  - job_name: itself
    static_configs: [{targets: ['127.0.0.1:${port}']}]
remote_write:
  - url: ${url}/api/v1/write
    authorization: {credentials: ${token}}
    tls_config: {insecure_skip_verify: true}
    queue_config: {batch_send_deadline: 1s, min_shards: 1, max_shards: 1}
    metadata_config: {send: false}
`,
    { mode: 0o600 },
  );
  const log = openSync(join(dir, 'log'), 'w');
  const child: ChildProcess = spawn(
    program,
    [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', log, log] },
  );
  closeSync(log);
  const read = () => readFileSync(join(dir, 'log'), 'utf8');
  await until('Prometheus is ready', 60, () => {
    if (child.exitCode !== null) throw new Error(read().slice(-800));
    return read().includes('Server is ready');
  });
  return {
    log: read,
    stop: async () => {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}
