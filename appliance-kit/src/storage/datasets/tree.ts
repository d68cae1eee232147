// All datasets and snapshots, read at once and kept: a page of ten thousand is then a matter of memory. What is known
// is answered at once and renewed behind it; after a change of our own the next answer waits for a new reading.
import type { Clock } from '../../base/clock.ts';
import { asProblem } from '../../base/problems/problem.ts';
import { inSlices, type Sliced } from '../../base/slices.ts';
import type { DatasetPlatform, PlatformDataset, PlatformSnapshot, PlatformTree } from '../../platform/datasets.ts';

/** Younger than this it is not read anew for a page. */
const MAX_AGE_MS = 5_000;
/** As long as no command has changed a dataset, what is looked at without being asked may be so old: sizes change at any time. */
const QUIET_MS = 30_000;
/** A machine on which reading takes long is not kept busy with it: it rests this many times as long. */
const REST = 10;
/** How long the very first page waits. */
const FIRST_PATIENCE_MS = 20_000;

export interface Known {
  readonly datasets: readonly PlatformDataset[];
  readonly byName: ReadonlyMap<string, PlatformDataset>;
  readonly snapshots: readonly PlatformSnapshot[];
  readonly snapshotByName: ReadonlyMap<string, PlatformSnapshot>;
  /** The oldest first. */
  readonly snapshotsOf: ReadonlyMap<string, readonly PlatformSnapshot[]>;
  readonly children: ReadonlyMap<string, number>;
  readonly generation: number;
}

export interface Reading extends Known {
  readonly ageSeconds: number;
  readonly error: string | null;
}

const NOTHING: Known = {
  datasets: [],
  byName: new Map(),
  snapshots: [],
  snapshotByName: new Map(),
  snapshotsOf: new Map(),
  children: new Map(),
  generation: 0,
};

/** As a tree is read: `a`, `a/b`, `a/b/c`, `a-b`. A slash comes before every other character. */
export function byPath(a: string, b: string): number {
  const [left, right] = [a.replaceAll('/', '\u0001'), b.replaceAll('/', '\u0001')];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Snapshots that are sorted in before others may have their turn. */
const AT_ONCE = 1_000;

function* index(tree: PlatformTree, generation: number): Sliced<Known> {
  const datasets = [...tree.datasets].sort((a, b) => byPath(a.name, b.name));
  yield;
  const children = new Map<string, number>();
  for (const { name } of datasets) {
    const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
    children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  const snapshotsOf = new Map<string, PlatformSnapshot[]>();
  const snapshotByName = new Map<string, PlatformSnapshot>();
  for (const [at, snapshot] of tree.snapshots.entries()) {
    if (at % AT_ONCE === 0) yield;
    snapshotByName.set(snapshot.name, snapshot);
    const known = snapshotsOf.get(snapshot.dataset);
    if (known === undefined) snapshotsOf.set(snapshot.dataset, [snapshot]);
    else known.push(snapshot);
  }
  const snapshots: PlatformSnapshot[] = [];
  for (const { name } of datasets) {
    const all = snapshotsOf.get(name) ?? [];
    // Stable: of one moment, in the order in which ZFS lists them.
    all.sort((a, b) => a.createdAt - b.createdAt);
    for (const one of all) snapshots.push(one);
    yield;
  }
  return {
    datasets,
    byName: new Map(datasets.map((dataset) => [dataset.name, dataset])),
    snapshots,
    snapshotByName,
    snapshotsOf,
    children,
    generation,
  };
}

export class Tree {
  readonly #platform: DatasetPlatform;
  readonly #clock: Clock;
  /** Called when a reading differs from the one before. */
  readonly #changed: () => void;
  #known: Known | null = null;
  #of: PlatformTree | null = null;
  #at = 0;
  #took = 0;
  #error: string | null = null;
  #reading: Promise<void> | null = null;

  constructor(platform: DatasetPlatform, clock: Clock, changed: () => void) {
    this.#platform = platform;
    this.#clock = clock;
    this.#changed = changed;
  }

  #read(): Promise<void> {
    const began = performance.now();
    this.#reading ??= this.#platform
      .tree()
      .then(
        async (tree) => {
          const at = this.#clock.now();
          const first = this.#known === null;
          const same = this.#of === tree;
          if (!same) this.#known = await inSlices(index(tree, (this.#known?.generation ?? 0) + 1));
          this.#of = tree;
          this.#at = at;
          this.#error = null;
          if (same) return;
          if (!first) this.#changed();
        },
        (error: unknown) => {
          this.#error = asProblem(error).detail;
          throw error;
        },
      )
      .finally(() => {
        this.#took = performance.now() - began;
        this.#reading = null;
      });
    return this.#reading;
  }

  /** What is known, at once; it is renewed behind it when it is old. */
  async get(): Promise<Reading> {
    if (this.#known === null) {
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FIRST_PATIENCE_MS);
      });
      await Promise.race([this.#read().catch(() => {}), enough]);
      clearTimeout(timer);
    } else if (this.#clock.now() - this.#at > Math.max(MAX_AGE_MS, this.#took * REST)) {
      void this.#read().catch(() => {});
    }
    return this.last();
  }

  /** As `get`, for whoever looks again and again: as long as nothing happens, sizes may be older. */
  async watch(): Promise<Reading> {
    const quiet = this.#known !== null && this.#error === null && this.#platform.unchanged?.() === true;
    return quiet && Math.abs(this.#clock.now() - this.#at) < QUIET_MS ? this.last() : this.get();
  }

  /** A reading that began after this call: for deciding, and after a change. */
  async now(): Promise<Reading> {
    await this.#reading?.catch(() => {});
    await this.#read();
    return this.last();
  }

  last(): Reading {
    return {
      ...(this.#known ?? NOTHING),
      ageSeconds: this.#known === null ? 0 : Math.max(0, (this.#clock.now() - this.#at) / 1000),
      error: this.#error ?? (this.#known === null ? 'The machine has not answered yet.' : null),
    };
  }
}
