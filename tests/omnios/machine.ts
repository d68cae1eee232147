// A folder that looks like a freshly installed OmniOS to ksh scripts, with fake.sh in the place of its commands.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const COMMANDS = [
  ...[
    'chown',
    'coreadm',
    'cp',
    'df',
    'dtrace',
    'groupadd',
    'groupdel',
    'hostname',
    'id',
    'ln',
    'mkdir',
    'mv',
    'pkg',
    'svcadm',
    'svccfg',
    'svcs',
  ],
  ...['uname', 'useradd', 'userdel', 'zfs', 'zonename', 'zpool'],
];

/** What the real commands take, and the program that says so of a call (services/platform/illumos/illumos-command). */
const FAKE_TABLE = join(import.meta.dirname, '../../image/omnios/commands');
const FAKE_COMMAND = join(import.meta.dirname, '../../out/bin/illumos-command');

export interface Ran {
  readonly status: number | null;
  readonly killed: boolean;
  readonly out: string;
  readonly err: string;
}

export class Machine {
  readonly folder = mkdtempSync(join(tmpdir(), 'cistern-omnios-'));
  readonly root = join(this.folder, 'root');
  readonly #path: string;

  /** `fake` is the script that stands for `commands`. */
  constructor(fake = 'fake.sh', commands: readonly string[] = COMMANDS) {
    const bin = join(this.folder, 'bin');
    for (const one of [
      'etc/security/auth_attr.d',
      'etc/security/prof_attr.d',
      'etc/default',
      'usr/bin',
      'usr/sbin',
      'opt',
      'var/run',
      'lib/svc/share',
      'lib/svc/manifest/application',
      'lib/svc/method',
    ]) {
      mkdirSync(join(this.root, one), { recursive: true });
    }
    this.write('etc/os-release', 'NAME="OmniOS"\nID=omnios\nVERSION=r151054\nVERSION_ID=r151054\n');
    this.write('etc/passwd', 'root:x:0:0:Super-User:/root:/usr/bin/bash\nnobody:x:60001:60001:NFS:/:\n');
    this.write('etc/group', 'root::0:\nbin::2:root\nsys::3:root\n');
    this.write('etc/default/init', 'TZ=UTC\nCMASK=022\n');
    this.write('etc/nodename', 'omnios\n');
    this.write('lib/svc/share/smf_include.sh', 'SMF_EXIT_OK=0\nSMF_EXIT_ERR_FATAL=95\nSMF_EXIT_ERR_CONFIG=96\n');
    mkdirSync(bin);
    // Copies: a test that writes a command of its own would write through a link.
    for (const name of commands) cpSync(join(import.meta.dirname, fake), join(bin, name));
    for (const [name, text] of Object.entries({
      packages: 'system/library\nlibrary/security/openssl\n',
      datasets: 'rpool/ROOT/omnios / -\n',
      pools: 'rpool\n',
      labels: 'rpool cache\n',
      unmounted: '',
      services: 'svc:/application/management/net-snmp:default online\nsvc:/network/http:nginx130 disabled\n',
      hostname: 'omnios\n',
      coreadm: '\ndisabled\n',
    })) {
      writeFileSync(join(this.folder, name), text);
    }
    if (!existsSync(FAKE_COMMAND)) throw new Error(`${FAKE_COMMAND} is missing; ./build.sh prepare programs makes it`);
    this.#path = `${bin}:${process.env.PATH ?? ''}`;
  }

  /** A command of this machine, in sh. What the real one refuses is refused in its words, before the text begins. */
  program(path: string, text: string): void {
    const asked = `"$FAKE_COMMAND" "$FAKE_TABLE" "\${0##*/}" "$@"\ncode=$?\n[ $code = 200 ] || exit $code\n`;
    writeFileSync(join(this.folder, path), `#!/bin/sh\n${asked}${text}\n`, { mode: 0o755 });
  }
  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text);
  }
  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }
  /** One of fake.sh's own files. */
  state(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }
  /** As a reboot leaves it: of the pools, those are imported that the cache file lists. */
  reboot(): void {
    const cached = this.state('labels')
      .split('\n')
      .filter((line) => line.split(' ')[1] === 'cache');
    writeFileSync(join(this.folder, 'pools'), cached.map((line) => `${line.split(' ')[0]}\n`).join(''));
    writeFileSync(join(this.folder, 'unmounted'), '');
  }
  calls(): number {
    return this.state('calls').split('\n').length - 1;
  }

  /** Runs a script under ksh93 as the machine's own. */
  run(script: string, args: readonly string[] = [], env: Record<string, string> = {}): Ran {
    rmSync(join(this.folder, 'calls'), { force: true });
    writeFileSync(join(this.folder, 'calls'), '');
    writeFileSync(join(this.folder, 'at'), '0\n');
    const ran = spawnSync('sh', ['-c', 'echo $$ >"$FAKE/pid"; exec ksh93 "$@"', 'sh', script, ...args], {
      env: {
        ...{ PATH: this.#path, FAKE: this.folder, CISTERN_ROOT: this.root, FAKE_RUNS_AS: String(process.getuid?.()) },
        ...{ FAKE_COMMAND, FAKE_TABLE, CISTERN_ILLUMOS_UNKNOWN: join(this.folder, 'unknown') },
        ...env,
      },
      encoding: 'utf8',
      timeout: 120_000,
      input: '',
    });
    if (ran.error !== undefined) throw ran.error;
    return { status: ran.status, killed: ran.signal === 'SIGKILL', out: ran.stdout, err: ran.stderr };
  }

  /** Everything that can be seen of the machine: a change that was not undone shows as a difference of lines. */
  everything(): string[] {
    const lines: string[] = [];
    const walk = (path: string) => {
      for (const name of readdirSync(join(this.root, path)).sort()) {
        const one = path === '' ? name : `${path}/${name}`;
        const at = join(this.root, one);
        const { mode, uid, gid } = lstatSync(at);
        const who = `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
        if (lstatSync(at).isSymbolicLink()) lines.push(`${one} -> ${readlinkSync(at)}`);
        else if (lstatSync(at).isDirectory()) {
          lines.push(`${one}/ ${who}`);
          walk(one);
        } else lines.push(`${one} ${who} ${createHash('sha256').update(readFileSync(at)).digest('hex').slice(0, 12)}`);
      }
    };
    walk('');
    for (const name of ['packages', 'datasets', 'services', 'pools', 'hostname', 'coreadm']) {
      lines.push(
        ...this.state(name)
          .split('\n')
          .sort()
          .map((line) => `${name}: ${line}`),
      );
    }
    return lines;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A copy of a folder with scripts in it. */
export function copy(from: string, to: string): string {
  cpSync(from, to, { recursive: true });
  chmodSync(to, 0o755);
  return to;
}
