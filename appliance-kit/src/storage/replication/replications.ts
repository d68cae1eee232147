// Replications: a dataset, and what lies below it, pushed to another place by schedule. A run takes a snapshot of all of
// it at one moment and sends each dataset up to it; what hinders one is said, and nothing at the target is ever given up
// for it. On this side the last snapshot that arrived is kept, since the next run goes on from it.

import type { Audit } from '../../access/audit/index.ts';
import type { Alerts } from '../../alerting/alerts/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import type { Problem } from '../../base/problems/schema.ts';
import { plural, size } from '../../base/words.ts';
import { appliance, type Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Job, JobHandle, Jobs } from '../../jobs/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { mustBeSchedule, scheduleWords } from '../../schedules/schedule.ts';
import type { Entry, Timetable } from '../../schedules/timetable.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import {
  datasetNameProblem,
  isSystem,
  type Known,
  mustBeNamed,
  parentOf,
  type Tree,
  within,
} from '../datasets/index.ts';
import { OURS, stamp } from '../snapshots/index.ts';
import { replicationFinished } from './alerts.ts';
import type { routes } from './routes.ts';
import type { Replication, ReplicationInput, ReplicationPreview, ReplicationTarget } from './schema.ts';
import type { ReplicationSenders } from './senders.ts';

export interface ReplicationParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly platform: Platform;
  readonly tree: Tree;
  readonly timetable: Timetable;
  readonly jobs: Jobs;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly senders: ReplicationSenders;
  readonly alerts: Pick<Alerts, 'raise'>;
}

interface Stored extends ReplicationInput {
  readonly id: string;
  readonly createdAt: number;
  readonly lastRunAt: number | null;
  readonly lastError: Problem | null;
  readonly lastBytes: number;
  readonly lastSeconds: number;
  /** The snapshot that has arrived everywhere, and when it was taken. */
  readonly doneSnapshot: string | null;
  readonly doneAt: number | null;
  /** The snapshot of a run that has not ended well. */
  readonly pending: string | null;
  readonly pendingAt: number | null;
  readonly retryAt: number | null;
  readonly attempts: number;
}

const fromRow = (row: Row): Stored => ({
  ...(JSON.parse(row.input_json as string) as ReplicationInput),
  id: row.id as string,
  createdAt: row.created_at as number,
  lastRunAt: row.last_run_at as number | null,
  lastError: JSON.parse((row.last_error_json as string | null) ?? 'null'),
  lastBytes: row.last_bytes as number,
  lastSeconds: row.last_seconds as number,
  doneSnapshot: row.done_snapshot as string | null,
  doneAt: row.done_at as number | null,
  pending: row.pending_snapshot as string | null,
  pendingAt: row.pending_at as number | null,
  retryAt: row.retry_at as number | null,
  attempts: row.attempts as number,
});

/** What may pass is tried again; what needs a change by a user is not. */
const PASSES = new Set(['interrupted', 'unreachable', 'target_busy', 'timeout', 'service_unavailable']);
const RETRY_MINUTES = [1, 2, 5, 10, 20, 30];

const PREFIX = `${OURS}replication-`;
const ownName = (id: string, at: number) => `${PREFIX}${stamp(at)}-${id.slice(-6)}`;

export const targetWords = (target: ReplicationTarget): string =>
  target.kind === 'here' ? `“${target.dataset}”` : `“${target.dataset}” on ${target.host}`;

/** How long a run that failed is to wait; null: there is no use in trying again. */
export function retryAfterMinutes(code: string, attempts: number): number | null {
  if (!PASSES.has(code)) return null;
  return RETRY_MINUTES[Math.min(attempts, RETRY_MINUTES.length) - 1] ?? 1;
}

const inputOf = (one: Stored): ReplicationInput => {
  const { dataset, recursive, target, schedule, enabled, intermediate, bytesPerSecond, lateAfterMinutes } = one;
  return { dataset, recursive, target, schedule, enabled, intermediate, bytesPerSecond, lateAfterMinutes };
};

