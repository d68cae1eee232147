// Snapshots: what there are, taking, keeping, giving up, looking into and going back to them.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { ago, plural, size } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { Places } from '../../http/gate/places.ts';
import { sendAll } from '../../http/gate/send.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Job, Jobs } from '../../jobs/index.ts';
import type { Difference, PlatformSnapshot } from '../../platform/datasets.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  datasetNameProblem,
  isSystem,
  isTelemetry,
  type Known,
  mustBeChangeable,
  mustBeKnown,
  mustBeNamed,
  mustBeProperties,
  page,
  pageFacts,
  partProblem,
  poolOf,
  snapshotNameProblem,
  type Tree,
} from '../datasets/index.ts';
import { keptBy, OURS } from './retention.ts';
import type { routes } from './routes.ts';
import { stamp } from './schedules.ts';
import type { NewSnapshots, RollbackInput, RollbackPreview, Snapshot, SnapshotQuery } from './schema.ts';

/** A diff takes ZFS a while; its pages are cut from one. */
const DIFF_KEPT_MS = 60_000;
const DIFFS_KEPT = 4;

export interface SnapshotParts {
  readonly platform: Platform;
  readonly tree: Tree;
  readonly jobs: Jobs;
  readonly audit: Audit;
  readonly clock: Clock;
}

const split = (name: string) => {
  const at = name.indexOf('@');
  return [name.slice(0, at), name.slice(at + 1)] as [dataset: string, own: string];
};

export function describe(snapshot: PlatformSnapshot): Snapshot {
  return {
    ...snapshot,
    clones: [...snapshot.clones],
    snapshot: split(snapshot.name)[1],
    createdAt: iso(snapshot.createdAt),
    keptBy: keptBy(snapshot),
  };
}

function mustBeSnapshot(known: Known, name: string): PlatformSnapshot {
  const found = known.snapshotByName.get(name);
  if (found === undefined) throw fail('not_found', `There is no snapshot “${name}”.`, 'It may have been destroyed.');
  return found;
}

/** Its files may hold the appliance's own secrets. */
function mustBeReadable(name: string, { systemPool }: Platform): void {
  if (isSystem(name, systemPool)) throw fail('forbidden', `“${split(name)[0]}” holds the appliance’s own state.`);
}

type Sort = NonNullable<SnapshotQuery['sort']>;

function sorted(all: readonly PlatformSnapshot[], sort: Sort, up: boolean): readonly PlatformSnapshot[] {
  const sign = up ? 1 : -1;
  return all.toSorted((a, b) =>
    sort === 'name'
      ? sign * (a.name < b.name ? -1 : 1)
      : sign * (sort === 'used' ? a.used - b.used : a.createdAt - b.createdAt) || (a.name < b.name ? -1 : 1),
  );
}

