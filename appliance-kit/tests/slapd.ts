// Debian's OpenLDAP as a directory, on unprivileged ports, for a test. Nothing is installed: the package is unpacked in the cache.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Signed, signed } from './certificates.ts';
import { eventually } from './harness.ts';

const clients = join(process.env.CISTERN_CACHE ?? join(homedir(), '.cache/cistern'), 'clients');
/** Never another one than the machine's own. */
const OF_THE_MACHINE = /^lib(c6|crypt1)$/;

function program(): string {
  const folder = join(clients, 'slapd');
  if (existsSync(join(folder, 'usr/sbin/slapd'))) return folder;
  mkdirSync(clients, { recursive: true });
  const work = mkdtempSync(join(clients, 'slapd-'));
  try {
    const apt = (...args: string[]) =>
      execFileSync('apt-get', ['-o', 'APT::Sandbox::User=root', ...args], { cwd: work, stdio: 'pipe' });
    /** slapd itself, and the libraries that it was built for. */
    const download = () => {
      const said = execFileSync('apt-cache', ['depends', 'slapd'], { encoding: 'utf8' });
      const libraries = [...said.matchAll(/^ *Depends: (lib\S+)/gm)].map((found) => found[1] as string);
      const all = ['slapd', ...libraries.filter((one) => !OF_THE_MACHINE.test(one))];
      apt('download', ...all);
      return all;
    };
    let packages: string[];
    try {
      packages = download();
    } catch {
      apt('update');
      packages = download();
    }
    for (const one of packages)
      execFileSync('sh', ['-c', 'exec dpkg-deb -x "$1"_*.deb root', 'sh', one], { cwd: work, stdio: 'pipe' });
    // Another test may have been faster.
    if (!existsSync(folder)) renameSync(join(work, 'root'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export const SUFFIX = 'dc=example,dc=test';
export const READER = { dn: `cn=reader,${SUFFIX}`, password: 'reader-secret' };
export const ROOT = { dn: `cn=root,${SUFFIX}`, password: 'root-secret' };
export const person = (uid: string) => `uid=${uid},ou=people,${SUFFIX}`;
export const group = (cn: string) => `cn=${cn},ou=groups,${SUFFIX}`;

const entry = (dn: string, ...lines: string[]) => `dn: ${dn}\n${lines.join('\n')}\n\n`;
const personOf = (uid: string) =>
  entry(
    person(uid),
    'objectClass: inetOrgPerson',
    `cn: ${uid}`,
    `sn: ${uid}`,
    `uid: ${uid}`,
    `userPassword: ${uid}-secret`,
  );
const groupOf = (cn: string, ...members: string[]) =>
  entry(group(cn), 'objectClass: groupOfNames', `cn: ${cn}`, ...members.map((dn) => `member: ${dn}`));

/** bob views; carol is an operator by a group within a group; ada administers, and has the name of a local user; dave is in none. */
const content = [
  entry(SUFFIX, 'objectClass: dcObject', 'objectClass: organization', 'o: Example', 'dc: example'),
  ...['people', 'groups'].map((ou) => entry(`ou=${ou},${SUFFIX}`, 'objectClass: organizationalUnit', `ou: ${ou}`)),
  entry(READER.dn, 'objectClass: person', 'cn: reader', 'sn: reader', `userPassword: ${READER.password}`),
  ...['ada', 'bob', 'carol', 'dave', 'e*e'].map(personOf),
  groupOf('viewers', person('bob')),
  groupOf('night shift', person('carol')),
  groupOf('operators', group('night shift')),
  groupOf('admins', person('ada')),
].join('');

export interface Slapd {
  readonly ldaps: string;
  readonly ldap: string;
  readonly identity: Signed;
  /** Takes connections, and says nothing. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function slapd(
  t: { after(end: () => void | Promise<void>): void },
  identity = signed(['IP:127.0.0.1', 'DNS:localhost']),
): Promise<Slapd> {
  const folder = program();
  const home = mkdtempSync(join(tmpdir(), 'slapd-'));
  const at = (name: string) => join(home, name);
  for (const [name, text] of Object.entries(identity)) writeFileSync(at(`${name}.pem`), text, { mode: 0o600 });
  mkdirSync(at('data'));
  const schema = ['core', 'cosine', 'inetorgperson', 'nis'].map(
    (one) => `include ${folder}/etc/ldap/schema/${one}.schema`,
  );
  writeFileSync(
    at('slapd.conf'),
    `${schema.join('\n')}
pidfile ${at('pid')}
modulepath ${folder}/usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile ${at('ca.pem')}
TLSCertificateFile ${at('certificate.pem')}
TLSCertificateKeyFile ${at('key.pem')}
# Nothing is answered without TLS.
security tls=1
database mdb
maxsize 10485760
suffix "${SUFFIX}"
rootdn "${ROOT.dn}"
rootpw ${ROOT.password}
directory ${at('data')}
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${READER.dn}" read by self read by * none
`,
  );
  writeFileSync(at('content.ldif'), content);
  const env = { ...process.env, LD_LIBRARY_PATH: join(folder, 'usr/lib/x86_64-linux-gnu') };
  const binary = join(folder, 'usr/sbin/slapd');
  execFileSync(binary, ['-T', 'add', '-f', at('slapd.conf'), '-l', at('content.ldif')], { env, stdio: 'pipe' });
  const ports = [await freePort(), await freePort()] as const;
  const [ldaps, ldap] = [`ldaps://127.0.0.1:${ports[0]}`, `ldap://127.0.0.1:${ports[1]}`];
  const child = spawn(
    binary,
    ['-d', process.env.SLAPD_DEBUG ?? '0', '-f', at('slapd.conf'), '-h', `${ldaps} ${ldap}`],
    { env, stdio: ['ignore', 'ignore', process.env.SLAPD_DEBUG ? 'inherit' : 'ignore'] },
  );
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await ended;
  };
  t.after(async () => {
    await stop();
    rmSync(home, { recursive: true, force: true });
  });
  for (const port of ports)
    await eventually(async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect').finally(() => socket.destroy());
    });
  return { ldaps, ldap, identity, pause: () => child.kill('SIGSTOP'), resume: () => child.kill('SIGCONT'), stop };
}
