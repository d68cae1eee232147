// Snapshots by schedule: taken at their moment, all of a schedule's with one command, and given up when the schedule has
// enough of them.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform } from '../../platform/platform.ts';
import { mustBeSchedule, scheduleWords } from '../../schedules/schedule.ts';
import type { Entry, Timetable } from '../../schedules/timetable.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { isSystem, type Tree, within } from '../datasets/index.ts';
import { keepWords, OURS, superfluous } from './retention.ts';
import type { routes } from './routes.ts';
import type { SnapshotSchedule, SnapshotScheduleInput } from './schema.ts';

export interface ScheduleParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly platform: Platform;
  readonly tree: Tree;
  readonly timetable: Timetable;
  readonly audit: Audit;
  readonly changes: Changes;
}

interface Stored extends SnapshotScheduleInput {
  readonly id: string;
  readonly createdAt: number;
  readonly lastRunAt: number | null;
  readonly lastError: string | null;
}

const fromRow = (row: Row): Stored => ({
  id: row.id as string,
  dataset: row.dataset as string,
  recursive: row.recursive === 1,
  schedule: JSON.parse(row.schedule_json as string),
  keep: JSON.parse(row.keep_json as string),
  enabled: row.enabled === 1,
  createdAt: row.created_at as number,
  lastRunAt: row.last_run_at as number | null,
  lastError: row.last_error as string | null,
});

/** As `2026-03-01T02.00.00Z`: an ISO time that is also a plain file name. */
export const stamp = (time: number): string => `${iso(time).slice(0, 19).replaceAll(':', '.')}Z`;

export class SnapshotSchedules {
  readonly #parts: ScheduleParts;
  /** Asked for each second; read from the database again only after a change. */
  #stored: readonly Stored[] | null = null;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
    parts.timetable.add(() => this.#entries());
  }

