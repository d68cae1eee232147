// Long work: started, watched, cancelled, and remembered. A job cannot outlive the process that runs it, so one that
// was running when akd ended is marked as interrupted at the next start.

import type { Audit } from '../access/audit/index.ts';
import { type Clock, iso } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { logFailure } from '../base/problems/log-failure.ts';
import { asProblem, fail, problem } from '../base/problems/problem.ts';
import { appliance, type Caller } from '../http/gate/caller.ts';
import type { Handlers } from '../http/handlers.ts';
import type { Changes } from '../http/live-updates/changes.ts';
import type { Database, Row } from '../state/database.ts';
import { newId } from '../state/id.ts';
import type { routes } from './routes.ts';
import type { Job } from './schema.ts';

/** Older finished jobs than these are forgotten; the audit log still says what was done. */
const KEPT = 200;
const LONGEST_LOG = 500;
/** Under way at a time for one caller, so that nobody keeps disks and receivers busy for everybody else. None waits: each begins at once. */
export const MOST_OF_ONE = 8;

/** What a running job reports by. */
export interface JobHandle {
  readonly id: string;
  /** Aborted when the job was cancelled. */
  readonly signal: AbortSignal;
  step(text: string, percent?: number | null): void;
  log(text: string): void;
}

export interface JobRequest {
  readonly kind: string;
  readonly title: string;
  readonly cancellable: boolean;
  /** Who asked for it. What the appliance does by itself, as by a schedule, is not limited. */
  readonly caller: JobCaller;
}

type JobCaller = Pick<Caller, 'name' | 'address'>;

/** The appliance has no name here: a user's may be the same. */
const who = (caller: JobCaller) => (caller === appliance ? '' : caller.name || caller.address);

function fromRow(row: Row): Job {
  return {
    id: row.id as string,
    kind: row.kind as string,
    title: row.title as string,
    state: row.state as Job['state'],
    percent: row.percent as number | null,
    step: row.step as string | null,
    startedAt: iso(row.started_at as number),
    finishedAt: row.finished_at === null ? null : iso(row.finished_at as number),
    error: JSON.parse((row.error_json as string | null) ?? 'null'),
    result: JSON.parse((row.result_json as string | null) ?? 'null'),
    log: JSON.parse(row.log_json as string),
    cancellable: row.cancellable === 1,
  };
}

export class Jobs {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #changes: Changes;
  readonly #log: Log;
  readonly #kinds: ReadonlySet<string>;
  readonly #running = new Map<string, { abort: AbortController; ended: Promise<void>; who: string }>();

  constructor(parts: { db: Database; clock: Clock; changes: Changes; log: Log; kinds: ReadonlySet<string> }) {
    this.#kinds = parts.kinds;
    this.#db = parts.db;
    this.#clock = parts.clock;
    this.#changes = parts.changes;
    this.#log = parts.log;
    this.#markInterrupted();
  }

