// Debian's rsyslog as a receiver over TLS (RFC 5425), on an unprivileged port; it writes down each message as it came.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from './harness.ts';

export interface SyslogReceiver {
  readonly port: number;
  messages(): string[];
  stop(): Promise<void>;
}

/** Who it says it is: PEM. */
export interface Identity {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

export async function rsyslogd(t: TestContext, port: number, identity: Identity): Promise<SyslogReceiver> {
  const home = mkdtempSync(join(tmpdir(), 'rsyslogd-'));
  const at = (name: string) => join(home, name);
  for (const [name, text] of Object.entries(identity)) writeFileSync(at(`${name}.pem`), text, { mode: 0o600 });
  writeFileSync(
    at('rsyslog.conf'),
    `global(
  workDirectory="${home}" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriver="ossl" defaultNetstreamDriverCAFile="${at('ca.pem')}"
  defaultNetstreamDriverCertFile="${at('certificate.pem')}" defaultNetstreamDriverKeyFile="${at('key.pem')}"
)
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imtcp" address="127.0.0.1" port="${port}" ruleset="alerts")
template(name="asItCame" type="string" string="%rawmsg%\\n")
ruleset(name="alerts") { action(type="omfile" file="${at('messages')}" template="asItCame") }
`,
  );
  const child: ChildProcess = spawn(
    '/usr/sbin/rsyslogd',
    ['-n', '-f', at('rsyslog.conf'), '-i', at('pid'), '-o', at('settings')],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said += chunk;
    });
  const messages = () =>
    existsSync(at('messages')) ? readFileSync(at('messages'), 'utf8').split('\n').filter(Boolean) : [];
  let kept: string[] | undefined;
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    kept ??= messages();
    rmSync(home, { recursive: true, force: true });
  };
  t.after(stop);
  await eventually(async () => {
    assert.equal(child.exitCode, null, said);
    assert.ok(await accepts(port), said);
  });
  return { port, messages: () => kept ?? messages(), stop };
}
