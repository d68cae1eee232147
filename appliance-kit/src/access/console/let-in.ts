// An administrator who has lost the password or the second factor is let in again at the console. The request is a file
// (request.ts), because it must not get lost when akd does not run: it is then carried out at the next start, before anybody is
// answered. Everything that it changes, and that it was carried out, is one transaction; done a second time it changes nothing.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Alerts } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import type { By } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import type { Factors } from '../factors/index.ts';
import type { Throttle } from '../session/index.ts';
import { type Dependent, ONE_TIME_MS, type Users } from '../users/index.ts';
import { letInAtConsole } from './alerts.ts';
import { type Request, readRequest } from './request.ts';

/** What came of a request, for the console. `failed`: nothing was changed, and it is tried again. */
export type Outcome = 'done' | 'unknown' | 'external' | 'not-administrator' | 'expired' | 'failed';

export interface Answer {
  readonly version: 1;
  /** Of the request. */
  readonly id: string;
  readonly outcome: Outcome;
}

/** Of the last request that was carried out or refused. */
export const answered = setting<Answer>('console.let-in');

export interface LetInParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly log: Log;
  readonly users: Users;
  readonly factors: Factors;
  readonly throttle: Throttle;
  readonly alerts: Alerts;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly dependents: readonly Dependent[];
  readonly requestFile: string;
  /** akd's own folder, where the console reads the answer. */
  readonly state: string;
}

export class LetIn {
  readonly #parts: LetInParts;
  /** The file that was dealt with. */
  #known = '';
  /** What is wrong is logged once. */
  #complaint = '';

  constructor(parts: LetInParts) {
    this.#parts = parts;
  }

  /** Never throws: whatever the file is, akd starts. */
  look(): void {
    const { log, requestFile: path } = this.#parts;
    let id: string | null = null;
    try {
      const read = readRequest(path, this.#known);
      if (read === undefined) return;
      id = read.request.id;
      this.#answer(this.#decide(read.request));
      this.#known = read.mark;
      this.#complaint = '';
    } catch (error) {
      const complaint = String(error);
      if (complaint === this.#complaint) return;
      this.#complaint = complaint;
      logFailure(log, 'what was asked for at the console could not be done', error, { path });
      if (id !== null) this.#answerFailed(id);
    }
  }

  #decide(request: Request): Answer {
    const { db, settings } = this.#parts;
    const before = settings.get(answered);
    if (before?.id === request.id) return before;
    return db.transaction(() => {
      const answer: Answer = { version: 1, id: request.id, outcome: this.#carryOut(request) };
      settings.set(answered, answer);
      return answer;
    });
  }

  #carryOut({ id, user: name, passwordHash, console, at }: Request): Outcome {
    const { clock, users, factors, throttle, alerts, audit, changes, dependents } = this.#parts;
    const by: By = { name: 'console', address: console, way: 'console' };
    const user = users.find(name);
    // A time that cannot be read is in no week.
    const refusal =
      user === undefined
        ? 'unknown'
        : user.provider !== null
          ? 'external'
          : user.role !== 'administrator'
            ? 'not-administrator'
            : clock.now() - Date.parse(at) < ONE_TIME_MS
              ? null
              : 'expired';
    if (user === undefined || refusal !== null) {
      // What is no user's name may be a password that was typed into the wrong field.
      audit.record(by, 'user.let-in-refused', user?.name ?? 'an unknown name', null, { why: refusal });
      return refusal ?? 'unknown';
    }
    const wasDisabled = user.disabled;
    const removed = factors.clear(name);
    users.setPassword(name, passwordHash, true);
    users.change(name, user.role, false);
    for (const one of dependents) one.ended(name);
    throttle.forgive();
    audit.record(by, 'user.let-in', name, { disabled: wasDisabled, factors: removed }, { disabled: false, factors: 0 });
    alerts.raise({ kind: letInAtConsole, args: { user: name, console, id, factors: removed, wasDisabled } });
    changes.publish('users');
    return 'done';
  }

  #answer(answer: Answer): void {
    const file = join(this.#parts.state, 'let-in-answer.json');
    writeFileSync(`${file}.new`, `${JSON.stringify(answer)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** On a full disk this fails as well: the console then says that nobody answers. */
  #answerFailed(id: string): void {
    try {
      this.#answer({ version: 1, id, outcome: 'failed' });
    } catch {
      // Why is in the log.
    }
  }
}