  #all(): readonly Stored[] {
    this.#stored ??= this.#parts.db.all('SELECT * FROM snapshot_schedules ORDER BY dataset, created_at').map(fromRow);
    return this.#stored;
  }

  #changed(): void {
    this.#stored = null;
    this.#parts.changes.publish('datasets');
  }

  #find(id: string): Stored {
    const found = this.#all().find((one) => one.id === id);
    if (found === undefined) throw fail('not_found', `There is no snapshot schedule ${id}.`);
    return found;
  }

  #entries(): Entry[] {
    return this.#all()
      .filter(({ enabled }) => enabled)
      .map((one) => ({
        id: `snapshot/${one.id}`,
        schedule: one.schedule,
        since: one.lastRunAt ?? one.createdAt,
        run: () => this.run(one.id),
      }));
  }

  async list(dataset?: string): Promise<SnapshotSchedule[]> {
    const { snapshots } = await this.#parts.tree.get();
    const counts = new Map<string, number>();
    for (const { schedule } of snapshots) {
      if (schedule !== null) counts.set(schedule, (counts.get(schedule) ?? 0) + 1);
    }
    return this.#all()
      .filter(
        (one) => dataset === undefined || one.dataset === dataset || (one.recursive && within(dataset, one.dataset)),
      )
      .map((one) => this.#describe(one, counts.get(one.id) ?? 0));
  }

  async get(id: string): Promise<SnapshotSchedule> {
    this.#find(id);
    return (await this.list()).find((one) => one.id === id) as SnapshotSchedule;
  }

  #describe(one: Stored, snapshots: number): SnapshotSchedule {
    const { createdAt, lastRunAt, lastError, ...input } = one;
    const next = this.#parts.timetable.nextOf(one.schedule, lastRunAt ?? createdAt);
    return {
      ...input,
      words: `${scheduleWords(one.schedule)}; ${keepWords(one.keep)}`,
      nextRun: one.enabled ? iso(next) : null,
      lastRun: lastRunAt === null ? null : { at: iso(lastRunAt), error: lastError },
      snapshots,
    };
  }

  async check(input: SnapshotScheduleInput): Promise<void> {
    mustBeSchedule(input.schedule);
    const invalid = (path: string, message: string) =>
      fail('invalid_request', `The schedule was refused: ${message}.`, undefined, [{ path, message }]);
    if (Object.values(input.keep).every((count) => count === 0)) {
      throw invalid('/keep', 'it would keep no snapshot at all');
    }
    if (isSystem(input.dataset, this.#parts.platform.systemPool))
      throw invalid('/dataset', 'the appliance itself lives on it');
    const { byName } = await this.#parts.tree.now();
    if (!byName.has(input.dataset)) throw invalid('/dataset', `there is no dataset “${input.dataset}”`);
  }

  /** As they are set. */
  inputs(): Record<string, SnapshotScheduleInput> {
    return Object.fromEntries(
      this.#all().map(({ id, dataset, recursive, schedule, keep, enabled }) => [
        id,
        { dataset, recursive, schedule, keep, enabled },
      ]),
    );
  }

  async isHere(dataset: string): Promise<boolean> {
    return (await this.#parts.tree.now()).byName.has(dataset);
  }

  async create(
    input: SnapshotScheduleInput,
    caller: Caller,
    id = newId('ss', this.#parts.clock.now()),
  ): Promise<SnapshotSchedule> {
    await this.check(input);
    const { db, clock, audit } = this.#parts;
    const now = clock.now();
    db.transaction(() => {
      db.run(
        `INSERT INTO snapshot_schedules (id, dataset, recursive, schedule_json, keep_json, enabled, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        input.dataset,
        input.recursive ? 1 : 0,
        JSON.stringify(input.schedule),
        JSON.stringify(input.keep),
        input.enabled ? 1 : 0,
        now,
      );
      audit.record(caller, 'schedule.create', input.dataset, null, input);
    });
    this.#changed();
    return this.#describe(this.#find(id), 0);
  }

  async update(id: string, input: SnapshotScheduleInput, caller: Caller): Promise<SnapshotSchedule> {
    const before = this.#find(id);
    await this.check(input);
    const { db, clock, audit } = this.#parts;
    db.transaction(() => {
      db.run(
        `UPDATE snapshot_schedules SET dataset = ?, recursive = ?, schedule_json = ?, keep_json = ?, enabled = ?,
           last_error = NULL, last_run_at = CASE WHEN last_run_at IS NULL THEN NULL ELSE ? END WHERE id = ?`,
        input.dataset,
        input.recursive ? 1 : 0,
        JSON.stringify(input.schedule),
        JSON.stringify(input.keep),
        input.enabled ? 1 : 0,
        // What was due before the change, or while it was switched off, is not made up for.
        clock.now(),
        id,
      );
      db.run('UPDATE snapshot_schedules SET created_at = ? WHERE id = ? AND last_run_at IS NULL', clock.now(), id);
      const { createdAt: _, lastRunAt: __, lastError: ___, ...was } = before;
      audit.record(caller, 'schedule.update', input.dataset, was, input);
    });
    this.#changed();
    return this.get(id);
  }

  remove(id: string, caller: Caller): void {
    const { db, audit } = this.#parts;
    const before = this.#find(id);
    db.transaction(() => {
      db.run('DELETE FROM snapshot_schedules WHERE id = ?', id);
      audit.record(caller, 'schedule.delete', before.dataset, before, null);
    });
    this.#changed();
  }

  /** A schedule goes where its dataset goes. `to` null: it was destroyed. */
  moved(from: string, to: string | null): void {
    const { db } = this.#parts;
    for (const { id, dataset } of this.#all().filter((one) => within(one.dataset, from))) {
      if (to === null) db.run('DELETE FROM snapshot_schedules WHERE id = ?', id);
      else db.run('UPDATE snapshot_schedules SET dataset = ? WHERE id = ?', to + dataset.slice(from.length), id);
    }
    this.#changed();
  }

  /** What last went wrong, for the alerts. */
  failing(): { id: string; dataset: string; failure: string }[] {
    return this.#all().flatMap(({ id, dataset, enabled, lastError }) =>
      enabled && lastError !== null ? [{ id, dataset, failure: lastError }] : [],
    );
  }

  /** Takes the snapshots of a schedule now, and gives up what it has too many of. */
  async run(id: string): Promise<void> {
    const { platform, clock, db, tree, log } = this.#parts;
    const { dataset, recursive } = this.#find(id);
    const now = clock.now();
    // Written first: a command that takes long, or an akd that is killed, must not have it run again at once.
    db.run('UPDATE snapshot_schedules SET last_run_at = ? WHERE id = ?', now, id);
    this.#stored = null;
    let failure: string | null = null;
    try {
      const own = `${OURS}${stamp(now)}-${id.slice(-6)}`;
      await platform.datasets.takeSnapshots({ names: [`${dataset}@${own}`], recursive, schedule: id });
    } catch (error) {
      failure = asProblem(error).detail;
    }
    try {
      // Also when none was taken: on a full pool giving up old ones is what helps.
      await this.#retain(id);
    } catch (error) {
      failure ??= `Old snapshots could not be destroyed: ${asProblem(error).detail}`;
    }
    if (failure !== null) log.warn('a snapshot schedule failed', { schedule: id, dataset, error: failure });
    db.run('UPDATE snapshot_schedules SET last_error = ? WHERE id = ?', failure, id);
    this.#changed();
    await tree.now().catch(() => {});
  }

  async #retain(id: string): Promise<void> {
    const { platform, tree, log } = this.#parts;
    const stored = this.#all().find((one) => one.id === id);
    if (stored === undefined) return;
    const { timeZone } = platform.identity();
    const known = await tree.now();
    const moments = new Map();
    const names = known.datasets
      .filter(({ name }) => (stored.recursive ? within(name, stored.dataset) : name === stored.dataset))
      .flatMap(({ name }) => superfluous(known.snapshotsOf.get(name) ?? [], stored, timeZone, moments));
    if (names.length === 0) return;
    const { refused } = await platform.datasets.destroySnapshots(names);
    // Held or cloned since it was looked at: it will be tried again. Anything else is an error to report.
    for (const { name, reason } of refused) log.info('a snapshot was kept', { snapshot: name, reason });
  }
}

export function scheduleRoutes(
  schedules: SnapshotSchedules,
): Pick<
  Handlers<typeof routes>,
  | 'listSnapshotSchedules'
  | 'createSnapshotSchedule'
  | 'getSnapshotSchedule'
  | 'updateSnapshotSchedule'
  | 'deleteSnapshotSchedule'
> {
  return {
    listSnapshotSchedules: async ({ query }) => ({ items: await schedules.list(query.dataset) }),
    createSnapshotSchedule: ({ body, caller }) => schedules.create(body, caller),
    getSnapshotSchedule: ({ params }) => schedules.get(params.id),
    updateSnapshotSchedule: ({ params, body, caller }) => schedules.update(params.id, body, caller),
    deleteSnapshotSchedule: ({ params, caller }) => {
      schedules.remove(params.id, caller);
      return undefined;
    },
  };
}