export class Replications {
  readonly #parts: ReplicationParts;
  /** By replication, the job that runs it. */
  readonly #running = new Map<string, string>();

  constructor(parts: ReplicationParts) {
    this.#parts = parts;
    parts.timetable.add(() => this.#entries());
    parts.senders.changed = (dataset) => this.#permit([dataset]);
  }

  #all(): Stored[] {
    return this.#parts.db.all('SELECT * FROM replications ORDER BY created_at').map(fromRow);
  }

  #find(id: string): Stored {
    const row = this.#parts.db.get('SELECT * FROM replications WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no replication ${id}.`);
    return fromRow(row);
  }

  #changed(): void {
    this.#parts.changes.publish('datasets');
  }

  #entries(): Entry[] {
    return this.#all()
      .filter(({ enabled }) => enabled)
      .map((one) => ({
        id: `replication/${one.id}`,
        schedule: one.schedule,
        since: one.lastRunAt ?? one.createdAt,
        run: async () => {
          if (!this.#running.has(one.id)) this.#start(one.id, true);
        },
      }));
  }

  list(): Replication[] {
    return this.#all().map((one) => this.#describe(one));
  }

  get(id: string): Replication {
    return this.#describe(this.#find(id));
  }

  #describe(one: Stored): Replication {
    const { schedule, enabled, bytesPerSecond } = one;
    const limit = bytesPerSecond > 0 ? `, at most ${size(bytesPerSecond)} a second` : '';
    const next = this.#parts.timetable.nextOf(schedule, one.lastRunAt ?? one.createdAt);
    return {
      ...{ id: one.id, ...inputOf(one) },
      words: `${scheduleWords(schedule)}${limit}`,
      nextRun: enabled ? iso(next) : null,
      job: this.#running.get(one.id) ?? null,
      lastRun:
        one.lastRunAt === null
          ? null
          : { at: iso(one.lastRunAt), error: one.lastError, bytes: one.lastBytes, seconds: one.lastSeconds },
      lastSuccess: one.doneAt === null ? null : { at: iso(one.doneAt), snapshot: one.doneSnapshot as string },
      lagSeconds: this.#lag(one),
      retryAt: one.retryAt === null ? null : iso(one.retryAt),
    };
  }

  #lag({ doneAt }: Stored): number | null {
    return doneAt === null ? null : Math.max(0, (this.#parts.clock.now() - doneAt) / 1000);
  }

  /** Everything that makes no sense whatever the state of the other side. */
  async #check(input: ReplicationInput, id: string | null): Promise<Known> {
    mustBeSchedule(input.schedule);
    const invalid = (path: string, message: string) =>
      fail('invalid_request', `The replication was refused: ${message}.`, undefined, [{ path, message }]);
    const { dataset, target } = input;
    mustBeNamed(target.dataset, '/target/dataset', datasetNameProblem);
    if (isSystem(dataset, this.#parts.platform.systemPool))
      throw invalid('/dataset', 'the appliance itself lives on it');
    const known = await this.#parts.tree.now();
    if (!known.byName.has(dataset)) throw invalid('/dataset', `there is no dataset “${dataset}”`);
    const same = this.#all().find(
      (one) => one.id !== id && one.target.host === target.host && one.target.dataset === target.dataset,
    );
    if (same !== undefined) throw invalid('/target/dataset', `“${same.dataset}” is replicated there already`);
    if (target.kind === 'ssh') {
      for (const field of ['host', 'port', 'user', 'hostKey'] as const) {
        if (target[field] === undefined) throw invalid(`/target/${field}`, `another machine needs its ${field}`);
      }
      return known;
    }
    const parent = parentOf(target.dataset);
    if (parent === null) throw invalid('/target/dataset', 'it is a pool itself; choose a name below it');
    if (!known.byName.has(parent))
      throw invalid('/target/dataset', `there is no dataset “${parent}” that it could lie in`);
    if (isSystem(target.dataset, this.#parts.platform.systemPool))
      throw invalid('/target/dataset', 'the appliance itself lives there');
    if (within(target.dataset, dataset) || within(dataset, target.dataset)) {
      throw invalid('/target/dataset', 'one would lie in the other');
    }
    return known;
  }

  /** Lets the replication work with datasets as far as anything that is configured needs it, and no further. */
  async #permit(datasets: readonly (string | null)[]): Promise<void> {
    const { platform, tree, senders } = this.#parts;
    const all = this.#all();
    const { byName } = await tree.get();
    for (const dataset of new Set(datasets)) {
      // What is gone has taken its permissions along.
      if (dataset === null || !byName.has(dataset)) continue;
      await platform.replication.allow(dataset, {
        send: all.some((one) => one.dataset === dataset),
        receive:
          senders.all().some(({ under }) => under === dataset) ||
          all.some(({ target }) => target.kind === 'here' && parentOf(target.dataset) === dataset),
      });
    }
  }

  #touched(one: ReplicationInput): (string | null)[] {
    return [one.dataset, one.target.kind === 'here' ? parentOf(one.target.dataset) : null];
  }

  /** As they are set. */
  inputs(): Record<string, ReplicationInput> {
    return Object.fromEntries(this.#all().map((one) => [one.id, inputOf(one)]));
  }

  async isHere(dataset: string): Promise<boolean> {
    return (await this.#parts.tree.now()).byName.has(dataset);
  }

  async create(
    input: ReplicationInput,
    caller: Caller,
    id = newId('re', this.#parts.clock.now()),
  ): Promise<Replication> {
    await this.#check(input, null);
    const { db, clock, audit } = this.#parts;
    const now = clock.now();
    db.run('INSERT INTO replications (id, input_json, created_at) VALUES (?, ?, ?)', id, JSON.stringify(input), now);
    try {
      await this.#permit(this.#touched(input));
    } catch (error) {
      db.run('DELETE FROM replications WHERE id = ?', id);
      throw error;
    }
    audit.record(caller, 'replication.create', `${input.dataset} → ${input.target.dataset}`, null, input);
    this.#changed();
    return this.#describe(this.#find(id));
  }

  async update(id: string, input: ReplicationInput, caller: Caller): Promise<Replication> {
    const before = this.#find(id);
    if (this.#running.has(id)) throw fail('conflict', 'It is running.', 'Wait until it has ended, or cancel its job.');
    await this.#check(input, id);
    const { db, clock, audit } = this.#parts;
    const moved =
      before.dataset !== input.dataset ||
      before.target.dataset !== input.target.dataset ||
      before.target.host !== input.target.host;
    db.run(
      `UPDATE replications SET input_json = ?, retry_at = NULL, attempts = 0,
         created_at = CASE WHEN last_run_at IS NULL THEN ? ELSE created_at END WHERE id = ?`,
      JSON.stringify(input),
      clock.now(),
      id,
    );
    // What arrived elsewhere says nothing of the new place.
    if (moved) {
      db.run('UPDATE replications SET done_snapshot = NULL, done_at = NULL, last_error_json = NULL WHERE id = ?', id);
    }
    await this.#permit([...this.#touched(before), ...this.#touched(input)]);
    audit.record(caller, 'replication.update', `${input.dataset} → ${input.target.dataset}`, before, input);
    this.#changed();
    return this.#describe(this.#find(id));
  }

  /** What it has taken here is given up; what has arrived at the target stays there. */
  async remove(id: string, caller: Caller): Promise<void> {
    const before = this.#find(id);
    if (this.#running.has(id)) throw fail('conflict', 'It is running.', 'Cancel its job first.');
    this.#parts.db.run('DELETE FROM replications WHERE id = ?', id);
    this.#parts.audit.record(
      caller,
      'replication.delete',
      `${before.dataset} → ${before.target.dataset}`,
      before,
      null,
    );
    this.#changed();
    await this.#permit(this.#touched(before));
    await this.#giveUp(before, []);
  }

  /** A replication goes where its dataset goes. `to` null: it was destroyed. */
  moved(from: string, to: string | null): void {
    const { db } = this.#parts;
    for (const one of this.#all().filter(({ dataset }) => within(dataset, from))) {
      // Its target has what was destroyed: the replication stays, reports that its source is gone, and is left to be removed.
      if (to === null) continue;
      const input = { ...inputOf(one), dataset: to + one.dataset.slice(from.length) };
      db.run('UPDATE replications SET input_json = ? WHERE id = ?', JSON.stringify(input), one.id);
      // ZFS keeps permissions with the dataset, whatever its name.
    }
    this.#changed();
  }

  /** What a target is, and what a replication to it would do. */
  async preview(dataset: string, target: ReplicationTarget): Promise<ReplicationPreview> {
    const { platform, tree } = this.#parts;
    const known = await tree.now();
    if (target.kind === 'here' && !known.byName.has(parentOf(target.dataset) ?? '')) {
      throw fail('invalid_request', 'There is no such place.', undefined, [
        { path: '/target/dataset', message: 'the dataset that it would lie in is not there' },
      ]);
    }
    const found = await platform.replication.look(target);
    const ours = known.snapshotsOf.get(dataset) ?? [];
    const under = found.cistern?.under;
    const theirs = new Set(found.dataset.snapshots.map(({ name }) => name));
    // By name is enough for a forecast; the run itself compares guids.
    const common = ours.findLast(({ name }) => theirs.has(name.slice(dataset.length + 1)))?.name ?? null;
    const outside = under !== undefined && !target.dataset.startsWith(`${under}/`);
    const where = targetWords(target);
    const sentence = outside
      ? `That Cistern takes in what lies below “${under}”, and ${where} does not.`
      : !found.dataset.exists
        ? `There is no ${where} yet: everything is sent first, ${size(known.byName.get(dataset)?.referenced ?? 0)} and what its snapshots hold.`
        : found.dataset.partial
          ? `${where} holds what an interrupted replication has sent: it goes on from there.`
          : common !== null
            ? `${where} has the snapshot “${common.split('@')[1]}”: only what changed since is sent.`
            : `${where} exists and has no snapshot in common with “${dataset}”. Nothing is overwritten there: choose another name.`;
    return {
      cistern: found.cistern && { version: found.cistern.version, under: found.cistern.under },
      exists: found.dataset.exists,
      snapshots: found.dataset.snapshots.length,
      common,
      sentence,
      possible: !outside && (!found.dataset.exists || found.dataset.partial || common !== null),
    };
  }

  run(id: string, caller: Caller): Job {
    const { dataset, target } = this.#find(id);
    if (this.#running.has(id)) throw fail('conflict', 'It is running already.', 'Follow its job.');
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'replication.run', `${dataset} → ${target.dataset}`);
    return this.#start(id, true, caller);
  }

  /** `anew`: with a new snapshot; otherwise with that of the run that was interrupted. */
  #start(id: string, anew: boolean, caller: Caller = appliance): Job {
    const { jobs, db, clock, log } = this.#parts;
    const one = this.#find(id);
    const begun = clock.now();
    // Written first: an akd that is killed must not begin it again at once.
    db.run('UPDATE replications SET last_run_at = ?, retry_at = NULL WHERE id = ?', begun, id);
    const title = `Replicate “${one.dataset}” to ${targetWords(one.target)}`;
    const job = jobs.start({ kind: 'replication', title, cancellable: true, caller }, async (handle) => {
      let bytes = 0;
      const count = (sent: number) => {
        bytes = sent;
      };
      try {
        const result = await this.#carryOut(id, anew, handle, count);
        this.#ended(id, null, bytes, begun);
        return result;
      } catch (error) {
        const problem = asProblem(error);
        this.#ended(id, problem, bytes, begun, handle.signal.aborted);
        log.warn('a replication failed', { replication: id, dataset: one.dataset, error: problem.detail });
        throw error;
      } finally {
        this.#running.delete(id);
        this.#changed();
      }
    });
    this.#running.set(id, job.id);
    this.#changed();
    return job;
  }

  #ended(id: string, error: Problem | null, bytes: number, begun: number, cancelled = false): void {
    const { db, clock } = this.#parts;
    const { attempts } = this.#find(id);
    const now = clock.now();
    const wait = error === null || cancelled ? null : retryAfterMinutes(error.code, attempts + 1);
    db.run(
      `UPDATE replications SET last_error_json = ?, last_bytes = ?, last_seconds = ?, retry_at = ?, attempts = ? WHERE id = ?`,
      error && JSON.stringify(error),
      bytes,
      (now - begun) / 1000,
      wait === null ? null : now + wait * 60_000,
      error === null ? 0 : attempts + 1,
      id,
    );
  }

  async #carryOut(id: string, anew: boolean, job: JobHandle, count: (bytes: number) => void): Promise<unknown> {
    const { platform, tree, clock, db } = this.#parts;
    const one = this.#find(id);
    const { byName } = await tree.now();
    if (!byName.has(one.dataset)) {
      throw fail(
        'not_found',
        `There is no dataset “${one.dataset}”.`,
        'It was renamed or destroyed: end its replication, or bring it back.',
      );
    }
    let own = anew ? null : one.pending;
    if (own !== null && !(await tree.get()).snapshotByName.has(`${one.dataset}@${own}`)) own = null;
    if (own === null) {
      const now = clock.now();
      own = ownName(id, now);
      job.step('Taking a snapshot', 0);
      await platform.datasets.takeSnapshots({
        names: [`${one.dataset}@${own}`],
        recursive: one.recursive,
        replication: id,
      });
      db.run('UPDATE replications SET pending_snapshot = ?, pending_at = ? WHERE id = ?', own, now, id);
    }
    const known = await tree.now();
    const taken = own;
    const datasets = known.datasets
      .map(({ name }) => name)
      .filter((name) => (one.recursive ? within(name, one.dataset) : name === one.dataset))
      .filter((name) => known.snapshotByName.has(`${name}@${taken}`));
    let bytes = 0;
    for (const [at, dataset] of datasets.entries()) {
      job.signal.throwIfAborted();
      let shown = '';
      const sent = await platform.replication.send(
        {
          dataset,
          snapshot: taken,
          target: { ...one.target, dataset: one.target.dataset + dataset.slice(one.dataset.length) },
          intermediate: one.intermediate,
          bytesPerSecond: one.bytesPerSecond,
        },
        (progress) => {
          count(bytes + progress.sent);
          const share = progress.total ? Math.min(1, progress.sent / progress.total) : 0;
          const percent = Math.floor(((at + share) / datasets.length) * 100);
          const which = datasets.length > 1 ? `“${dataset}”: ` : '';
          const of = progress.total ? `, ${size(progress.sent)} of about ${size(progress.total)}` : '';
          // A line of the log for each percent, not for each second.
          if (progress.text + percent !== shown) job.step(`${which}${progress.text}${of}`, percent);
          shown = progress.text + percent;
        },
        job.signal,
      );
      bytes += sent.bytes;
      count(bytes);
      if (sent.resumed) job.log(`“${dataset}” went on where it was interrupted.`);
    }
    const takenAt = known.snapshotByName.get(`${one.dataset}@${taken}`)?.createdAt ?? clock.now();
    db.run(
      `UPDATE replications SET done_snapshot = ?, done_at = ?, pending_snapshot = NULL, pending_at = NULL WHERE id = ?`,
      taken,
      takenAt,
      id,
    );
    const args = { id, dataset: one.dataset, target: targetWords(one.target), snapshot: taken, bytes };
    this.#parts.alerts.raise({ kind: replicationFinished, args });
    await this.#giveUp(this.#find(id), [taken]).catch((error: unknown) =>
      job.log(`Earlier snapshots of this replication could not be destroyed: ${asProblem(error).detail}`),
    );
    return {
      bytes,
      datasets: datasets.length,
      snapshot: taken,
      sentence: `${size(bytes)} of ${plural(datasets.length, 'dataset')} sent.`,
    };
  }

  /** Destroys the snapshots that a replication has taken, but for those of these names. */
  async #giveUp(one: Stored, keep: readonly string[]): Promise<void> {
    const { platform, tree } = this.#parts;
    const { snapshots } = await tree.now();
    const ending = `-${one.id.slice(-6)}`;
    const names = snapshots
      .filter(({ dataset, name, holds, clones }) => {
        const own = name.slice(dataset.length + 1);
        const ours = own.startsWith(PREFIX) && own.endsWith(ending) && within(dataset, one.dataset);
        return ours && !keep.includes(own) && holds === 0 && clones.length === 0;
      })
      .map(({ name }) => name);
    if (names.length > 0) await platform.datasets.destroySnapshots(names);
    await tree.now();
  }

  /** Begins again what was interrupted and whose time has come; what an akd that was killed had begun, too. */
  retry(): void {
    const now = this.#parts.clock.now();
    for (const { id, enabled, retryAt } of this.#all()) {
      if (enabled && retryAt !== null && retryAt <= now && !this.#running.has(id)) this.#start(id, false);
    }
  }

  /** For the alerts. */
  failing(): { id: string; dataset: string; target: string; failure: string; action: string }[] {
    return this.#all().flatMap(({ id, dataset, target, lastError, attempts }) =>
      // What may pass raises an alert when it has not after some attempts.
      lastError !== null && (retryAfterMinutes(lastError.code, 1) === null || attempts >= 3)
        ? [{ id, dataset, target: targetWords(target), failure: lastError.detail, action: lastError.action ?? '' }]
        : [],
    );
  }

  late(): { id: string; dataset: string; target: string; lagSeconds: number }[] {
    return this.#all().flatMap((one) => {
      const { id, dataset, target, enabled, lateAfterMinutes, createdAt } = one;
      const lagSeconds = this.#lag(one) ?? (this.#parts.clock.now() - createdAt) / 1000;
      const late = enabled && lateAfterMinutes > 0 && lagSeconds > lateAfterMinutes * 60;
      return late ? [{ id, dataset, target: targetWords(target), lagSeconds }] : [];
    });
  }

  /** At the start: runs that ended with the last akd are taken up again, and replicd gets the list of senders. */
  async begin(): Promise<void> {
    const { db, clock, log, senders } = this.#parts;
    db.run(
      'UPDATE replications SET retry_at = ? WHERE pending_snapshot IS NOT NULL AND retry_at IS NULL AND last_error_json IS NULL',
      clock.now(),
    );
    await senders
      .configure()
      .catch((error: unknown) =>
        log.warn('replicd was not given the list of senders', { error: asProblem(error).detail }),
      );
  }
}

export function replicationRoutes(parts: {
  replications: Replications;
  senders: ReplicationSenders;
  platform: Platform;
}): Handlers<typeof routes> {
  const { replications, senders, platform } = parts;
  return {
    listReplications: () => ({ items: replications.list() }),
    createReplication: ({ body, caller }) => replications.create(body, caller),
    getReplication: ({ params }) => replications.get(params.id),
    updateReplication: ({ params, body, caller }) => replications.update(params.id, body, caller),
    deleteReplication: async ({ params, caller }) => {
      await replications.remove(params.id, caller);
      return undefined;
    },
    runReplication: ({ params, caller }) => replications.run(params.id, caller),
    fetchHostKey: ({ body }) => platform.replication.hostKey(body.host, body.port),
    previewReplication: ({ body }) => replications.preview(body.dataset, body.target),
    listSenders: () => senders.list(),
    createSender: ({ body, caller }) => senders.create(body, caller),
    deleteSender: async ({ params, caller }) => {
      await senders.remove(params.id, caller);
      return undefined;
    },
  };
}
