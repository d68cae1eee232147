// What is done to a pool that exists. Short things answer with the pool as it then is; long ones are jobs, whose progress
// is the pool's own: a replacement is done when its resilver is.

import type { Audit } from '../../access/audit/index.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { plural, size } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Job, JobHandle, Jobs } from '../../jobs/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { leaves, type Vdev } from '../../platform/pool.ts';
import { usable } from '../disks/index.ts';
import type { Disk, Inventory, Pool } from '../inventory/index.ts';
import { parentOf, zfsName } from './devices.ts';
import { laidOut } from './layout.ts';
import { poolNameProblem } from './names.ts';
import type { AddInput, ImportablePool, ImportInput, PropertiesInput, ReplaceAdvice } from './operations.schema.ts';
import type { routes } from './routes.ts';

export interface OperationParts {
  readonly platform: Platform;
  readonly inventory: Inventory;
  readonly jobs: Jobs;
  readonly audit: Audit;
  /** Reads the machine again and informs the pages. */
  readonly changed: () => void;
  /** How often a job looks at the pool it waits for. */
  readonly lookEveryMs?: number;
}

/** A disk that is attached and has nothing to be filled with gets no resilver; one that has gets it at once. */
const RESILVER_BEGINS_MS = 20_000;
/** A disk that so many readings in a row have not found was taken out. */
const GONE_AFTER = 3;

const wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

export class PoolOperations {
  readonly #parts: OperationParts;

  constructor(parts: OperationParts) {
    this.#parts = parts;
  }

