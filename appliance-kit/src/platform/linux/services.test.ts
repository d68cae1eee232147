import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TestClock } from '../../../tests/harness.ts';
import { serviceFacts } from '../service-facts.ts';
import { LinuxServices, unitOf } from './services.ts';

/** systemd with one main process a service, but for storaged, which is stopped; and its control groups. */
function systemd(t: TestContext) {
  const cgroups = mkdtempSync(join(tmpdir(), 'cgroups-'));
  t.after(() => rmSync(cgroups, { recursive: true, force: true }));
  const pids = new Map(serviceFacts.map(({ name }, index) => [name, name === 'storaged' ? 0 : 100 + index]));
  const put = (name: string, file: string, text: string) => {
    mkdirSync(join(cgroups, unitOf(name)), { recursive: true });
    writeFileSync(join(cgroups, unitOf(name), file), text);
  };
  const begin = (name: string, pid: number) => {
    pids.set(name, pid);
    put(name, 'cgroup.procs', `${pid}\n7\n`);
    put(name, 'memory.current', '4096\n');
    // A part of it is of the time before the service was started.
    put(name, 'cpu.stat', 'usage_usec 5000000\nuser_usec 1\n');
  };
  for (const [name, pid] of pids) if (pid > 0) begin(name, pid);
  let asked = 0;
  let state: Record<string, string> = {};
  const clock = new TestClock();
  const services = new LinuxServices({
    clock,
    cgroups,
    command: async () => {
      asked++;
      return [...pids]
        .map(([name, pid]) =>
          Object.entries({
            ...{ Id: unitOf(name), LoadState: 'loaded', Result: 'success', MainPID: pid, NRestarts: 0 },
            ...{ ActiveState: pid > 0 ? 'active' : 'inactive', MemoryCurrent: 4096, CPUUsageNSec: 2_000_000_000 },
            ...(name === 'nginx' && state),
          })
            .map(([key, value]) => `${key}=${value}`)
            .join('\n'),
        )
        .join('\n\n');
    },
  });
  return {
    ...{ services, clock, put, begin, pids },
    asked: () => asked,
    nginx: (fields: Record<string, string>) => {
      state = fields;
    },
    gone: (name: string) => rmSync(join(cgroups, unitOf(name)), { recursive: true }),
    read: async (name: string) => (await services.read()).find((one) => one.name === name),
  };
}

test('while the same processes run systemd is not asked, and memory and time are those of now', async (t) => {
  const { read, asked, put } = systemd(t);
  assert.deepEqual([(await read('akd'))?.memoryBytes, (await read('akd'))?.cpuSeconds], [4096, 2]);
  put('akd', 'memory.current', '8192\n');
  put('akd', 'cpu.stat', 'usage_usec 6500000\nuser_usec 1\n');
  const akd = await read('akd');
  assert.deepEqual([akd?.state, akd?.memoryBytes, akd?.cpuSeconds], ['online', 8192, 3.5]);
  assert.equal((await read('storaged'))?.state, 'stopped');
  assert.equal(asked(), 1);
});

test('systemd is asked when a process has ended, was started or is another one', async (t) => {
  const { read, asked, begin, gone, pids } = systemd(t);
  await read('akd');
  begin('storaged', 900);
  assert.equal((await read('storaged'))?.state, 'online');
  assert.equal(asked(), 2);
  begin('tracerd', 901);
  assert.equal((await read('tracerd'))?.pid, 901);
  assert.equal(asked(), 3);
  gone('replicd');
  pids.set('replicd', 0);
  assert.equal((await read('replicd'))?.state, 'stopped');
  assert.equal(asked(), 4);
  await read('akd');
  assert.equal(asked(), 4);
});

test('systemd is asked each time while something is wrong or under way, after half a minute, and after a change', async (t) => {
  const { read, asked, nginx, services, clock } = systemd(t);
  nginx({ ActiveState: 'failed', Result: 'exit-code', ExecMainStatus: '1' });
  assert.equal((await read('nginx'))?.state, 'failed');
  await read('nginx');
  assert.equal(asked(), 2);
  nginx({ ActiveState: 'activating' });
  await read('nginx');
  nginx({});
  assert.equal((await read('nginx'))?.state, 'online');
  assert.equal(asked(), 4);
  await read('nginx');
  assert.equal(asked(), 4);
  clock.advance(30);
  await read('nginx');
  assert.equal(asked(), 5);
  services.forget();
  await read('nginx');
  assert.equal(asked(), 6);
});
