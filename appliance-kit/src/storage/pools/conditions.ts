// What is wrong with pools and their disks, as alerts.

import type { Conditions } from '../../alerting/alerts/index.ts';
import { enumerate } from '../../base/words.ts';
import type { Platform } from '../../platform/platform.ts';
import { leaves, type Vdev } from '../../platform/pool.ts';
import { type Disk, diskWords, type Pool } from '../inventory/index.ts';
import {
  diskFaulted,
  poolDamaged,
  poolDegraded,
  poolFaulted,
  poolFull,
  poolMissing,
  poolSuspended,
  spareUsed,
} from './alerts.ts';
import type { Scans } from './scans.ts';

/** Damaged files that an alert names. */
const NAMED = 5;
const FULL = 0.8;

/** Which class of alert a pool's state belongs to; the worst one only. */
const classOf = (pool: Pool) =>
  pool.state === 'ONLINE'
    ? null
    : pool.state === 'DEGRADED'
      ? poolDegraded
      : pool.state === 'SUSPENDED'
        ? poolSuspended
        : poolFaulted;

/** Spares that stand in, each in a group "spare-N" with what it stands in for; the list of spares is no such group. */
const standingIn = (vdevs: readonly Vdev[]): Vdev[] =>
  vdevs.flatMap((vdev) =>
    vdev.type === 'spare' && vdev.children.length > 1 && vdev.name !== 'spares' ? [vdev] : standingIn(vdev.children),
  );

const nameOf = (leaf: Vdev) => leaf.diskId ?? leaf.name;

export class PoolConditions {
  readonly #parts: { platform: Platform; conditions: Conditions; scans: Scans };
  /** The files that were named last, of each pool: asking takes a while, and the number rarely changes. */
  readonly #damaged = new Map<string, { errors: number; files: string[] | null }>();

  constructor(parts: { platform: Platform; conditions: Conditions; scans: Scans }) {
    this.#parts = parts;
  }

  /** Call it only with readings that succeeded: not knowing is no reason to clear. */
  async look(pools: readonly Pool[], disks: readonly Disk[]): Promise<void> {
    const { conditions, scans, platform } = this.#parts;
    scans.note(pools);
    const remembered = await platform.rememberedPools().catch(() => null);
    if (remembered !== null) {
      const lost = remembered.filter((pool) => !pools.some(({ name }) => name === pool));
      conditions.report(
        poolMissing,
        lost.map((pool) => ({ args: { pool } })),
      );
    }
    const faulted = new Map(
      pools.map((pool) => [pool.name, leaves(pool.vdevs).filter(({ state }) => state === 'FAULTED')] as const),
    );
    // The worst first, so that a cause is there before what it explains.
    for (const kind of [poolFaulted, poolSuspended]) this.#report(kind, pools, faulted);
    const found = (leaf: Vdev) =>
      diskWords(
        disks.find(({ id }) => id === leaf.diskId),
        nameOf(leaf),
      );
    conditions.report(
      diskFaulted,
      pools.flatMap((pool) =>
        (faulted.get(pool.name) ?? []).map((leaf) => ({
          args: {
            pool: pool.name,
            device: nameOf(leaf),
            words: found(leaf),
            errors: `${leaf.readErrors} read, ${leaf.writeErrors} write, ${leaf.checksumErrors} checksum`,
          },
        })),
      ),
    );
    this.#report(poolDegraded, pools, faulted);
    conditions.report(
      spareUsed,
      pools.flatMap(({ name: pool, vdevs }) =>
        standingIn(vdevs).flatMap(({ children: [first, ...spares] }) =>
          spares.map((spare) => ({
            args: {
              pool,
              device: nameOf(spare),
              words: found(spare),
              // A disk that is being replaced is two.
              failed: enumerate(leaves(first === undefined ? [] : [first]).map(found)),
            },
          })),
        ),
      ),
    );
    conditions.report(
      poolDamaged,
      await Promise.all(
        pools
          .filter(({ errors }) => errors > 0)
          .map(async ({ name, errors }) => ({
            args: { pool: name, count: errors, files: (await this.#files(name, errors))?.slice(0, NAMED) ?? null },
          })),
      ),
    );
    conditions.report(
      poolFull,
      pools
        .filter(({ capacity }) => capacity >= FULL)
        .map(({ name: pool, capacity, free }) => ({ args: { pool, capacity, free } })),
    );
  }

  #report(kind: typeof poolDegraded, pools: readonly Pool[], faulted: ReadonlyMap<string, readonly Vdev[]>): void {
    this.#parts.conditions.report(
      kind,
      pools
        .filter((pool) => classOf(pool) === kind)
        .map(({ name: pool, sentence, system, telemetry }) => ({
          args: { pool, sentence, system, telemetry, faulted: (faulted.get(pool) ?? []).map(nameOf) },
        })),
    );
  }

  /** null: they could not be had, which is no reason to say that there are none. */
  async #files(pool: string, errors: number): Promise<string[] | null> {
    const known = this.#damaged.get(pool);
    if (known?.errors === errors) return known.files;
    const named = await this.#parts.platform.poolActions.damagedFiles(pool).catch(() => null);
    const files = named === null ? null : [...named];
    this.#damaged.set(pool, { errors, files });
    return files;
  }
}
