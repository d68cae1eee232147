// The whole product on this machine, without a privilege: storaged, supportd, gatherd, akd with the simulated platform, and nginx
// with the appliance's own configuration; in a directory of its own, on free ports. `./build.sh dev` and the browser
// tests use it alike.
import { execFileSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StandIn, type StandInOptions } from '../../appliance-kit/tests/tracerd.ts';
import { freePorts } from '../ports.ts';
import { binaries, build, root } from './build.ts';
import { type Asked, ask, type Reply, until } from './http.ts';
import { included, nginxConfiguration, ownCommand } from './nginx.ts';
import { type LogLine, Process } from './process.ts';

export type PartName = 'storaged' | 'supportd' | 'gatherd' | 'akd' | 'nginx' | 'vite';

export interface StackOptions {
  /** `built`: as the appliance has them. `vite`: from source, with hot replacement. */
  readonly ui?: 'built' | 'vite';
  readonly httpsPort?: number;
  /** statsd over UDP and TCP; a free one unless given. */
  readonly statsdPort?: number;
  /** Restart akd when its sources change. */
  readonly watch?: boolean;
  /** Node's arguments up to akd's program; its sources unless given. */
  readonly akd?: readonly string[];
  /** A stand-in for tracerd that writes made-up measurements; without it there is none. */
  readonly tracerd?: Omit<StandInOptions, 'socket' | 'write'>;
  readonly log?: LogLine;
  /** What is waited for, while it starts. */
  readonly progress?: (line: string) => void;
}

/** As the appliance makes it at its first boot: letters and digits that cannot be taken for each other. */
function newSetupCode(): string {
  const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  const group = () => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('');
  return `${group()}-${group()}-${group()}`;
}

export class Stack {
  readonly dir: string;
  readonly setupCode = newSetupCode();
  /** The origin of the pages: https://localhost:PORT. */
  url = '';
  /** The origin for programs that have a certificate. */
  certificateUrl = '';
  statsdPort = 0;
  #parts = new Map<PartName, Process>();
  /** Stopped and started by a test to see what its absence means. */
  tracerd: StandIn | null = null;
  readonly #options: StackOptions;
  readonly #run: string;
  #vitePort = 0;
  readonly #log: LogLine;
  /** Every line any part wrote. */
  readonly logFile: string;

