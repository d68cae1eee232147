// Scrubs: when they run by themselves, and what each scan of a pool found. ZFS remembers only the last one.

import type { Audit } from '../../access/audit/index.ts';
import type { Alerts } from '../../alerting/alerts/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { fail } from '../../base/problems/problem.ts';
import { plural, size } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform } from '../../platform/platform.ts';
import { mustBeSchedule, scheduleWords } from '../../schedules/schedule.ts';
import type { Schedule } from '../../schedules/schema.ts';
import type { Entry, Timetable } from '../../schedules/timetable.ts';
import type { Database, Row } from '../../state/database.ts';
import type { Inventory, Pool } from '../inventory/index.ts';
import { resilverFinished, scrubFinished, scrubFound } from './alerts.ts';
import type { PoolHistory, ScanRecord, ScrubSchedule, ScrubScheduleInput } from './operations.schema.ts';
import type { routes } from './routes.ts';

/** The default of a pool: a month is what ZFS' own advice is for disks made for servers. */
const DEFAULT: Schedule = { every: 'month', day: 1, at: '02:00' };
/** Scans that are remembered of each pool. */
const KEPT = 200;
const HISTORY_LINES = 1_000;
/** What ended longer ago raises no alert: the pool was imported, or was not read for a long time. */
const NEWS_MS = 7 * 24 * 3_600_000;

export interface ScanParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly platform: Platform;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly alerts: Alerts;
  readonly audit: Audit;
  readonly changes: Changes;
}

interface Stored {
  readonly pool: string;
  readonly enabled: boolean;
  readonly schedule: Schedule;
  readonly createdAt: number;
  readonly lastRunAt: number | null;
}

const fromRow = (row: Row): Stored => ({
  pool: row.pool as string,
  enabled: row.enabled === 1,
  schedule: JSON.parse(row.schedule_json as string),
  createdAt: row.created_at as number,
  lastRunAt: row.last_run_at as number | null,
});

function words(record: Omit<ScanRecord, 'sentence'>): string {
  if (record.state !== 'finished') return 'It was stopped before its end.';
  if (record.errors > 0) return `It found ${plural(record.errors, 'error')} it could not repair.`;
  if (record.kind === 'scrub' && record.repairedBytes > 0) return `It repaired ${size(record.repairedBytes)}.`;
  return record.kind === 'scrub' ? 'It found nothing.' : 'It ended without errors.';
}

export class Scans {
  readonly #parts: ScanParts;
  /** Asked for each second; read from the database again only after a change. */
  #stored: readonly Stored[] | null = null;

  constructor(parts: ScanParts) {
    this.#parts = parts;
    parts.timetable.add(() => this.#entries());
  }

  #all(): readonly Stored[] {
    this.#stored ??= this.#parts.db.all('SELECT * FROM scrub_schedules').map(fromRow);
    return this.#stored;
  }

