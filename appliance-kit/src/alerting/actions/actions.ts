// The actions of a rule or class besides notifications: measures a statistic, resumes or suspends a worksheet, takes a snapshot,
// starts a support bundle. An action is written down with the alert and done right after it, at least once: doing one
// twice is harmless. What was resumed is suspended again, so that a forgotten trace ends.

import { randomUUID } from 'node:crypto';
import type { Audit } from '../../access/audit/index.ts';
import type { Worksheets } from '../../analytics/worksheets/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { duration } from '../../base/words.ts';
import { appliance, type Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Peer } from '../../peers/peer.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { Database } from '../../state/database.ts';
import type { Snapshots } from '../../storage/snapshots/index.ts';
import type { Alerts } from '../alerts/index.ts';
import type { RuleAction } from '../catalogue/rule-action.ts';

/** Resumed until the alert clears, it is suspended after a day all the same. */
const LONGEST_S = 86_400;
const MAX_ATTEMPTS = 8;
const FIRST_RETRY_MS = 5_000;
const DEADLINE_MS = 10_000;
/** Of a burst, one bundle and one snapshot of a dataset are enough. */
const ENOUGH_MS = 10 * 60_000;

/** As it is kept: an `expiry` is brought forward when the alert clears. */
type Kept = RuleAction & { readonly expiry?: boolean };

export interface ActionParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly alerts: Alerts;
  readonly tracerd: Tracerd;
  readonly worksheets: Worksheets;
  readonly snapshots: Snapshots;
  readonly supportd: Peer;
}

export class Actions {
  readonly #parts: ActionParts;
  #running: Promise<void> | null = null;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  /** The appliance does them whoever asked for it: only what that caller may see can be named. Throws what cannot be. */
  mustBePossible(caller: Caller, actions: readonly RuleAction[]): void {
    actions.forEach(({ kind, target }, at) => {
      const path = `/actions/${at}/target`;
      const wrong = (message: string) =>
        fail('invalid_request', `It was refused: ${path} ${message}.`, undefined, [{ path, message }]);
      if (kind !== 'bundle' && target === '') throw wrong('is missing');
      if (!kind.endsWith('-worksheet')) return;
      try {
        this.#parts.worksheets.get(caller, target);
      } catch {
        throw wrong('is no worksheet that you can see');
      }
    });
  }

  /** Call it inside the transaction that raises or clears the alert. */
  queue(alertId: string, actions: readonly RuleAction[], on: RuleAction['on']): void {
    const { db, clock } = this.#parts;
    if (on === 'clear') {
      db.run(
        `UPDATE alert_actions SET due_at = ? WHERE alert_id = ? AND done_at IS NULL
         AND json_extract(action_json, '$.expiry') = 1 AND json_extract(action_json, '$.forSeconds') = 0`,
        clock.now(),
        alertId,
      );
    }
    for (const action of actions) {
      if (action.on === on && !this.#isEnough(action)) this.#write(alertId, action, clock.now());
    }
  }

  #isEnough({ kind, target }: RuleAction): boolean {
    if (kind !== 'bundle' && kind !== 'snapshot') return false;
    const { db, clock } = this.#parts;
    const sql = `SELECT 1 FROM alert_actions WHERE (done_at IS NULL OR done_at > ?)
       AND json_extract(action_json, '$.kind') = ? AND json_extract(action_json, '$.target') = ?`;
    return db.get(sql, clock.now() - ENOUGH_MS, kind, target) !== undefined;
  }

