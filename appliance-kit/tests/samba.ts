// Debian's Samba as an Active Directory, for a test that runs in a network namespace of its own: its ports are fixed, and
// below 1024.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { signed } from './certificates.ts';
import { eventually } from './harness.ts';

const REALM = 'EXAMPLE.TEST';
export const BASE = 'DC=example,DC=test';
export const ADMINISTRATOR = { dn: `CN=Administrator,CN=Users,${BASE}`, password: 'Adm1n-secret' };

export interface Samba {
  readonly ldaps: string;
  readonly ldap: string;
  readonly ca: string;
  /** samba-tool with these arguments, on this directory. */
  tool(...args: string[]): void;
}

export async function samba(t: { after(end: () => void | Promise<void>): void }): Promise<Samba> {
  const names = Object.keys(networkInterfaces());
  if (names.join() !== 'lo') throw new Error(`this is no network namespace of the test's own: it has ${names}`);
  const home = mkdtempSync(join(tmpdir(), 'samba-'));
  const at = (name: string) => join(home, name);
  const identity = signed(['IP:127.0.0.1', 'DNS:dc1.example.test']);
  for (const [name, text] of Object.entries(identity)) writeFileSync(at(`${name}.pem`), text, { mode: 0o600 });
  const options = [
    ...['interfaces=lo', 'bind interfaces only=yes', 'server services=ldap, kdc', `pid directory=${home}`],
    ...[`tls cafile=${at('ca.pem')}`, `tls certfile=${at('certificate.pem')}`, `tls keyfile=${at('key.pem')}`],
  ].map((one) => `--option=${one}`);
  const provision = [`--realm=${REALM}`, '--domain=EXAMPLE', `--adminpass=${ADMINISTRATOR.password}`];
  const more = [
    '--server-role=dc',
    '--dns-backend=NONE',
    '--host-name=dc1',
    '--host-ip=127.0.0.1',
    `--targetdir=${at('dc')}`,
  ];
  execFileSync('samba-tool', ['domain', 'provision', ...provision, ...more, ...options], { stdio: 'pipe' });
  const config = at('dc/etc/smb.conf');
  const tool = (...args: string[]) => {
    execFileSync('samba-tool', [...args, '-s', config], { stdio: 'pipe' });
  };
  const child = spawn('samba', ['-s', config, '--interactive', '--model=single', ...options], {
    // It ends when it has nothing to read from any more.
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  for (const port of [389, 636])
    await eventually(async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect').finally(() => socket.destroy());
    }, 60_000);
  return { ldaps: 'ldaps://127.0.0.1', ldap: 'ldap://127.0.0.1', ca: identity.ca, tool };
}