  constructor(options: StackOptions = {}) {
    this.#options = options;
    this.dir = mkdtempSync(path.join(tmpdir(), 'cistern-'));
    this.#run = path.join(this.dir, 'run');
    this.logFile = path.join(this.dir, 'log');
    this.#log = (name, line) => {
      appendFileSync(this.logFile, `${name.padEnd(8)} | ${line}\n`);
      this.note(name, line);
      options.log?.(name, line);
    };
  }

  /** A line of a part's log, as supportd reads it where there is no journal. */
  note(name: string, line: string): void {
    const logs = path.join(this.dir, 'logs');
    if (existsSync(logs)) appendFileSync(path.join(logs, `${name}.log`), `${new Date().toISOString()} ${line}\n`);
  }

  async start(): Promise<void> {
    const { dir } = this;
    const ui = this.#options.ui ?? 'built';
    const run = this.#run;
    for (const name of ['storaged', 'supportd', 'gatherd', 'akd', 'tracerd'])
      mkdirSync(path.join(run, name), { recursive: true });
    for (const name of ['data', 'support', 'akd', 'nginx', 'setup', 'tls', 'logs', 'command-line'])
      mkdirSync(path.join(dir, name));
    const pages = path.join(dir, 'ui');
    this.#options.progress?.(ui === 'built' ? 'building the programs and the pages' : 'building the programs');
    await build(ui === 'built' ? pages : undefined);
    this.#options.progress?.('starting the parts');

    // As the image has it, but for the archives of other systems, which would take minutes to build.
    execFileSync(process.execPath, [
      ...[path.join(root, 'ui/scripts/write-commands.ts'), path.join(dir, 'command-line')],
      ...['development', ownCommand, path.join(binaries, 'cistern')],
    ]);
    const places = path.join(dir, 'places.conf');
    writeFileSync(places, `default ${randomBytes(32).toString('hex')};\n`, { mode: 0o600 });
    writeFileSync(path.join(dir, 'setup/code'), `${this.setupCode}\n`, { mode: 0o600 });
    const certificate = path.join(dir, 'tls/cert.pem');
    const key = path.join(dir, 'tls/key.pem');
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '365'],
        ...['-subj', '/O=Cistern/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
        ...['-keyout', key, '-out', certificate],
      ],
      { stdio: 'pipe' },
    );

    const [freeHttps, httpPort, vitePort, freeStatsd, certificatePort] = (await freePorts(5)) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const httpsPort = this.#options.httpsPort ?? freeHttps;
    this.statsdPort = this.#options.statsdPort ?? freeStatsd;
    this.url = `https://localhost:${httpsPort}`;
    this.certificateUrl = `https://localhost:${certificatePort}`;

    this.#add('storaged', path.join(binaries, 'storaged'), [
      ...['--data', path.join(dir, 'data'), '--socket', `${run}/storaged/http.sock`],
      ...['--tls-folder', path.join(dir, 'storaged')],
      ...['--statsd', `127.0.0.1:${this.statsdPort}`],
      // Several stacks run side by side; the administrator's port is one.
      ...['--statsd-admin', ''],
    ]);
    this.#add('supportd', path.join(binaries, 'supportd'), [
      ...['--socket', `${run}/supportd/http.sock`, '--dir', path.join(dir, 'support')],
      ...['--run', run, '--state', dir, '--logs', path.join(dir, 'logs')],
    ]);
    this.#add('gatherd', path.join(binaries, 'gatherd'), [
      ...['--socket', `${run}/gatherd/http.sock`, '--run', run, '--state', dir],
    ]);
    const watch = this.#options.watch ? ['--watch', '--watch-preserve-output'] : [];
    this.#add('akd', process.execPath, [
      ...[...watch, ...(this.#options.akd ?? [path.join(root, 'appliance-kit/src/main.ts')]), '--platform', 'sim'],
      ...['--run', run, '--state', path.join(dir, 'akd'), '--setup-code-file', path.join(dir, 'setup/code')],
      ...['--places-file', places],
      ...['--cistern', binaries, '--https-port', String(httpsPort)],
    ]);
    const configuration = path.join(dir, 'nginx.conf');
    for (const file of included) copyFileSync(file, path.join(dir, path.basename(file)));
    this.#vitePort = vitePort;
    const from = ui === 'built' ? { built: pages } : { vitePort };
    writeFileSync(
      configuration,
      nginxConfiguration({
        dir: path.join(dir, 'nginx'),
        run,
        support: path.join(dir, 'support'),
        commands: path.join(dir, 'command-line'),
        command: path.join(binaries, 'cistern'),
        httpPort,
        httpsPort,
        certificatePort,
        certificate,
        key,
        places,
        ui: from,
      }),
    );
    const nginx = execFileSync('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin command -v nginx'], {
      encoding: 'utf8',
    }).trim();
    this.#add('nginx', nginx, ['-p', dir, '-c', configuration, '-g', 'daemon off;']);
    if (ui === 'vite') {
      this.#add('vite', process.execPath, [path.join(root, 'node_modules/vite/bin/vite.js'), path.join(root, 'ui')], {
        CISTERN_VITE_PORT: String(vitePort),
        CISTERN_HTTPS_PORT: String(httpsPort),
      });
    }
    await Promise.all(
      [...this.#parts.keys()].map(async (name) => {
        await this.startPart(name);
        this.#options.progress?.(`${name} answers`);
      }),
    );
    if (this.#options.tracerd !== undefined) {
      this.tracerd = new StandIn({
        ...this.#options.tracerd,
        socket: `${run}/tracerd/http.sock`,
        write: (samples) => this.import(samples),
      });
      await this.tracerd.start();
    }
  }

  #add(name: PartName, command: string, args: string[], env: Record<string, string> = {}): void {
    this.#parts.set(name, new Process({ name, command, args, env, cwd: this.dir }, this.#log));
  }

  #part(name: PartName): Process {
    const part = this.#parts.get(name);
    if (part === undefined) throw new Error(`${name} is not a part of this stack`);
    return part;
  }

  /** The process of a part that runs. */
  pid(name: PartName): number {
    const { pid } = this.#part(name);
    if (pid === undefined) throw new Error(`${name} does not run`);
    return pid;
  }

  /** Starts a part, and returns when it answers. */
  async startPart(name: PartName): Promise<void> {
    const part = this.#part(name);
    part.start();
    await until(`${name} is ready (see ${this.logFile})`, async () => {
      if (!part.running) throw new Error(`${name} has ended`);
      return (await this.#ready(name)) || undefined;
    });
  }

  /** A part that hangs, or goes on. */
  hang(name: PartName, hangs: boolean): void {
    this.#part(name).signal(hangs ? 'SIGSTOP' : 'SIGCONT');
  }

  async killPart(name: PartName): Promise<void> {
    await this.#part(name).stop('SIGKILL');
  }

  async stopPart(name: PartName): Promise<void> {
    await this.#part(name).stop(name === 'nginx' ? 'SIGQUIT' : 'SIGTERM');
  }

  async #ready(name: PartName): Promise<boolean> {
    switch (name) {
      case 'storaged':
        return (await this.socket('storaged', '/healthz')).status === 200;
      case 'supportd':
        return (await this.socket('supportd', '/bundles')).status === 200;
      case 'gatherd':
        return (await this.socket('gatherd', '/crash-files')).status === 200;
      case 'akd':
        return (await this.socket('akd', '/api/setup')).status === 200;
      case 'nginx':
        return (await ask(new URL('/internal/', this.url))).status === 404;
      case 'vite':
        // Not by way of nginx, which would log each try as an error.
        return (await fetch(`http://127.0.0.1:${this.#vitePort}/`)).ok;
    }
  }

  /** Asks a part itself, past nginx. */
  socket(part: 'storaged' | 'supportd' | 'gatherd' | 'akd', path: string, asked?: Asked): Promise<Reply> {
    return ask({ socketPath: `${this.#run}/${part}/http.sock`, path }, asked);
  }

  /** Makes the simulated machine fail, or well again: appliance-kit/src/platform/sim says what there is. */
  async simulate(what: string, args: Record<string, unknown> = {}): Promise<void> {
    const reply = await this.socket('akd', `/internal/sim/${what}`, { method: 'POST', body: args });
    if (reply.status !== 204) throw new Error(`simulate ${what}: ${reply.status} ${reply.text}`);
  }

  /** Samples straight into the store. `from`: the address of a sender, whose hosts are listed; else the appliance's own. */
  async import(samples: unknown[], from?: string): Promise<void> {
    const headers: Record<string, string> = from === undefined ? {} : { 'x-forwarded-for': from };
    const reply = await this.socket('storaged', '/api/v1/import', { headers, body: { samples } });
    if (reply.status !== 200) throw new Error(`import: ${reply.status} ${reply.text}`);
    const { rejected } = reply.json<{ rejected?: unknown[] }>();
    if (rejected && rejected.length > 0) throw new Error(`import: refused ${JSON.stringify(rejected.slice(0, 3))}`);
  }

  async stop(): Promise<void> {
    await this.tracerd?.stop();
    await Promise.all([...this.#parts.keys()].map((name) => this.stopPart(name)));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
