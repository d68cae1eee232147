// One command of a test run: in a process group of its own, its whole output in a log of its own, ended with all that it
// has started when its time is over or the run is interrupted.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '../..');
export const logs = path.join(root, 'out/log');

/** `step` prepares something: it is counted only when it fails. */
export type Format = 'step' | 'check' | 'go' | 'node';

export interface Job {
  /** The part that its time is added to. */
  readonly part: string;
  /** The name of its log; two jobs of a run never share one. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly format: Format;
  /** Names of jobs that must have succeeded first. */
  readonly after?: readonly string[];
  /** Of the jobs with the same word only one runs at a time, or several whose shares are one together. */
  readonly alone?: string;
  /** Of what `alone` names, 1 unless said otherwise: less for one that mostly waits. */
  readonly share?: number;
  /** Of the jobs with the same word another may start once nothing else is left but jobs that mostly wait: processors would idle. */
  readonly pairsAtTheEnd?: boolean;
  /** How many of the run's slots it takes, 1 unless said otherwise: less for one that mostly waits. */
  readonly slots?: number;
  /** How far it stands back for others while it runs, as of nice(1): -20 to 19, below 0 as root alone. */
  readonly nice?: number;
  /** Jobs with a higher one are started first. */
  readonly priority?: number;
  readonly minutes: number;
  /** The command that runs this job again. */
  readonly repeat: string;
}

export interface Ended {
  readonly job: Job;
  readonly code: number | null;
  /** Why it has no exit code of its own making, or did not start at all. */
  readonly trouble: string;
  readonly began: number;
  readonly seconds: number;
  /** Processor time of everything it has waited for. */
  readonly cpuSeconds: number;
}

export const fileOf = (job: Job, kind: string) => path.join(logs, `${job.name.replace(/[^\w.-]+/g, '-')}.${kind}`);

const running = new Map<number, Job>();

/** Ends every process group that runs. */
export function endAll(): void {
  for (const group of running.keys()) endGroup(group);
}

/** After a job was told to end. */
const LAST_WORDS_MS = 10_000;

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // all of it has ended
  }
}

/** What hangs is written down first: the processes, and node's own word on which files it was running. */
function endLate(group: number, log: number): void {
  const columns = 'pid,ppid,stat,wchan:24,etimes,args';
  const { stdout } = spawnSync('ps', ['-ww', '-o', columns, '--forest', '-g', String(group)], { encoding: 'utf8' });
  const lines = (stdout ?? '')
    .split('\n')
    .map((line) => (line.length > 300 ? `${line.slice(0, 120)} … ${line.slice(-170)}` : line));
  writeSync(log, `\nit hangs; these are its processes:\n${lines.join('\n')}\n`);
  // Not the shell around it, whose end has the rest of the group killed before it could say a word; nor the command's own
  // processes: node would only report that its file has failed.
  const command = spawnSync('ps', ['-o', 'pid=', '--ppid', String(group)], { encoding: 'utf8' });
  for (const pid of (command.stdout ?? '').trim().split(/\s+/).map(Number).filter(Boolean)) {
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // it has just ended
    }
  }
  setTimeout(() => running.has(group) && endGroup(group), LAST_WORDS_MS).unref();
}

/** The user and system time of a shell's children, as `times` prints it on its second line: 1m2.34s 0m0.50s. */
export function cpuOf(times: string): number {
  const line = times.trim().split('\n')[1] ?? '';
  let seconds = 0;
  for (const [, minutes, rest] of line.matchAll(/(\d+)m([\d.]+)s/g)) seconds += Number(minutes) * 60 + Number(rest);
  return seconds;
}

/** Linux weighs sessions against each other, where it groups processes by them, and `nice` only within one. */
const WRAPPER = `times=$1 nice=$2; shift 2
if [ "$nice" != 0 ]; then (echo "$nice" >/proc/self/autogroup) 2>/dev/null; fi
nice -n "$nice" "$@"; code=$?; times >"$times"; exit $code`;

export async function runJob(job: Job): Promise<Ended> {
  mkdirSync(logs, { recursive: true });
  const times = fileOf(job, 'times');
  rmSync(times, { force: true });
  const log = openSync(fileOf(job, 'log'), 'w');
  writeSync(log, `$ ${job.argv.join(' ')}\n`);
  // Go's events are read by a program: what it says otherwise belongs to the log.
  const events = job.format === 'go' ? openSync(fileOf(job, 'jsonl'), 'w') : undefined;
  const began = Date.now();
  let trouble = '';
  const child = spawn('sh', ['-c', WRAPPER, 'sh', times, String(job.nice ?? 0), ...job.argv], {
    cwd: job.cwd ?? root,
    env: { ...process.env, ...job.env },
    stdio: ['ignore', events ?? log, log],
    detached: true,
  });
  const code = await new Promise<number | null>((resolve) => {
    const late = setTimeout(() => {
      trouble = `it did not end within ${job.minutes} minutes`;
      if (child.pid) endLate(child.pid, log);
    }, job.minutes * 60_000);
    if (child.pid) running.set(child.pid, job);
    child.on('error', (error) => {
      trouble = error.message;
      resolve(null);
    });
    child.on('exit', (status, signal) => {
      clearTimeout(late);
      if (signal && !trouble) trouble = `it was ended by ${signal}`;
      resolve(status);
    });
  });
  if (child.pid) {
    // What it has started and not ended must not meet the next job.
    endGroup(child.pid);
    running.delete(child.pid);
  }
  closeSync(log);
  if (events !== undefined) closeSync(events);
  let cpuSeconds = 0;
  try {
    cpuSeconds = cpuOf(readFileSync(times, 'utf8'));
    rmSync(times);
  } catch {
    // it was killed before it could say
  }
  return { job, code, trouble, began, seconds: (Date.now() - began) / 1000, cpuSeconds };
}