  async #pool(name: string): Promise<{ pool: Pool; disks: Disk[]; links: Map<string, string> }> {
    const { disks, pools, links } = await this.#parts.inventory.renew();
    const pool = pools.find((one) => one.name === name);
    if (pool === undefined) throw fail('not_found', `There is no pool named “${name}”.`);
    return { pool, disks, links };
  }

  #leaf(pool: Pool, device: string): Vdev {
    const all = leaves(pool.vdevs);
    const found = all.find((leaf) => [leaf.name, leaf.diskId, leaf.path].includes(device));
    if (found !== undefined) return found;
    const names = all.map((leaf) => leaf.diskId ?? leaf.name).join(', ');
    throw fail('not_found', `The pool “${pool.name}” has no device ${device}.`, `It has ${names}.`);
  }

  /** Does something short, and answers with the pool as it is afterwards, also when it is not known whether it was done. */
  async #now(name: string, work: (pool: Pool) => Promise<void>): Promise<Pool> {
    const { pool } = await this.#pool(name);
    try {
      await work(pool);
    } finally {
      this.#parts.changed();
    }
    return (await this.#pool(name)).pool;
  }

  scrub(name: string, action: 'start' | 'pause' | 'stop', caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      const running = pool.scan?.state === 'scanning' ? pool.scan : null;
      if (running?.kind === 'resilver') {
        throw fail('conflict', `“${name}” is being resilvered.`, 'Scrub it when the resilver is done.');
      }
      if (action === 'start' && running !== null && !running.paused) {
        throw fail('conflict', `“${name}” is being scrubbed already.`);
      }
      if (action !== 'start' && running === null) throw fail('conflict', `“${name}” is not being scrubbed.`);
      this.#parts.audit.record(caller, `pool.scrub.${action}`, name);
      await this.#parts.platform.poolActions.scrub(name, action);
    });
  }

  trim(name: string, action: 'start' | 'suspend' | 'cancel', caller: Caller): Promise<Pool> {
    return this.#now(name, async () => {
      this.#parts.audit.record(caller, `pool.trim.${action}`, name);
      await this.#parts.platform.poolActions.trim(name, action);
    });
  }

  clear(name: string, device: string | undefined, caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      const target = device === undefined ? null : zfsName(this.#leaf(pool, device));
      this.#parts.audit.record(caller, 'pool.clear', name, null, { device: target });
      await this.#parts.platform.poolActions.clear(name, target);
    });
  }

  setState(name: string, device: string, state: 'online' | 'offline', caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      const leaf = this.#leaf(pool, device);
      if (state === 'offline') this.#mustBeSpared(pool, leaf, 'switched off');
      this.#parts.audit.record(caller, `disk.${state}`, leaf.diskId ?? leaf.name, null, { pool: name });
      await this.#parts.platform.poolActions.setState(name, zfsName(leaf), state);
    });
  }

  /** Refuses what would take the last copy of something, before ZFS has to. */
  #mustBeSpared(pool: Pool, leaf: Vdev, what: string): void {
    const parent = parentOf(pool.vdevs, leaf);
    const name = leaf.diskId ?? leaf.name;
    if (parent === null) {
      throw fail('conflict', `The disk ${name} cannot be ${what}: “${pool.name}” keeps nothing of it twice.`);
    }
    if (['spare', 'log', 'cache', 'replacing'].includes(parent.type)) return;
    const sound = parent.children.filter((other) => other !== leaf && other.state === 'ONLINE').length;
    const parity = /^raidz(\d)$/.exec(parent.type)?.[1];
    const needed = parity === undefined ? 1 : parent.children.length - Number(parity);
    if (sound >= needed) return;
    throw fail(
      'conflict',
      `The disk ${name} cannot be ${what}: without it ${parent.name} would not hold all data any more.`,
      'Replace what is missing in it first.',
    );
  }

  detach(name: string, device: string, caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      const leaf = this.#leaf(pool, device);
      const parent = parentOf(pool.vdevs, leaf);
      if (parent === null || !['mirror', 'replacing', 'spare'].includes(parent.type)) {
        throw fail('conflict', `Only a side of a mirror can be detached, and ${leaf.diskId ?? leaf.name} is none.`);
      }
      this.#mustBeSpared(pool, leaf, 'detached');
      this.#parts.audit.record(caller, 'disk.detach', leaf.diskId ?? leaf.name, null, { pool: name });
      await this.#parts.platform.poolActions.detach(name, zfsName(leaf));
    });
  }

  /** What a disk must hold to stand in for a device: as much as its smallest neighbour. */
  #needs(pool: Pool, leaf: Vdev, disks: readonly Disk[]): number {
    const parent = parentOf(pool.vdevs, leaf);
    const own = parent === null ? [leaf] : leaves(parent.children);
    const known = own.flatMap(({ diskId }) => disks.filter(({ id }) => id === diskId).map(({ bytes }) => bytes));
    return known.length > 0 ? Math.min(...known) : 0;
  }

  async replaceAdvice(name: string, device: string): Promise<ReplaceAdvice> {
    const { pool, disks } = await this.#pool(name);
    const leaf = this.#leaf(pool, device);
    const needs = this.#needs(pool, leaf, disks);
    const spares = new Set(
      pool.vdevs.filter(({ type }) => type === 'spare').flatMap(({ children }) => children.map(({ diskId }) => diskId)),
    );
    const inItsPlace = (disk: Disk) => disk.id === leaf.diskId && ['UNAVAIL', 'REMOVED'].includes(leaf.state);
    const candidates = disks
      .filter(
        (disk) =>
          inItsPlace(disk) ||
          disk.state === 'available' ||
          (disk.state === 'in_use' && disk.pool === null) ||
          spares.has(disk.id),
      )
      .map((disk) => {
        const fits = disk.bytes >= needs && (disk.state === 'available' || spares.has(disk.id) || inItsPlace(disk));
        const reason = !fits
          ? disk.bytes < needs
            ? `It holds ${size(disk.bytes)}; ${size(needs)} are needed.`
            : (disk.reason ?? 'It is in use.')
          : inItsPlace(disk)
            ? 'It has taken the old one’s place, and answers to its name.'
            : spares.has(disk.id)
              ? 'A spare of this pool. The pool has one spare less then.'
              : disk.bytes > needs * 1.01
                ? `It is free. It is larger than needed: ${size(disk.bytes - needs)} of it stay unused.`
                : 'It is free, and of the right size.';
        return { disk: disk.id, bytes: disk.bytes, fits, reason };
      })
      // What fits best first: the least room left over.
      .sort((a, b) => Number(b.fits) - Number(a.fits) || a.bytes - b.bytes || (a.disk < b.disk ? -1 : 1));
    const word = leaf.diskId ?? leaf.name;
    const wrong: Record<string, string> = {
      ONLINE: `Disk ${word} works. It can be replaced all the same`,
      REMOVED: `Disk ${word} was removed`,
      UNAVAIL: `Disk ${word} cannot be opened`,
      FAULTED: `Disk ${word} made too many errors and was taken out of use`,
      OFFLINE: `Disk ${word} was switched off`,
      DEGRADED: `Disk ${word} makes errors`,
    };
    return {
      device: zfsName(leaf),
      disk: leaf.diskId,
      state: leaf.state,
      sentence: `${wrong[leaf.state] ?? `Disk ${word} is ${leaf.state}`}. What it held is copied onto the new disk from the others; the pool works meanwhile.`,
      needsBytes: needs,
      recommended: candidates.find(({ fits }) => fits)?.disk ?? null,
      candidates,
    };
  }

  async replace(name: string, device: string, diskId: string, caller: Caller): Promise<Job> {
    const { pool, disks, links } = await this.#pool(name);
    const leaf = this.#leaf(pool, device);
    if (name === this.#parts.platform.systemPool) {
      throw fail(
        'conflict',
        'A disk of the system pool must also start the machine, so it cannot simply be replaced.',
        'Attach the new disk to the system pool, wait for the resilver, then detach the old one.',
      );
    }
    const sameSlot = diskId === leaf.diskId && leaf.state !== 'ONLINE';
    const disk = disks.find(({ id }) => id === diskId);
    const spare = pool.vdevs.some(
      ({ type, children }) => type === 'spare' && children.some((one) => one.diskId === diskId),
    );
    if (!sameSlot && !spare) usable(disks, diskId);
    const needs = this.#needs(pool, leaf, disks);
    if (disk !== undefined && disk.bytes < needs) {
      throw fail(
        'disk_too_small',
        `The disk ${diskId} holds ${size(disk.bytes)}; to stand in for ${leaf.diskId ?? leaf.name} it must hold ${size(needs)}.`,
        'Choose a larger disk.',
      );
    }
    const link = links.get(diskId);
    if (link === undefined)
      throw fail('disk_missing', `The disk ${diskId} is not there.`, 'Plug it in again, or choose another one.');
    const old = leaf.diskId ?? leaf.name;
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'disk.replace', old, null, { pool: name, disk: diskId });
    const title = `Replace disk ${old} of pool “${name}” with ${diskId}`;
    // In the old one's place both go by one name: which of the two is to be removed again would not be known.
    return this.#parts.jobs.start({ kind: 'disk.replace', title, cancellable: !sameSlot, caller }, async (job) => {
      const { platform, changed } = this.#parts;
      job.step(`Putting ${diskId} in the place of ${old}`, 0);
      try {
        await platform.poolActions.replace(name, zfsName(leaf), link);
      } finally {
        changed();
      }
      await this.#resilver(pool, diskId, job);
      return { pool: name, disk: diskId };
    });
  }

  async attach(name: string, device: string, diskId: string, caller: Caller): Promise<Job> {
    const { pool, disks, links } = await this.#pool(name);
    const leaf = this.#leaf(pool, device);
    const parent = parentOf(pool.vdevs, leaf);
    if (parent !== null && parent.type !== 'mirror') {
      throw fail(
        'conflict',
        `Only a single disk or a mirror can get another side; ${leaf.diskId ?? leaf.name} is in ${parent.name}.`,
      );
    }
    const disk = usable(disks, diskId);
    const needs = this.#needs(pool, leaf, disks);
    if (disk.bytes < needs) {
      throw fail(
        'disk_too_small',
        `The disk ${diskId} holds ${size(disk.bytes)}; ${size(needs)} are needed.`,
        'Choose a larger disk.',
      );
    }
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'disk.attach', diskId, null, { pool: name, device: zfsName(leaf) });
    const title =
      name === this.#parts.platform.systemPool
        ? `Make ${diskId} a second disk that the appliance runs and starts from`
        : `Attach ${diskId} to pool “${name}”, beside ${leaf.diskId ?? leaf.name}`;
    return this.#parts.jobs.start({ kind: 'disk.attach', title, cancellable: true, caller }, async (job) => {
      const { platform, changed } = this.#parts;
      const link = links.get(diskId) as string;
      job.step(name === this.#parts.platform.systemPool ? 'Copying the system onto the disk' : 'Attaching the disk', 0);
      try {
        await platform.poolActions.attach(name, zfsName(leaf), link);
      } finally {
        changed();
      }
      await this.#resilver(pool, diskId, job);
      return { pool: name, disk: diskId };
    });
  }

  /**
   * Follows a resilver to its end: the new disk is ONLINE, and stands for itself. A job that is cancelled takes the new
   * disk out again.
   * @param before the pool as it was before the disk came in
   */
  async #resilver(before: Pool, diskId: string, job: JobHandle): Promise<void> {
    const { inventory, platform, changed, lookEveryMs = 1_000 } = this.#parts;
    const name = before.name;
    const known = new Set(leaves(before.vdevs).map((leaf) => leaf.name));
    const began = Date.now();
    let shown = '';
    let seen = false;
    let missed = 0;
    for (;;) {
      const pool = (await inventory.renew()).pools.find((one) => one.name === name);
      if (pool === undefined) throw fail('not_found', `The pool “${name}” is not there any more.`);
      // In the old one's place the old one goes by the same id, until it is gone.
      const own = leaves(pool.vdevs).filter((leaf) => leaf.diskId === diskId);
      const added = own.find(({ state }) => state === 'ONLINE') ?? own.find((leaf) => !known.has(leaf.name));
      if (job.signal.aborted) {
        if (added !== undefined) await platform.poolActions.detach(name, zfsName(added));
        changed();
        throw new Error('cancelled');
      }
      const scan = pool.scan?.kind === 'resilver' && pool.scan.startedAt !== before.scan?.startedAt ? pool.scan : null;
      const running = scan?.state === 'scanning';
      if (added !== undefined && ['FAULTED', 'REMOVED', 'UNAVAIL'].includes(added.state)) {
        throw fail(
          'disk_missing',
          `The new disk ${diskId} failed while it was being filled (${added.state}).`,
          'Check its cabling, or choose another disk.',
        );
      }
      // One reading may fall into the moment at which it takes another's place.
      seen ||= added !== undefined;
      missed = added === undefined && seen ? missed + 1 : 0;
      if (missed >= GONE_AFTER) {
        throw fail(
          'conflict',
          `The new disk ${diskId} was taken out of the pool “${name}” before it was filled.`,
          'If nobody took it out, look at the pool’s history, and attach the disk again.',
        );
      }
      const parent = added === undefined ? null : parentOf(pool.vdevs, added);
      // ONLINE without a resilver of its own may also be the moment before it begins.
      const resilvered = scan !== null ? !running : Date.now() - began > RESILVER_BEGINS_MS;
      if (added?.state === 'ONLINE' && parent?.type !== 'replacing' && resilvered) {
        if (scan !== null && scan.errors > 0) job.log(`The resilver ended with ${plural(scan.errors, 'error')}.`);
        job.log(
          `${diskId} holds everything it should, after ${plural(Math.round((Date.now() - began) / 1000), 'second')}.`,
        );
        return;
      }
      const words = running && scan !== null ? scan.sentence : 'Waiting for the resilver to begin';
      const percent = running && scan !== null ? scan.percent : null;
      if (words + percent !== shown) job.step(words, percent);
      shown = words + percent;
      await wait(lookEveryMs);
    }
  }

  async add(name: string, input: AddInput, caller: Caller): Promise<Job> {
    const { pool, disks, links } = await this.#pool(name);
    const chosen = [...new Set(input.disks)].map((id) => usable(disks, id));
    const invalid = (path: string, message: string) =>
      fail('invalid_request', `This cannot be added to “${name}”: ${message}`, undefined, [{ path, message }]);
    const data = pool.vdevs.filter(({ type }) => !['spare', 'log', 'cache', 'special', 'dedup'].includes(type));
    const made = laidOut(input.kind, input.layout, chosen, data[0]?.type ?? 'disk', (reason) =>
      invalid('/layout', reason),
    );
    const vdevs = made.map((vdev) => ({ ...vdev, disks: vdev.disks.map((id) => links.get(id) as string) }));
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'pool.add', name, null, input);
    const title = `Add ${plural(chosen.length, 'disk')} to pool “${name}”${input.kind === 'data' ? '' : ` as ${input.kind}`}`;
    return this.#job(caller, 'pool.add', title, name, 'Adding the disks', () =>
      this.#parts.platform.poolActions.add(name, input.kind, vdevs),
    );
  }

  #job(
    caller: Caller,
    kind: string,
    title: string,
    pool: string,
    step: string,
    work: (job: JobHandle) => Promise<unknown>,
  ): Job {
    return this.#parts.jobs.start({ kind, title, cancellable: false, caller }, async (job) => {
      job.step(step);
      try {
        await work(job);
      } catch (error) {
        if (asProblem(error).code === 'timeout') {
          // It may have been done all the same: what there is now is what counts.
          const now = (await this.#parts.inventory.renew()).pools.find((one) => one.name === pool);
          job.log(now === undefined ? `There is no pool “${pool}” now.` : `“${pool}” now: ${now.sentence}`);
        }
        throw error;
      } finally {
        // A page that learns that the job has ended reads what it did.
        await this.#parts.inventory.renew().catch(() => {});
        this.#parts.changed();
      }
      return { pool };
    });
  }

  async remove(name: string, vdev: string, caller: Caller): Promise<Job> {
    const { pool } = await this.#pool(name);
    // Not “logs” or “spares”: those are headings, each device below them is removed on its own.
    const group = pool.vdevs.find((one) => one.name === vdev && /-\d+$/.test(one.name));
    const target = group === undefined ? zfsName(this.#leaf(pool, vdev)) : group.name;
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'pool.remove', name, null, { vdev: target });
    return this.#job(
      caller,
      'pool.remove',
      `Take ${vdev} out of pool “${name}”`,
      name,
      'Moving what is on it, and taking it out',
      () => this.#parts.platform.poolActions.remove(name, target),
    );
  }

  setProperties(name: string, input: PropertiesInput, caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      this.#parts.audit.record(caller, 'pool.set', name, pool.properties, input);
      for (const property of ['autoexpand', 'autotrim'] as const) {
        const value = input[property];
        if (value !== undefined)
          await this.#parts.platform.poolActions.setProperty(name, property, value ? 'on' : 'off');
      }
      if (input.comment !== undefined)
        await this.#parts.platform.poolActions.setProperty(name, 'comment', input.comment);
    });
  }

  upgrade(name: string, caller: Caller): Promise<Pool> {
    return this.#now(name, async (pool) => {
      if (!pool.upgradable) throw fail('conflict', `“${name}” uses every feature that this system knows already.`);
      this.#parts.audit.record(caller, 'pool.upgrade', name);
      await this.#parts.platform.poolActions.upgrade(name);
    });
  }

  #mustNotBeSystem(name: string): void {
    if (name === this.#parts.platform.systemPool) throw fail('conflict', 'The appliance itself lives on this pool.');
  }

  async exportPool(name: string, caller: Caller): Promise<Job> {
    this.#mustNotBeSystem(name);
    await this.#pool(name);
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'pool.export', name);
    return this.#job(
      caller,
      'pool.export',
      `Export pool “${name}”`,
      name,
      'Ending what uses it, and giving it up',
      () => this.#parts.platform.poolActions.exportPool(name),
    );
  }

  async destroy(name: string, confirm: string, caller: Caller): Promise<Job> {
    this.#mustNotBeSystem(name);
    await this.#pool(name);
    if (confirm !== name) {
      throw fail('invalid_request', 'To destroy a pool, repeat its name.', undefined, [
        { path: '/confirm', message: `It is not “${name}”.` },
      ]);
    }
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'pool.destroy', name);
    return this.#job(
      caller,
      'pool.destroy',
      `Destroy pool “${name}”`,
      name,
      'Ending what uses it, and destroying it',
      () => this.#parts.platform.poolActions.destroyPool(name),
    );
  }

  async importable(): Promise<ImportablePool[]> {
    const found = await this.#parts.platform.poolActions.importable();
    return found.map((pool) => {
      const missing = pool.devices.filter(
        ({ state }) => !['ONLINE', 'AVAIL', ''].includes(state) && state !== 'DEGRADED',
      );
      const sentence = pool.inUseElsewhere
        ? 'Another machine has used it last, and has not given it up. Make sure that it is off: two machines that write to one pool destroy it.'
        : pool.state === 'ONLINE'
          ? 'It is whole and can be imported.'
          : pool.state === 'DEGRADED'
            ? `It can be imported. ${plural(missing.length, 'device')} of it ${missing.length === 1 ? 'is' : 'are'} missing or broken.`
            : `It cannot be imported: too many of its devices are missing or broken (${missing.map(({ name }) => name).join(', ')}).`;
      return { ...pool, devices: pool.devices.map((one) => ({ ...one })), sentence };
    });
  }

  async importPool(guid: string, input: ImportInput, caller: Caller): Promise<Job> {
    const found = (await this.importable()).find((one) => one.guid === guid);
    if (found === undefined) {
      throw fail(
        'not_found',
        `There is no pool ${guid} that could be imported.`,
        'Look at the list again: its disks may have been taken out.',
      );
    }
    const name = input.name ?? found.name;
    const wrong = input.name === undefined ? null : poolNameProblem(input.name);
    if (wrong !== null) {
      throw fail('invalid_request', `The name “${name}” ${wrong}.`, undefined, [{ path: '/name', message: wrong }]);
    }
    const { pools } = await this.#parts.inventory.renew();
    if (pools.some((pool) => pool.name === name)) {
      throw fail('pool_exists', `A pool named “${name}” exists.`, 'Import it under another name.');
    }
    if (found.inUseElsewhere && input.force !== true) {
      throw fail('conflict', found.sentence, 'When you are sure, import it by force.');
    }
    this.#parts.jobs.allow(caller);
    this.#parts.audit.record(caller, 'pool.import', name, null, input);
    return this.#job(
      caller,
      'pool.import',
      `Import pool “${name}”`,
      name,
      'Importing the pool and mounting what is on it',
      async (job) => {
        const kept = await this.#parts.platform.poolActions.importPool(found.guid, name, input.force === true);
        for (const dataset of kept) {
          job.log(`“${dataset}” is not mounted: something else is in its place. Give it another mount point.`);
        }
      },
    );
  }

  async wipe(id: string, confirm: string, caller: Caller): Promise<void> {
    const { disks, links } = await this.#parts.inventory.renew();
    const disk = disks.find((one) => one.id === id);
    if (disk === undefined) throw fail('not_found', `There is no disk ${id}.`);
    if (disk.pool !== null || disk.state === 'system') {
      throw fail('disk_in_use', `The disk ${id} cannot be erased. ${disk.reason}`);
    }
    if (confirm !== id) {
      throw fail('invalid_request', 'To erase a disk, repeat its id.', undefined, [
        { path: '/confirm', message: `It is not “${id}”.` },
      ]);
    }
    this.#parts.audit.record(caller, 'disk.wipe', id, { reason: disk.reason });
    try {
      await this.#parts.platform.poolActions.wipe(links.get(id) as string);
    } catch (error) {
      throw asProblem(error).code === 'internal'
        ? fail('command_failed', `The disk ${id} could not be erased.`)
        : error;
    } finally {
      this.#parts.changed();
    }
  }
}

