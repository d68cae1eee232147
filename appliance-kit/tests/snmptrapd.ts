// net-snmp's own trap receiver, on an unprivileged port.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import dgram from 'node:dgram';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from './harness.ts';

export interface Receiver {
  readonly port: number;
  /** Everything it has printed: one trap a line. */
  text(): string;
  traps(): string[];
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const socket = dgram.createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

export async function snmptrapd(t: TestContext, configuration: string, fixedPort?: number): Promise<Receiver> {
  const port = fixedPort ?? (await freePort());
  const home = mkdtempSync(join(tmpdir(), 'snmptrapd-'));
  mkdirSync(join(home, 'persistent'));
  const file = join(home, 'snmptrapd.conf');
  // %N is the enterprise, %W the kind, %v the variables: on one line, with numbers for names.
  writeFileSync(file, `${configuration}\nformat1 TRAP %v\\n\nformat2 TRAP %P | %v\\n\noutputOption n\n`, {
    mode: 0o600,
  });
  const child: ChildProcess = spawn(
    '/usr/sbin/snmptrapd',
    ['-f', '-Lo', '-C', '-c', file, '-On', '-m', '', `udp:127.0.0.1:${port}`],
    { env: { PATH: process.env.PATH, SNMP_PERSISTENT_DIR: join(home, 'persistent'), SNMPCONFPATH: home, MIBS: '' } },
  );
  let printed = '';
  child.stdout?.on('data', (chunk) => {
    printed += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    printed += chunk;
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(home, { recursive: true, force: true });
  };
  t.after(stop);
  await eventually(() => assert.match(printed, /NET-SNMP version/));
  return {
    port,
    text: () => printed,
    traps: () => printed.split('\n').filter((line) => line.startsWith('TRAP ')),
    stop,
  };
}