  #write(alertId: string, action: Kept, dueAt: number): void {
    this.#parts.db.run(
      'INSERT INTO alert_actions (id, alert_id, action_json, due_at) VALUES (?, ?, ?, ?)',
      randomUUID(),
      alertId,
      JSON.stringify(action),
      dueAt,
    );
  }

  /** Does what is due, in order. Runs never overlap. */
  tick(): Promise<void> {
    this.#running ??= this.#round()
      .catch((error: unknown) => logFailure(this.#parts.log, 'the actions of rules could not be run', error))
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  /** When what is under way has ended; what is due then is done at the next start. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #round(): Promise<void> {
    const { db, clock, alerts, log } = this.#parts;
    const sql = 'SELECT * FROM alert_actions WHERE done_at IS NULL AND due_at <= ? ORDER BY due_at, rowid LIMIT 100';
    for (const row of db.all(sql, clock.now())) {
      const action = JSON.parse(row.action_json as string) as Kept;
      const [id, alertId] = [row.id as string, row.alert_id as string];
      try {
        const done = await this.#do(action);
        db.transaction(() => {
          db.run('UPDATE alert_actions SET done_at = ? WHERE id = ?', clock.now(), id);
          const expires = action.kind.startsWith('resume-') ? action.forSeconds || LONGEST_S : null;
          if (expires !== null) {
            const kind = action.kind.replace('resume-', 'suspend-') as RuleAction['kind'];
            // Only one of them: the latest says how long it goes on.
            db.run(
              `UPDATE alert_actions SET done_at = ? WHERE done_at IS NULL
               AND json_extract(action_json, '$.expiry') = 1 AND json_extract(action_json, '$.kind') = ?
               AND json_extract(action_json, '$.target') = ?`,
              ...[clock.now(), kind, action.target],
            );
            this.#write(alertId, { ...action, kind, expiry: true }, clock.now() + expires * 1000);
          }
          const until =
            expires === null ? '' : action.forSeconds > 0 ? ` for ${duration(expires)}` : ' until the alert clears';
          alerts.noteAction(alertId, `${done}${until}.`);
        });
      } catch (error) {
        const attempts = (row.attempts as number) + 1;
        const words = asProblem(error).code === 'internal' ? String((error as Error).message) : asProblem(error).detail;
        log.warn('an action of a rule failed', { alert: alertId, kind: action.kind, attempts, error: words });
        const givenUp = attempts >= MAX_ATTEMPTS;
        db.run(
          'UPDATE alert_actions SET attempts = ?, due_at = ?, done_at = ? WHERE id = ?',
          ...[attempts, clock.now() + FIRST_RETRY_MS * 2 ** attempts, givenUp ? clock.now() : null, id],
        );
        if (attempts === 1 || givenUp) {
          const what = `${action.kind}${action.target && ` of ${action.target}`}`;
          alerts.noteAction(alertId, `${what} failed${givenUp ? ' for good' : ' and is tried again'}: ${words}`);
        }
      }
    }
  }

  /** What was done, in words without a full stop. */
  async #do(action: Kept): Promise<string> {
    const { tracerd, worksheets, snapshots, supportd, audit, changes } = this.#parts;
    const { kind, target } = action;
    const why = action.expiry ? ' again' : '';
    switch (kind) {
      case 'resume-statistic':
        // Recorded, so that it is measured also when no page shows it.
        await tracerd.record(target, true);
        await tracerd.resume(target);
        audit.record(appliance, 'statistic.resume', target);
        changes.publish('analytics', target);
        return `The statistic ${target} is measured`;
      case 'suspend-statistic':
        await tracerd.suspend(target);
        audit.record(appliance, 'statistic.suspend', target);
        changes.publish('analytics', target);
        return `The statistic ${target} was suspended${why}`;
      case 'resume-worksheet':
      case 'suspend-worksheet': {
        const resume = kind === 'resume-worksheet';
        const { items } = await worksheets.switch(appliance, target, resume ? 'resume' : 'suspend');
        const failed = items.find(({ problem }) => problem !== null)?.problem;
        if (failed) throw new Error(failed.detail);
        return `The worksheet ${target} was ${resume ? 'resumed' : 'suspended'}${why}`;
      }
      case 'snapshot': {
        const { names } = await snapshots.create({ datasets: [target], recursive: false }, appliance);
        return `The snapshot ${names.join(', ')} was taken`;
      }
      case 'bundle': {
        const bundle = (await supportd.call({
          ...{ method: 'POST', path: '/bundles', json: {}, deadlineMs: DEADLINE_MS },
        })) as { id: string; name: string };
        audit.record(appliance, 'bundle.create', bundle.name);
        changes.publish('bundles', bundle.id);
        return `The support bundle ${bundle.name} is being made`;
      }
    }
  }
}