export class Snapshots {
  readonly #parts: SnapshotParts;
  #orders: { of: readonly PlatformSnapshot[]; known: Map<string, readonly PlatformSnapshot[]> } = {
    of: [],
    known: new Map(),
  };
  readonly #diffs = new Map<string, { at: number; found: Promise<{ items: Difference[]; cut: boolean }> }>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** All of them, sorted once for as long as they are the same: whoever turns pages asks again and again. */
  #sorted(all: readonly PlatformSnapshot[], sort: Sort, up: boolean): readonly PlatformSnapshot[] {
    if (this.#orders.of !== all) this.#orders = { of: all, known: new Map() };
    const key = `${sort} ${up}`;
    const known = this.#orders.known.get(key) ?? sorted(all, sort, up);
    this.#orders.known.set(key, known);
    return known;
  }

  async list(query: SnapshotQuery) {
    const known = await this.#parts.tree.get();
    const search = query.search?.toLowerCase();
    const sort = query.sort ?? 'created';
    const up = (query.order ?? (sort === 'name' ? 'up' : 'down')) === 'up';
    const all =
      query.dataset === undefined
        ? this.#sorted(known.snapshots, sort, up)
        : sorted(known.snapshotsOf.get(query.dataset) ?? [], sort, up);
    const found = search === undefined ? all : all.filter(({ name }) => name.toLowerCase().includes(search));
    const { items, offset } = page(found, query);
    return { items: items.map(describe), total: found.length, offset, ...pageFacts(known) };
  }

  async get(name: string) {
    const { tree, platform } = this.#parts;
    const known = await tree.get();
    const found = known.snapshotByName.get(name) ?? mustBeSnapshot(await tree.now(), name);
    const [holds, writtenSince] = await Promise.all([
      found.holds > 0 ? platform.datasets.holds([name]) : [],
      platform.datasets.writtenSince(name),
    ]);
    return {
      ...describe(found),
      heldBy: holds.map(({ at, ...hold }) => ({ ...hold, at: iso(at) })),
      writtenSince,
    };
  }

  async #change<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.#parts.tree.now().catch(() => {});
    }
  }

  async create({ datasets, name, recursive }: NewSnapshots, caller: Caller): Promise<{ names: string[] }> {
    const { platform, tree, audit, clock } = this.#parts;
    const own = name ?? `manual-${stamp(clock.now())}`;
    const wrong = own.startsWith(OURS)
      ? `begins with “${OURS}”, as only those do that the appliance takes`
      : partProblem(own);
    if (wrong !== null) {
      throw fail('invalid_request', `The name “${own}” ${wrong}.`, undefined, [{ path: '/name', message: wrong }]);
    }
    const known = await tree.now();
    for (const dataset of datasets) mustBeKnown(known, dataset);
    const names = [...new Set(datasets)].map((dataset) => `${dataset}@${own}`);
    for (const one of names) mustBeNamed(one, '/name', snapshotNameProblem);
    const taken = names.find((one) => known.snapshotByName.has(one));
    if (taken !== undefined) {
      const errors = [{ path: '/name', message: `“${taken}” exists already` }];
      throw fail('conflict', `A snapshot “${taken}” exists already.`, 'Choose another name.', errors);
    }
    audit.record(caller, 'snapshot.create', names[0] as string, null, { names, recursive });
    await this.#change(() => platform.datasets.takeSnapshots({ names, recursive }));
    return { names };
  }

  /**
   * Before a change that could go wrong: snapshots of these datasets, of one moment for each pool. Throws when they cannot
   * be taken; whoever asked for safety must then not go on.
   * @param why as “before the update to 1.4”, shown beside the snapshot
   */
  async safetySnapshot(datasets: readonly string[], why: string): Promise<string[]> {
    const { platform, clock } = this.#parts;
    const names = datasets.map((dataset) => `${dataset}@${OURS}safety-${stamp(clock.now())}`);
    await this.#change(() => platform.datasets.takeSnapshots({ names, recursive: false, reason: why }));
    return names;
  }

  async destroy(names: readonly string[], caller: Caller) {
    const { platform, tree, audit } = this.#parts;
    const known = tree.last();
    for (const name of names) {
      mustBeNamed(name, '/names', snapshotNameProblem);
      mustBeChangeable(split(name)[0], platform);
    }
    const bytes = names.reduce((sum, name) => sum + (known.snapshotByName.get(name)?.used ?? 0), 0);
    audit.record(caller, 'snapshot.destroy', names[0] as string, { names, bytes }, null);
    const { destroyed, refused } = await this.#change(() => platform.datasets.destroySnapshots(names));
    return { destroyed: [...destroyed], refused: refused.map((one) => ({ ...one })) };
  }

  async hold(names: readonly string[], tag: string, held: boolean, caller: Caller): Promise<void> {
    const { platform, tree, audit } = this.#parts;
    const wrong = tag.startsWith('-') ? 'begins with “-”' : partProblem(tag);
    if (wrong !== null) {
      throw fail('invalid_request', `The tag “${tag}” ${wrong}.`, undefined, [{ path: '/tag', message: wrong }]);
    }
    const known = await tree.now();
    for (const name of names) mustBeSnapshot(known, name);
    audit.record(caller, held ? 'snapshot.hold' : 'snapshot.release', names[0] as string, null, { names, tag });
    await this.#change(() => (held ? platform.datasets.hold(names, tag) : platform.datasets.release(names, tag)));
  }

  async rename(name: string, to: string, caller: Caller): Promise<Snapshot> {
    const { platform, tree, audit } = this.#parts;
    const [dataset] = split(name);
    mustBeNamed(`${dataset}@${to}`, '/to', snapshotNameProblem);
    const known = await tree.now();
    mustBeSnapshot(known, name);
    if (known.snapshotByName.has(`${dataset}@${to}`)) {
      throw fail('conflict', `A snapshot “${to}” of it exists already.`, 'Choose another name.', [
        { path: '/to', message: 'is taken' },
      ]);
    }
    audit.record(caller, 'snapshot.rename', name, name, to);
    await this.#change(() => platform.datasets.renameSnapshot(name, `${dataset}@${to}`));
    return describe(mustBeSnapshot(tree.last(), `${dataset}@${to}`));
  }

  async clone(snapshot: string, name: string, mountpoint: string | undefined, caller: Caller): Promise<void> {
    const { platform, tree, audit } = this.#parts;
    mustBeNamed(name, '/name', datasetNameProblem);
    mustBeReadable(snapshot, this.#parts.platform);
    const known = await tree.now();
    mustBeSnapshot(known, snapshot);
    const { kind } = mustBeKnown(known, split(snapshot)[0]);
    const message =
      poolOf(name) !== poolOf(snapshot) || !name.includes('/')
        ? `it is on the pool of its snapshot: its name begins with “${poolOf(snapshot)}/”`
        : known.byName.has(name)
          ? `a dataset “${name}” exists already`
          : !known.byName.has(name.slice(0, name.lastIndexOf('/')))
            ? `there is no dataset “${name.slice(0, name.lastIndexOf('/'))}” to make it below`
            : null;
    if (message !== null) {
      throw fail('invalid_request', `The clone cannot be made: ${message}.`, undefined, [{ path: '/name', message }]);
    }
    const properties: Record<string, string> = mountpoint === undefined ? {} : { mountpoint };
    mustBeProperties(properties, kind, platform.datasets.facts, { path: '', creating: false });
    audit.record(caller, 'snapshot.clone', snapshot, null, { name, mountpoint });
    await this.#change(() => platform.datasets.clone(snapshot, name, properties));
  }

  async preview(name: string): Promise<RollbackPreview> {
    const { tree, platform, clock } = this.#parts;
    const known = await tree.now();
    const target = mustBeSnapshot(known, name);
    mustBeChangeable(target.dataset, platform);
    const all = known.snapshotsOf.get(target.dataset) ?? [];
    const newer = all.slice(all.indexOf(target) + 1);
    const newerBytes = newer.reduce((sum, { used }) => sum + used, 0);
    const writtenSince = await platform.datasets.writtenSince(name);
    const dataset = mustBeKnown(known, target.dataset);
    const blocked = newer.find(({ holds, clones }) => holds > 0 || clones.length > 0);
    const since = ago(clock.now() - target.createdAt);
    return {
      snapshot: name,
      dataset: target.dataset,
      createdAt: iso(target.createdAt),
      writtenSince,
      newer: newer.map((one) => ({
        name: one.name,
        used: one.used,
        createdAt: iso(one.createdAt),
        keptBy: keptBy(one),
      })),
      newerBytes,
      sentence: `“${target.dataset}” becomes what it was ${since}. ${size(writtenSince)} that ${writtenSince === 1 ? 'was' : 'were'} written since ${newer.length === 0 ? 'are' : `and ${plural(newer.length, 'newer snapshot')} are`} not in it any more.`,
      cannotKeep:
        (known.children.get(target.dataset) ?? 0) > 0
          ? 'There are datasets below it, which would be moved with what is kept.'
          : target.dataset.includes('/')
            ? null
            : 'It is the pool’s own dataset.',
      cannotDestroy: blocked === undefined ? null : `“${blocked.name}” is newer. ${keptBy(blocked)}`,
      services: isTelemetry(dataset) ? ['storaged'] : [],
    };
  }

  async rollback(name: string, input: RollbackInput, caller: Caller): Promise<Job> {
    const { platform, jobs, audit } = this.#parts;
    const { dataset, newer, cannotKeep, cannotDestroy, writtenSince, services } = await this.preview(name);
    if (input.confirm !== dataset) {
      throw fail('invalid_request', `To roll back “${dataset}”, repeat its name.`, undefined, [
        { path: '/confirm', message: 'is not its name' },
      ]);
    }
    if (input.keep && cannotKeep !== null) {
      throw fail('conflict', `What there is now cannot be kept: ${cannotKeep}`, 'Clone the snapshot instead.');
    }
    if (!input.keep && cannotDestroy !== null) {
      throw fail('conflict', cannotDestroy, 'Release it, or keep what there is now as a dataset of its own.');
    }
    if (!input.keep && !input.destroyNewer && newer.length > 0) {
      throw fail(
        'conflict',
        `${plural(newer.length, 'snapshot')} of “${dataset}” ${newer.length === 1 ? 'is' : 'are'} newer and would be destroyed.`,
        'Confirm that, or keep what there is now as a dataset of its own.',
        newer.slice(0, 100).map((one) => ({ path: one.name, message: 'is newer' })),
      );
    }
    if (jobs.isRunning('snapshot.rollback')) throw fail('conflict', 'Another rollback is under way.');
    jobs.allow(caller);
    audit.record(caller, 'snapshot.rollback', name, { writtenSince, newer: newer.map((one) => one.name) }, input);
    const title = `Roll back “${dataset}” to “${split(name)[1]}”`;
    return jobs.start({ kind: 'snapshot.rollback', title, cancellable: false, caller }, async (job) => {
      if (services.length > 0) job.log('The Telemetry store is stopped meanwhile, and started again in any case.');
      job.step(input.keep ? 'Putting what there is now aside, and the snapshot in its place' : 'Rolling back');
      const done = await this.#change(() =>
        platform.datasets.rollback({
          dataset,
          snapshot: split(name)[1],
          keep: input.keep,
          destroyNewer: !input.keep && input.destroyNewer,
        }),
      );
      if (done.keptAs !== '') job.log(`What there was is kept as “${done.keptAs}”.`);
      return done;
    });
  }

  async diff(name: string, other: string | undefined, query: { limit?: number; offset?: number }) {
    const { platform, tree, clock } = this.#parts;
    mustBeReadable(name, this.#parts.platform);
    const known = await tree.get();
    const from = mustBeSnapshot(known, name);
    if (other !== undefined) {
      const to = mustBeSnapshot(known, other);
      if (to.dataset !== from.dataset || to.createdAt < from.createdAt) {
        const message = 'is not a later snapshot of the same dataset';
        throw fail('invalid_request', `“${other}” ${message}.`, undefined, [{ path: '/other', message }]);
      }
    }
    const key = `${name} ${other ?? ''}`;
    let kept = this.#diffs.get(key);
    if (kept === undefined || clock.now() - kept.at > DIFF_KEPT_MS || (query.offset ?? 0) === 0) {
      kept = { at: clock.now(), found: platform.datasets.diff(name, other ?? null) };
      this.#diffs.set(key, kept);
      for (const old of [...this.#diffs.keys()].slice(0, -DIFFS_KEPT)) this.#diffs.delete(old);
      kept.found.catch(() => this.#diffs.delete(key));
    }
    const { items: all, cut } = await kept.found;
    const { items, offset } = page(all, query);
    return {
      items: items.map(({ at, ...one }) => ({ ...one, at: at === null ? null : iso(at) })),
      total: all.length,
      offset,
      cut,
    };
  }

  async #mustHaveFiles(name: string, path: string): Promise<void> {
    mustBeReadable(name, this.#parts.platform);
    const known = await this.#parts.tree.get();
    const { dataset } = mustBeSnapshot(known, name);
    if (known.byName.get(dataset)?.kind === 'volume') {
      throw fail('conflict', `“${dataset}” is a volume, and holds no files that could be seen from here.`);
    }
    if (path.split('/').some((part) => part === '..' || part === '.' || (part === '' && path !== ''))) {
      const message = 'must be a path below the snapshot';
      throw fail('invalid_request', `The path “${path}” ${message}.`, undefined, [{ path: '/path', message }]);
    }
  }

  async files(name: string, path: string) {
    await this.#mustHaveFiles(name, path);
    const { items, cut } = await this.#parts.platform.datasets.files(name, path);
    return { path, items: items.map((one) => ({ ...one, modifiedAt: iso(one.modifiedAt) })), cut };
  }

  async open(name: string, path: string, caller: Caller) {
    await this.#mustHaveFiles(name, path);
    this.#parts.audit.record(caller, 'snapshot.download', name, null, { path });
    return this.#parts.platform.datasets.readFile(name, path);
  }
}

export function snapshotRoutes(
  snapshots: Snapshots,
): Pick<
  Handlers<typeof routes>,
  | 'listSnapshots'
  | 'getSnapshot'
  | 'createSnapshots'
  | 'destroySnapshots'
  | 'holdSnapshots'
  | 'releaseSnapshots'
  | 'renameSnapshot'
  | 'cloneSnapshot'
  | 'previewRollback'
  | 'rollback'
  | 'diffSnapshot'
  | 'listSnapshotFiles'
  | 'downloadSnapshotFile'
> {
  const places = new Places(8, 4, 'files of snapshots are being downloaded');
  return {
    listSnapshots: ({ query }) => snapshots.list(query),
    getSnapshot: ({ params }) => snapshots.get(params.name),
    createSnapshots: ({ body, caller }) => snapshots.create(body, caller),
    destroySnapshots: ({ body, caller }) => snapshots.destroy(body.names, caller),
    holdSnapshots: async ({ body, caller }) => {
      await snapshots.hold(body.names, body.tag, true, caller);
      return undefined;
    },
    releaseSnapshots: async ({ body, caller }) => {
      await snapshots.hold(body.names, body.tag, false, caller);
      return undefined;
    },
    renameSnapshot: ({ params, body, caller }) => snapshots.rename(params.name, body.to, caller),
    cloneSnapshot: async ({ params, body, caller }) => {
      await snapshots.clone(params.name, body.name, body.mountpoint, caller);
      return undefined;
    },
    previewRollback: ({ params }) => snapshots.preview(params.name),
    rollback: ({ params, body, caller }) => snapshots.rollback(params.name, body, caller),
    diffSnapshot: ({ params, query }) => snapshots.diff(params.name, query.other, query),
    listSnapshotFiles: ({ params, query }) => snapshots.files(params.name, query.path ?? ''),
    downloadSnapshotFile: ({ params, query, reply, caller }) =>
      places.during(caller, async () => {
        const { content, bytes } = await snapshots.open(params.name, query.path, caller);
        const own = encodeURIComponent(query.path.split('/').at(-1) ?? 'file').replaceAll("'", '%27');
        reply.hijack();
        reply.raw.writeHead(200, {
          'content-type': 'application/octet-stream',
          'content-length': bytes,
          'content-disposition': `attachment; filename*=UTF-8''${own}`,
          'cache-control': 'no-store',
          // A user's file must never run as a page of ours.
          'x-content-type-options': 'nosniff',
          'content-security-policy': 'sandbox',
        });
        // Either side going away ends both; the client notices by a length that is not reached.
        await sendAll(content, reply.raw);
        return undefined;
      }),
  };
}