  /** Called with every look at the machine: notes what has ended, and gives a new pool its schedule. */
  note(pools: readonly Pool[]): void {
    const { db, clock, alerts } = this.#parts;
    for (const pool of pools) {
      if (!this.#all().some((one) => one.pool === pool.name)) {
        db.run(
          'INSERT INTO scrub_schedules (pool, enabled, schedule_json, created_at) VALUES (?, 1, ?, ?)',
          pool.name,
          JSON.stringify(DEFAULT),
          clock.now(),
        );
        this.#stored = null;
      }
      const { scan } = pool;
      if (scan === null || scan.state === 'scanning' || scan.startedAt === null || scan.kind === 'none') continue;
      const startedAt = Date.parse(scan.startedAt);
      const known = db.get('SELECT 1 FROM scans WHERE pool = ? AND started_at = ?', pool.name, startedAt);
      if (known !== undefined) continue;
      db.run(
        `INSERT INTO scans (pool, kind, state, started_at, finished_at, bytes, repaired_bytes, errors)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[pool.name, scan.kind, scan.state, startedAt],
        scan.finishedAt === null ? null : Date.parse(scan.finishedAt),
        ...[scan.bytesDone, scan.repairedBytes, scan.errors],
      );
      db.run(
        'DELETE FROM scans WHERE pool = ? AND started_at NOT IN (SELECT started_at FROM scans WHERE pool = ? ORDER BY started_at DESC LIMIT ?)',
        ...[pool.name, pool.name, KEPT],
      );
      if (clock.now() - Date.parse(scan.finishedAt ?? scan.startedAt) >= NEWS_MS) continue;
      if (scan.kind === 'resilver' && scan.state === 'finished') {
        const { startedAt, repairedBytes, errors } = scan;
        const whole = pool.state === 'ONLINE';
        alerts.raise({ kind: resilverFinished, args: { pool: pool.name, startedAt, repairedBytes, errors, whole } });
      }
      if (scan.kind === 'scrub' && scan.state === 'finished' && scan.finishedAt !== null) {
        const { repairedBytes, errors } = scan;
        const tookSeconds = (Date.parse(scan.finishedAt) - startedAt) / 1000;
        const args = { pool: pool.name, startedAt: scan.startedAt, tookSeconds, repairedBytes, errors };
        alerts.raise({ kind: scrubFinished, args });
      }
      // A resilver writes what it copies, which is no damage; what a scrub repairs was rotten on a disk.
      if (scan.errors > 0 || (scan.kind === 'scrub' && scan.repairedBytes > 0)) {
        const bad = pool.vdevs
          .flatMap((vdev) => [vdev, ...vdev.children])
          .filter(({ children, checksumErrors }) => children.length === 0 && checksumErrors > 0)
          .map(({ diskId, name, checksumErrors }) => `${diskId ?? name} (${checksumErrors})`);
        const { repairedBytes, errors, kind } = scan;
        alerts.raise({
          kind: scrubFound,
          args: { pool: pool.name, scan: kind, startedAt: scan.startedAt, repairedBytes, errors, disks: bad },
        });
      }
    }
  }

  #entries(): Entry[] {
    return this.#all()
      .filter(({ enabled }) => enabled)
      .map(({ pool, schedule, createdAt, lastRunAt }) => ({
        id: `scrub/${pool}`,
        schedule,
        since: lastRunAt ?? createdAt,
        run: () => this.#run(pool),
      }));
  }

  async #run(name: string): Promise<void> {
    const { db, clock, inventory, platform, log, changes } = this.#parts;
    db.run('UPDATE scrub_schedules SET last_run_at = ? WHERE pool = ?', clock.now(), name);
    this.#stored = null;
    const pool = (await inventory.renew()).pools.find((one) => one.name === name);
    // A pool that is gone keeps its schedule: it may be imported again.
    if (pool === undefined) return;
    if (pool.scan?.state === 'scanning') {
      log.info('a scheduled scrub was left out', { pool: name, reason: pool.scan.sentence });
      return;
    }
    await platform.poolActions.scrub(name, 'start');
    changes.publish('pools');
  }

  async #mustExist(name: string): Promise<void> {
    const { value } = await this.#parts.inventory.pools();
    if (!value.some((pool) => pool.name === name)) throw fail('not_found', `There is no pool named “${name}”.`);
  }

  async schedule(name: string): Promise<ScrubSchedule> {
    await this.#mustExist(name);
    const found = this.#all().find(({ pool }) => pool === name);
    const enabled = found?.enabled ?? true;
    const schedule = found?.schedule ?? DEFAULT;
    const since = found?.lastRunAt ?? found?.createdAt ?? this.#parts.clock.now();
    return {
      enabled,
      schedule,
      words: enabled ? scheduleWords(schedule) : 'no schedule',
      nextRun: enabled ? iso(this.#parts.timetable.nextOf(schedule, since)) : null,
    };
  }

  async setSchedule(name: string, input: ScrubScheduleInput, caller: Caller): Promise<ScrubSchedule> {
    mustBeSchedule(input.schedule);
    const before = await this.schedule(name);
    const { db, clock, audit, changes } = this.#parts;
    db.transaction(() => {
      db.run(
        `INSERT INTO scrub_schedules (pool, enabled, schedule_json, created_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (pool) DO UPDATE SET enabled = excluded.enabled, schedule_json = excluded.schedule_json,
           created_at = excluded.created_at, last_run_at = NULL`,
        ...[name, input.enabled ? 1 : 0, JSON.stringify(input.schedule), clock.now()],
      );
      audit.record(caller, 'scrub.schedule', name, before, input);
    });
    this.#stored = null;
    changes.publish('pools');
    return this.schedule(name);
  }

  async records(name: string): Promise<ScanRecord[]> {
    await this.#mustExist(name);
    return this.#parts.db
      .all('SELECT * FROM scans WHERE pool = ? ORDER BY started_at DESC', name)
      .map((row): ScanRecord => {
        const record = {
          kind: row.kind as ScanRecord['kind'],
          state: row.state as string,
          startedAt: iso(row.started_at as number),
          finishedAt: row.finished_at === null ? null : iso(row.finished_at as number),
          bytes: row.bytes as number,
          repairedBytes: row.repaired_bytes as number,
          errors: row.errors as number,
        };
        return { ...record, sentence: words(record) };
      });
  }

  /** What was done to a pool: by ZFS' own record, and by ours, which knows who asked. */
  async history(name: string): Promise<PoolHistory['items']> {
    await this.#mustExist(name);
    const lines = await this.#parts.platform.poolActions.history(name, HISTORY_LINES);
    const own = this.#parts.audit.latest(HISTORY_LINES).filter(({ action, target, after }) => {
      if (!/^(pool|disk|scrub|dataset|snapshot|telemetry)\./.test(action)) return false;
      const inPool = (after as { pool?: unknown } | null)?.pool;
      return target === name || inPool === name || target.startsWith(`${name}/`) || target.startsWith(`${name}@`);
    });
    return [
      ...lines.map(({ time, text, by }) => ({ time: iso(time), source: 'zfs' as const, by, text })),
      ...own.map(({ time, user, action, target }) => ({
        time,
        source: 'cistern' as const,
        by: user,
        text: target === name ? action : `${action} ${target}`,
      })),
    ]
      .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
      .slice(0, HISTORY_LINES);
  }

  async damagedFiles(name: string): Promise<string[]> {
    await this.#mustExist(name);
    return [...(await this.#parts.platform.poolActions.damagedFiles(name))];
  }
}

export function scanRoutes(
  scans: Scans,
): Pick<
  Handlers<typeof routes>,
  'getScrubSchedule' | 'setScrubSchedule' | 'listScans' | 'getPoolHistory' | 'listDamagedFiles'
> {
  return {
    getScrubSchedule: ({ params }) => scans.schedule(params.name),
    setScrubSchedule: ({ params, body, caller }) => scans.setSchedule(params.name, body, caller),
    listScans: async ({ params }) => ({ items: await scans.records(params.name) }),
    getPoolHistory: async ({ params }) => ({ items: await scans.history(params.name) }),
    listDamagedFiles: async ({ params }) => ({ items: await scans.damagedFiles(params.name) }),
  };
}
