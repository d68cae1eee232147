// The disks and the pools of the machine, joined: which pool a disk is in, and why another cannot be used.

import { CachedReading, type Reading } from '../../base/cached-reading.ts';
import type { Clock } from '../../base/clock.ts';
import { size } from '../../base/words.ts';
import type { Platform, PlatformDisk, PlatformPool } from '../../platform/platform.ts';
import type { Vdev } from '../../platform/pool.ts';
import type { Disk, Pool } from './schema.ts';
import { describePool } from './sentence.ts';

/** Smaller disks hold little more than ZFS' own labels and reserve. */
export const SMALLEST_DISK = 2 ** 30;
/** Pages poll faster than this; the machine is not asked more often. */
const MAX_AGE_MS = 2_000;
/** As long as pools are well and nothing happens to one, what is looked at without being asked may be so old: sizes change at any time. */
const QUIET_MS = 30_000;
/** How long a page waits for a new reading before it shows the last one. */
const PATIENCE_MS = 1_500;

/** `scsi-0X-part1` and `/dev/sda1`, `/dev/nvme0n1p1` name a partition; the disk is meant. */
export function wholeDisk(path: string): string {
  return path
    .replace(/-part\d+$/, '')
    .replace(/^(\/dev\/(?:nvme\d+n\d+|mmcblk\d+))p\d+$/, '$1')
    .replace(/^(\/dev\/[a-z]+)\d+$/, '$1');
}

interface Place {
  readonly pool: string;
  readonly vdev: string;
}

function places(pools: readonly PlatformPool[]): Map<string, Place> {
  const found = new Map<string, Place>();
  const walk = (pool: string, vdev: Vdev, top: string): void => {
    if (vdev.path !== null) {
      found.set(vdev.path, { pool, vdev: top });
      found.set(wholeDisk(vdev.path), { pool, vdev: top });
    }
    for (const child of vdev.children) walk(pool, child, top);
  };
  for (const pool of pools) for (const vdev of pool.vdevs) walk(pool.name, vdev, vdev.name);
  return found;
}

function joinDisk(disk: PlatformDisk, known: Map<string, Place>, systemPool: string): Disk {
  const place = disk.aliases.map((alias) => known.get(alias)).find((one) => one !== undefined);
  const facts = {
    id: disk.id,
    path: disk.path,
    model: disk.model,
    serial: disk.serial,
    wwn: disk.wwn,
    place: disk.place,
    bytes: disk.bytes,
    bus: disk.bus,
    rotational: disk.rotational,
    pool: place?.pool ?? null,
    vdev: place?.vdev ?? null,
  };
  if (disk.system || place?.pool === systemPool) {
    return { ...facts, state: 'system', reason: 'The appliance itself runs from it.' };
  }
  if (place !== undefined) return { ...facts, state: 'in_pool', reason: `It is part of the pool “${place.pool}”.` };
  if (disk.occupant !== null) return { ...facts, state: 'in_use', reason: disk.occupant };
  if (disk.readOnly) return { ...facts, state: 'in_use', reason: 'It can only be read.' };
  if (disk.bytes < SMALLEST_DISK) {
    const reason = `It holds ${size(disk.bytes)}; a pool needs disks of ${size(SMALLEST_DISK)} or more.`;
    return { ...facts, state: 'too_small', reason };
  }
  return { ...facts, state: 'available', reason: null };
}

/** A resilver or a scrub goes on without any event. */
const quiet = ({ state, scan }: PlatformPool) => state === 'ONLINE' && scan?.state !== 'scanning';

export interface Look {
  readonly disks: Reading<Disk[]>;
  readonly pools: Reading<Pool[]>;
}

export class Inventory {
  readonly #platform: Platform;
  readonly #clock: Clock;
  readonly #disks: CachedReading<PlatformDisk[]>;
  readonly #pools: CachedReading<PlatformPool[]>;
  readonly #systemPool: string;
  #looking: Promise<Look> | null = null;

  constructor(platform: Platform, clock: Clock) {
    this.#platform = platform;
    this.#systemPool = platform.systemPool;
    this.#clock = clock;
    const options = { maxAgeMs: MAX_AGE_MS, patienceMs: PATIENCE_MS, nothing: [] };
    this.#disks = new CachedReading(() => platform.disks(), clock, options);
    this.#pools = new CachedReading(() => platform.pools(), clock, options);
  }

  async disks(): Promise<Reading<Disk[]>> {
    return this.#joined(...(await Promise.all([this.#disks.get(), this.#pools.get()])));
  }

  /**
   * What the poller's watches look at: read anew if the machine answers in time. Pools to which nothing has happened are
   * read anew more rarely. Watches of one round share a reading.
   */
  look(): Promise<Look> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<Look> {
    const known = this.#pools.last();
    const well = known.error === null && known.value.every(quiet);
    const unchanged = well && (await this.#platform.poolsUnchanged?.().catch(() => false)) === true;
    const [disks, pools] = await Promise.all([
      this.#disks.soon(),
      unchanged ? this.#pools.get(QUIET_MS) : this.#pools.soon(),
    ]);
    return {
      disks: this.#joined(disks, pools),
      pools: { ...pools, value: this.#withDisks(pools.value, disks.value) },
    };
  }

  #joined(disks: Reading<PlatformDisk[]>, pools: Reading<PlatformPool[]>): Reading<Disk[]> {
    const known = places(pools.value);
    return {
      ...disks,
      error: disks.error ?? pools.error,
      value: disks.value.map((disk) => joinDisk(disk, known, this.#systemPool)),
    };
  }

  async pools(): Promise<Reading<Pool[]>> {
    const [disks, pools] = await Promise.all([this.#disks.get(), this.#pools.get()]);
    return { ...pools, value: this.#withDisks(pools.value, disks.value) };
  }

  /** Where the disks are, as of the last reading: for asking a disk how it is, which decides nothing. */
  async known(): Promise<{ links: Map<string, string> }> {
    const { value } = await this.#disks.get();
    return { links: new Map(value.map((disk) => [disk.id, disk.link])) };
  }

  /** Read anew, for a decision: throws rather than answer with what was true a while ago. */
  async renew(): Promise<{ disks: Disk[]; pools: Pool[]; links: Map<string, string> }> {
    const [disks, pools] = await Promise.all([this.#disks.now(), this.#pools.now()]);
    const known = places(pools);
    return {
      disks: disks.map((disk) => joinDisk(disk, known, this.#systemPool)),
      pools: this.#withDisks(pools, disks),
      links: new Map(disks.map((disk) => [disk.id, disk.link])),
    };
  }

  #withDisks(pools: readonly PlatformPool[], disks: readonly PlatformDisk[]): Pool[] {
    const ids = new Map(disks.flatMap((disk) => disk.aliases.map((alias) => [alias, disk.id] as const)));
    const withIds = (vdev: Vdev): Vdev => ({
      ...vdev,
      diskId: vdev.path === null ? null : (ids.get(vdev.path) ?? ids.get(wholeDisk(vdev.path)) ?? null),
      children: vdev.children.map(withIds),
    });
    return pools.map((pool) => {
      const scan = pool.scan;
      const bare = {
        ...pool,
        system: pool.name === this.#systemPool,
        capacity: pool.bytes > 0 ? pool.allocated / pool.bytes : 0,
        vdevs: pool.vdevs.map(withIds),
      };
      return describePool(bare, scan, this.#clock.now());
    });
  }
}
