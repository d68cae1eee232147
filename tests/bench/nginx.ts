// ./build.sh bench nginx: what the DTrace provider costs the web server when no probe is enabled: the image's nginx with the
// module and without it, in ten pairs of runs under wrk, each pair in the other order than the one before. Figures are
// processor time of the worker for each request, and requests a second. What an enabled probe costs can be measured only on
// hardware with DTrace, and has not been.
// Nothing here passes or fails: the figures are read by people.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { freePorts } from '../ports.ts';
import { until } from '../stack/http.ts';

const PAIRS = 10;
const SECONDS = 4;
const CONNECTIONS = 16;
const TICKS = 100; // of /proc's processor times, in a second

const cache =
  process.env.CISTERN_CACHE ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'cistern');

/** The newest stage of that kind that holds the file. */
function stage(kind: string, file: string): string {
  const stages = path.join(cache, 'stages');
  const found = readdirSync(stages)
    .filter((name) => new RegExp(`^${kind}-[0-9a-f]+$`).test(name) && existsSync(path.join(stages, name, file)))
    .map((name) => path.join(stages, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (found[0] === undefined) throw new Error(`There is no ${kind} in ${stages}. Run ./build.sh image first.`);
  return found[0];
}

const root = path.join(stage('rootfs', 'root/usr/sbin/nginx'), 'root');
const module = path.join(stage('nginx-dtrace', 'ngx_http_dtrace_module.so'), 'ngx_http_dtrace_module.so');
const dir = mkdtempSync(path.join(tmpdir(), 'cistern-bench-'));

interface Server {
  readonly master: ChildProcess;
  readonly worker: number;
  readonly url: string;
}

async function start(name: string, port: number, first: string): Promise<Server> {
  const file = path.join(dir, `${name}.conf`);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${dir}/${name}-${one};`,
  );
  writeFileSync(
    file,
    `${first}
user root;
daemon off;
worker_processes 1;
pid ${dir}/${name}.pid;
error_log stderr error;
events { worker_connections 512; }
http {
  access_log off;
  keepalive_requests 1000000;
  ${temp.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / { return 200 "a page of the size that an answer of the API mostly has\\n"; }
  }
}
`,
  );
  const lib = path.join(root, 'usr/lib/x86_64-linux-gnu');
  const args = ['--library-path', lib, path.join(root, 'usr/sbin/nginx'), '-p', dir, '-c', file];
  const master = spawn(path.join(root, 'usr/lib64/ld-linux-x86-64.so.2'), args, {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const worker = await until(`nginx ${name} answers`, async () => {
    const answered = await new Promise<boolean>((resolve) => {
      const asked = http.get({ host: '127.0.0.1', port }, (reply) => {
        reply.resume();
        resolve(reply.statusCode === 200);
      });
      asked.on('error', () => resolve(false));
    });
    if (!answered) return undefined;
    return Number(readFileSync(`/proc/${master.pid}/task/${master.pid}/children`, 'utf8').trim().split(' ')[0]);
  });
  return { master, worker, url: `http://127.0.0.1:${port}/` };
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

interface Run {
  readonly micros: number;
  readonly perSecond: number;
}

function run({ worker, url }: Server): Run {
  const before = cpuSeconds(worker);
  const said = execFileSync('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, url], { encoding: 'utf8' });
  const cpu = cpuSeconds(worker) - before;
  const requests = Number(/(\d+) requests in/.exec(said)?.[1]);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1]);
  if (!(requests > 0) || /Non-2xx|Socket errors/.test(said)) throw new Error(said);
  return { micros: (cpu / requests) * 1e6, perSecond };
}

const ordered = (values: readonly number[]) => [...values].sort((a, b) => a - b);
const median = (values: readonly number[]) => ordered(values)[Math.floor(values.length / 2)] as number;
const row = (what: string, measured: string, asked: string) =>
  console.log(`${what.padEnd(62)} ${measured.padStart(34)}   (asked: ${asked})`);

const servers: Server[] = [];
try {
  const [one, two] = (await freePorts(2)) as [number, number];
  const plain = await start('plain', one, '');
  servers.push(plain);
  const probed = await start('probed', two, `load_module ${module};`);
  servers.push(probed);
  run(plain);
  run(probed);
  const pairs: { readonly without: Run; readonly withModule: Run }[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    if (pair % 2 === 0) {
      const without = run(plain);
      pairs.push({ without, withModule: run(probed) });
    } else {
      const withModule = run(probed);
      pairs.push({ without: run(plain), withModule });
    }
  }
  const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(2)} %`;
  const cpu = pairs.map(({ without, withModule }) => withModule.micros / without.micros);
  const speed = pairs.map(({ without, withModule }) => without.perSecond / withModule.perSecond);
  const cost = (of: readonly Run[]) => `${median(of.map(({ micros }) => micros)).toFixed(2)} µs`;
  row(
    'processor time a request, without and with the module',
    `${cost(pairs.map(({ without }) => without))}, ${cost(pairs.map(({ withModule }) => withModule))}`,
    '',
  );
  row(
    `the module costs, processor time, median of ${PAIRS} pairs`,
    `${percent(median(cpu))} (${percent(ordered(cpu)[0] as number)} … ${percent(ordered(cpu).at(-1) as number)})`,
    '≤ 1 %',
  );
  row(`the module costs, requests a second, median of ${PAIRS} pairs`, percent(median(speed)), '≤ 1 %');
} finally {
  const ended = servers.map(({ master }) => once(master, 'exit'));
  for (const { master } of servers) master.kill('SIGTERM');
  await Promise.all(ended);
  rmSync(dir, { recursive: true, force: true });
}