  #markInterrupted(): void {
    const error = problem(
      'internal',
      'The management service ended while this was running. What it had begun may or may not have been completed.',
      'Look at the present state before you try again.',
    );
    this.#db.run(
      "UPDATE jobs SET state = 'interrupted', finished_at = ?, error_json = ?, cancellable = 0 WHERE state = 'running'",
      this.#clock.now(),
      JSON.stringify(error),
    );
  }

  /** Throws `too_many` where the caller has as many as may be; before the audit log says that something was done. */
  allow(caller: JobCaller): void {
    if (caller === appliance) return;
    const own = [...this.#running.values()].filter((one) => one.who === who(caller)).length;
    if (own < MOST_OF_ONE) return;
    throw fail(
      'too_many',
      `${own} jobs of ${who(caller)} are under way already, which is as many as may be.`,
      'Wait until one of them has ended, or stop one that nobody needs.',
    );
  }

  start(request: JobRequest, work: (job: JobHandle) => Promise<unknown>): Job {
    if (!this.#kinds.has(request.kind)) throw new Error(`no domain declares the kind of job “${request.kind}”`);
    this.allow(request.caller);
    const now = this.#clock.now();
    const id = newId('job', now);
    this.#db.run(
      "INSERT INTO jobs (id, kind, title, state, started_at, log_json, cancellable) VALUES (?, ?, ?, 'running', ?, '[]', ?)",
      id,
      request.kind,
      request.title,
      now,
      request.cancellable ? 1 : 0,
    );
    const abort = new AbortController();
    const ended = this.#run(id, request, abort, work).finally(() => this.#running.delete(id));
    this.#running.set(id, { abort, ended, who: who(request.caller) });
    this.#changes.publish('jobs', id);
    return this.get(id);
  }

  async #run(
    id: string,
    request: JobRequest,
    abort: AbortController,
    work: (job: JobHandle) => Promise<unknown>,
  ): Promise<void> {
    const lines: Job['log'] = [];
    const log = (text: string) => {
      lines.push({ time: iso(this.#clock.now()), text });
      if (lines.length > LONGEST_LOG) lines.shift();
      this.#db.run('UPDATE jobs SET log_json = ? WHERE id = ?', JSON.stringify(lines), id);
      this.#changes.publish('jobs', id);
    };
    const step = (text: string, percent: number | null = null) => {
      this.#db.run('UPDATE jobs SET step = ?, percent = ? WHERE id = ?', text, percent, id);
      log(text);
    };
    // The answer with the new job goes out before its work begins.
    await Promise.resolve();
    try {
      const result = await work({ id, signal: abort.signal, step, log });
      log('Done.');
      this.#finish(id, 'done', null, result ?? null);
    } catch (error) {
      const state = abort.signal.aborted ? 'cancelled' : 'failed';
      const found = asProblem(error);
      log(state === 'cancelled' ? 'Cancelled.' : found.detail);
      if (found.code === 'internal' && state !== 'cancelled') {
        logFailure(this.#log, 'a job failed', error, { job: id, kind: request.kind });
      }
      this.#finish(id, state, state === 'failed' ? found : null, null);
    }
  }

  #finish(id: string, state: Job['state'], error: Job['error'], result: unknown): void {
    this.#db.run(
      `UPDATE jobs SET state = ?, finished_at = ?, error_json = ?, result_json = ?, cancellable = 0,
         percent = CASE WHEN ? = 'done' THEN 100 ELSE percent END WHERE id = ?`,
      state,
      this.#clock.now(),
      error && JSON.stringify(error),
      JSON.stringify(result),
      state,
      id,
    );
    this.#db.run(
      `DELETE FROM jobs WHERE state != 'running' AND id NOT IN (SELECT id FROM jobs ORDER BY rowid DESC LIMIT ?)`,
      KEPT,
    );
    this.#changes.publish('jobs', id);
  }

  list(): Job[] {
    return this.#db.all('SELECT * FROM jobs ORDER BY rowid DESC LIMIT ?', KEPT).map(fromRow);
  }

  get(id: string): Job {
    const row = this.#db.get('SELECT * FROM jobs WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no job ${id}.`);
    return fromRow(row);
  }

  cancel(id: string): Job {
    const job = this.get(id);
    if (job.state !== 'running') throw fail('conflict', `The job “${job.title}” has already ended.`);
    if (!job.cancellable) throw fail('conflict', `The job “${job.title}” cannot be stopped half-way.`);
    this.#running.get(id)?.abort.abort();
    return this.get(id);
  }

  isRunning(kind: string): boolean {
    return this.#db.get("SELECT 1 FROM jobs WHERE kind = ? AND state = 'running'", kind) !== undefined;
  }

  /** For tests, and for an orderly end. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }
}

export function jobRoutes(jobs: Jobs, audit: Audit): Handlers<typeof routes> {
  return {
    listJobs: () => ({ items: jobs.list() }),
    getJob: ({ params }) => jobs.get(params.id),
    cancelJob: ({ params, caller }) => {
      const job = jobs.cancel(params.id);
      audit.record(caller, 'job.cancel', job.title);
      return job;
    },
  };
}