export function operationRoutes(
  pools: PoolOperations,
): Pick<
  Handlers<typeof routes>,
  | 'scrubPool'
  | 'trimPool'
  | 'clearPool'
  | 'onlineDevice'
  | 'offlineDevice'
  | 'attachDisk'
  | 'detachDevice'
  | 'adviseReplacement'
  | 'replaceDisk'
  | 'addToPool'
  | 'removeFromPool'
  | 'updatePool'
  | 'upgradePool'
  | 'exportPool'
  | 'destroyPool'
  | 'listImportable'
  | 'importPool'
  | 'wipeDisk'
> {
  return {
    scrubPool: ({ params, body, caller }) => pools.scrub(params.name, body.action, caller),
    trimPool: ({ params, body, caller }) => pools.trim(params.name, body.action, caller),
    clearPool: ({ params, body, caller }) => pools.clear(params.name, body.device, caller),
    onlineDevice: ({ params, body, caller }) => pools.setState(params.name, body.device, 'online', caller),
    offlineDevice: ({ params, body, caller }) => pools.setState(params.name, body.device, 'offline', caller),
    attachDisk: ({ params, body, caller }) => pools.attach(params.name, body.device, body.disk, caller),
    detachDevice: ({ params, body, caller }) => pools.detach(params.name, body.device, caller),
    adviseReplacement: ({ params, query }) => pools.replaceAdvice(params.name, query.device),
    replaceDisk: ({ params, body, caller }) => pools.replace(params.name, body.device, body.disk, caller),
    addToPool: ({ params, body, caller }) => pools.add(params.name, body, caller),
    removeFromPool: ({ params, body, caller }) => pools.remove(params.name, body.vdev, caller),
    updatePool: ({ params, body, caller }) => pools.setProperties(params.name, body, caller),
    upgradePool: ({ params, caller }) => pools.upgrade(params.name, caller),
    exportPool: ({ params, caller }) => pools.exportPool(params.name, caller),
    destroyPool: ({ params, query, caller }) => pools.destroy(params.name, query.confirm, caller),
    listImportable: async () => ({ items: await pools.importable() }),
    importPool: ({ params, body, caller }) => pools.importPool(params.guid, body, caller),
    wipeDisk: async ({ params, body, caller }) => {
      await pools.wipe(params.id, body.confirm, caller);
      return undefined;
    },
  };
}
