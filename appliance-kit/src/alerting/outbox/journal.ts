// The alert outbox's journal: the same engine as the telemetry store's, run as a child (`cistern journal pipe`) and
// spoken to in JSON lines. A child that dies is started again; what it had answered is on disk.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Log } from '../../base/log.ts';
import { fail } from '../../base/problems/problem.ts';

/** An fsync on a busy disk can take seconds; a child that takes longer than this hangs. */
const DEADLINE_MS = 30_000;
const RESTART_MS = 1_000;

export interface Entry {
  /** Opaque: only ever given back. */
  readonly position: string;
  readonly data: Buffer;
}

interface Answer {
  id: number;
  ok: boolean;
  error?: string;
  [key: string]: unknown;
}

interface Pending {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class Journal {
  readonly #command: string;
  readonly #directory: string;
  readonly #log: Log;
  #child: ChildProcessWithoutNullStreams | null = null;
  #startedAt = 0;
  #closed = false;
  #next = 1;
  readonly #pending = new Map<number, Pending>();

  /** @param command the `cistern` binary */
  constructor(command: string, directory: string, log: Log) {
    this.#command = command;
    this.#directory = directory;
    this.#log = log;
  }

  /** Durable when it returns. */
  async append(data: Buffer): Promise<string> {
    return (await this.#ask({ op: 'append', data: data.toString('base64') })).position as string;
  }

  /** Keeps the position of a subscriber that is known already. */
  async subscribe(name: string, at: 'begin' | 'end'): Promise<void> {
    await this.#ask({ op: 'subscribe', name, at });
  }

  async unsubscribe(name: string): Promise<void> {
    await this.#ask({ op: 'unsubscribe', name });
  }

  /** What comes after the subscriber's checkpoint; reading does not move it. */
  async read(subscriber: string, max: number): Promise<Entry[]> {
    const { entries } = await this.#ask({ op: 'read', subscriber, max });
    return ((entries ?? []) as { position: string; data: string }[]).map(({ position, data }) => ({
      position,
      data: Buffer.from(data, 'base64'),
    }));
  }

  /** Durable when it returns: what is before it is never read again by this subscriber. */
  async checkpoint(subscriber: string, position: string): Promise<void> {
    await this.#ask({ op: 'checkpoint', subscriber, position });
  }

  async #ask(request: Record<string, unknown>): Promise<Answer> {
    const child = this.#running();
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => {
      this.#log.error('the journal does not answer; ending it', { op: String(request.op) });
      child.kill('SIGKILL');
    }, DEADLINE_MS);
    this.#pending.set(id, { resolve, reject, timer });
    child.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    const answer = await promise;
    if (!answer.ok) throw fail('service_unavailable', `The alert journal refused ${request.op}: ${answer.error}`);
    return answer;
  }

  #running(): ChildProcessWithoutNullStreams {
    if (this.#child !== null) return this.#child;
    if (this.#closed) throw fail('service_unavailable', 'The alert journal is closed.');
    if (Date.now() - this.#startedAt < RESTART_MS) {
      throw fail('service_unavailable', 'The alert journal has just ended; it is started again in a moment.');
    }
    this.#startedAt = Date.now();
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const child = spawn(this.#command, ['journal', 'pipe', '--dir', this.#directory], { stdio: 'pipe' });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => this.#answered(line));
    createInterface({ input: child.stderr }).on('line', (line) => this.#log.info('journal', { text: line }));
    // Writing to a child that is gone fails here and there; `close` below is what counts.
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.#gone(child, error.message));
    child.on('close', (code, signal) => this.#gone(child, signal ?? `exit ${code}`));
    return child;
  }

  #answered(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line) as Answer;
    } catch {
      this.#log.error('the journal answered what is not JSON', { text: line });
      this.#child?.kill('SIGKILL');
      return;
    }
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return;
    this.#pending.delete(answer.id);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }

  #gone(child: ChildProcessWithoutNullStreams, how: string): void {
    if (this.#child !== child) return;
    this.#child = null;
    // It is restarted; a stop of the service ends it together with akd.
    if (!this.#closed) this.#log.warn('the journal ended', { path: this.#command, reason: how });
    const error = fail('service_unavailable', `The alert journal ended (${how}). It is restarted automatically.`);
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }

  /** For tests: the child to kill. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (child === null) return;
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await closed;
    clearTimeout(timer);
  }
}
