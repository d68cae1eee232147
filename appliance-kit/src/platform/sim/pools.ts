// The pools and disks of the simulated machine: what is read of them, and what is done to them, as ZFS would.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { size } from '../../base/words.ts';
import type { PlatformDisk, PlatformPool, PoolPlan } from '../platform.ts';
import type { PoolState, Vdev } from '../pool.ts';
import {
  type HistoryLine,
  type Importable,
  NO_SMART,
  type PoolActions,
  type SmartReport,
  type VdevKind,
} from '../poolActions.ts';
import {
  idOf,
  linkOf,
  newPool,
  type SimDisk,
  type SimMachine,
  type SimPool,
  type SimScan,
  type SimVdev,
  USABLE,
} from './pool-state.ts';

/** How far a scan has come, 0..1, and when it ended. */
function progress(scan: SimScan, now: number): { done: number; endedAt: number | null } {
  const until = scan.stoppedAt ?? scan.pausedAt ?? now;
  const milliseconds = Math.max(1, scan.seconds * 1000);
  const done = Math.min(1, (until - scan.startedAt - scan.pausedMs) / milliseconds);
  const end = scan.startedAt + scan.pausedMs + scan.seconds * 1000;
  return { done, endedAt: scan.stoppedAt ?? (scan.pausedAt === null && now >= end ? end : null) };
}

export interface SimPoolParts {
  readonly clock: Clock;
  readonly machine: () => SimMachine;
  readonly save: () => void;
  /** How long a scan takes. */
  readonly scanSeconds: number;
  readonly stepMs: number;
  readonly storaged: (action: 'start' | 'stop') => Promise<void>;
}

export class SimPools implements PoolActions {
  readonly #parts: SimPoolParts;
  /** Set by `vanish-during-creation`: the disk that goes while a pool is being made. */
  vanishing: string | null = null;

  constructor(parts: SimPoolParts) {
    this.#parts = parts;
  }

  disk(id: unknown): SimDisk {
    const found = this.#parts
      .machine()
      .disks.find((disk) => [disk.name, idOf(disk), linkOf(disk)].includes(String(id)));
    if (found === undefined) throw fail('not_found', `There is no simulated disk ${String(id)}.`);
    return found;
  }

  pool(name: unknown): SimPool {
    const found = this.#parts.machine().pools.find((pool) => pool.name === name);
    if (found === undefined) throw fail('not_found', `There is no simulated pool ${String(name)}.`);
    return found;
  }

  platformDisks(): PlatformDisk[] {
    return this.#parts
      .machine()
      .disks.map((disk, index) => ({ disk, index, path: `/dev/sd${String.fromCharCode(97 + index)}` }))
      .filter(({ disk }) => disk.present)
      .map(({ disk, index, path }) => ({
        id: idOf(disk),
        path,
        link: linkOf(disk),
        aliases: [path, linkOf(disk)],
        model: 'QEMU HARDDISK',
        serial: disk.name,
        wwn: `0x5000c500a1b2c3d${index}`,
        place: `pci-0000:02:00.0-sas-phy${index}-lun-0`,
        bytes: disk.bytes,
        bus: 'scsi',
        rotational: true,
        system: disk.name === 'system0',
        occupant: disk.occupant,
        readOnly: false,
      }));
  }

  platformPools(): PlatformPool[] {
    for (const pool of this.#parts.machine().pools) this.#settle(pool);
    return this.#parts.machine().pools.map((pool) => this.describe(pool));
  }

  /** What ends with time: a resilver puts the new disk in the old one's place, a scrub mends what rotted. */
  #settle(pool: SimPool): void {
    if (pool.scan === null || progress(pool.scan, this.#parts.clock.now()).endedAt === null) return;
    if (pool.scan.kind === 'scrub' && pool.rotten > 0 && pool.scan.stoppedAt === null) {
      pool.scan.repairedBytes = pool.rotten;
      pool.rotten = 0;
      this.#parts.save();
    }
    if (pool.scan.kind === 'resilver' && pool.replacing.length > 0) {
      for (const { old, disk } of pool.replacing) {
        for (const vdev of pool.vdevs) vdev.disks = vdev.disks.map((name) => (name === old ? disk : name));
        pool.faulted = pool.faulted.filter((name) => name !== old);
        pool.offline = pool.offline.filter((name) => name !== old);
      }
      pool.replacing = [];
      this.#parts.save();
    }
  }

  describe(pool: SimPool): PlatformPool {
    const now = this.#parts.clock.now();
    const none = { readErrors: 0, writeErrors: 0, checksumErrors: 0, path: null, diskId: null };
    const single = (name: string, spare = false): Vdev => {
      const disk = this.disk(name);
      const state = !disk.present
        ? 'REMOVED'
        : pool.faulted.includes(name)
          ? 'FAULTED'
          : pool.offline.includes(name)
            ? 'OFFLINE'
            : spare
              ? 'AVAIL'
              : 'ONLINE';
      const bad = state === 'FAULTED';
      return {
        name: idOf(disk),
        type: 'disk',
        state,
        readErrors: bad ? 12 : 0,
        writeErrors: bad ? 40 : 0,
        checksumErrors: 0,
        path: linkOf(disk),
        diskId: null,
        children: [],
      };
    };
    const leaf = (name: string): Vdev => {
      const replacement = pool.replacing.find(({ old }) => old === name);
      if (replacement === undefined) return single(name);
      const children = [single(name), single(replacement.disk)];
      return { name: 'replacing-0', type: 'replacing', state: 'DEGRADED', ...none, children };
    };
    const parity: Record<string, number> = { stripe: 0, raidz1: 1, raidz2: 2, raidz3: 3 };
    const counts: Record<string, number> = {};
    const bytesOf = ({ type, disks }: SimVdev) => {
      const sizes = disks.map((name) => this.disk(name).bytes);
      const smallest = Math.min(...sizes);
      return type === 'mirror' ? smallest : type === 'stripe' ? sizes.reduce((a, b) => a + b) : smallest * disks.length;
    };
    const draw = (vdev: SimVdev): Vdev[] => {
      const { type, disks } = vdev;
      const children = disks.map(leaf);
      if (type === 'stripe') return children;
      const at = counts[type] ?? 0;
      counts[type] = at + 1;
      const lost = children.filter((child) => child.state !== 'ONLINE').length;
      const bearable = type === 'mirror' ? disks.length - 1 : (parity[type] ?? 0);
      const state = lost === 0 ? 'ONLINE' : lost <= bearable ? 'DEGRADED' : 'FAULTED';
      return [{ name: `${type}-${at}`, type, state, ...none, children }];
    };
    const vdevs = pool.vdevs.flatMap(draw);
    const bytes = Math.floor(pool.vdevs.reduce((sum, vdev) => sum + bytesOf(vdev), 0) * USABLE);
    const extra = (['special', 'log', 'cache', 'spare'] as const).flatMap((kind): Vdev[] => {
      const own = pool.extra.filter((vdev) => vdev.kind === kind);
      if (own.length === 0) return [];
      const children = own.flatMap((vdev) =>
        kind === 'spare' ? vdev.disks.map((name) => single(name, true)) : draw(vdev),
      );
      return [
        {
          name: { log: 'logs', cache: 'l2cache', spare: 'spares', special: 'special' }[kind],
          type: kind,
          state: 'ONLINE',
          ...none,
          children,
        },
      ];
    });
    const worst: PoolState = vdevs.some(({ state }) => state === 'FAULTED' || state === 'REMOVED')
      ? 'FAULTED'
      : vdevs.some(({ state }) => state === 'DEGRADED')
        ? 'DEGRADED'
        : 'ONLINE';
    const state = pool.suspended || worst === 'FAULTED' ? 'SUSPENDED' : worst;
    const has = (what: string) => vdevs.some((vdev) => [vdev, ...vdev.children].some((one) => one.state === what));
    const allocated = Math.min(Math.floor(pool.allocated), bytes);
    const degraded = has('REMOVED')
      ? 'One or more devices have been removed. Sufficient replicas exist for the pool to continue functioning in a degraded state.'
      : has('OFFLINE')
        ? 'One or more devices has been taken offline by the administrator. Sufficient replicas exist for the pool to continue functioning in a degraded state.'
        : pool.replacing.length > 0
          ? 'One or more devices is currently being resilvered. The pool will continue to function, possibly in a degraded state.'
          : 'One or more devices are faulted in response to persistent errors. Sufficient replicas exist for the pool to continue functioning in a degraded state.';
    return {
      name: pool.name,
      state,
      bytes,
      allocated,
      free: bytes - allocated,
      fragmentation: 0.01,
      status:
        state === 'ONLINE'
          ? null
          : state === 'SUSPENDED'
            ? 'One or more devices are faulted in response to IO failures.'
            : degraded,
      action:
        state === 'ONLINE'
          ? null
          : state === 'SUSPENDED'
            ? "Make sure the affected devices are connected, then run 'zpool clear'."
            : "Online the device using zpool online' or replace the device with 'zpool replace'.",
      scan: this.#scan(pool, now),
      vdevs: [...vdevs, ...extra],
      errors: pool.damaged.length,
      compression: pool.compression,
      compressRatio: 1.42,
      telemetry: pool.telemetry,
      properties: { ...pool.properties, readOnly: false },
      upgradable: pool.upgradable,
    };
  }

  #scan({ scan, allocated }: SimPool, now: number): PlatformPool['scan'] {
    if (scan === null) return null;
    const { done, endedAt } = progress(scan, now);
    const running = endedAt === null;
    const total = Math.floor(allocated);
    return {
      kind: scan.kind,
      state: running ? 'scanning' : scan.stoppedAt === null ? 'finished' : 'canceled',
      paused: running && scan.pausedAt !== null,
      percent: Math.round(done * 1000) / 10,
      bytesDone: Math.floor(total * done),
      bytesTotal: total,
      secondsLeft: running && scan.pausedAt === null ? Math.round(scan.seconds * (1 - done)) : null,
      startedAt: iso(scan.startedAt),
      finishedAt: endedAt === null ? null : iso(endedAt),
      errors: running ? 0 : scan.errors,
      repairedBytes: running ? 0 : scan.repairedBytes,
    };
  }

  begin(pool: SimPool, kind: SimScan['kind'], seconds = this.#parts.scanSeconds): void {
    const startedAt = this.#parts.clock.now();
    pool.scan = { kind, startedAt, seconds, pausedAt: null, pausedMs: 0, stoppedAt: null, repairedBytes: 0, errors: 0 };
  }

  #scanning(pool: SimPool): SimScan | null {
    return pool.scan !== null && progress(pool.scan, this.#parts.clock.now()).endedAt === null ? pool.scan : null;
  }

  #done(pool: SimPool, text: string): void {
    pool.history.push({ time: this.#parts.clock.now(), text, by: 'root on cistern' });
    this.#parts.save();
  }

  #refuse(pool: string, what: string): never {
    throw fail('conflict', `The pool “${pool}” refused: ${what}.`);
  }

  /** The vdev that holds the disk, if its data survive without it. */
  #without(pool: SimPool, name: string): SimVdev {
    const vdev = pool.vdevs.find(({ disks }) => disks.includes(name));
    if (vdev === undefined) this.#refuse(pool.name, `${name} is not in it`);
    const left = vdev.disks.filter(
      (one) => one !== name && this.disk(one).present && !pool.faulted.includes(one) && !pool.offline.includes(one),
    );
    const needed =
      vdev.type === 'mirror'
        ? 1
        : vdev.type === 'stripe'
          ? Number.POSITIVE_INFINITY
          : vdev.disks.length - Number(vdev.type.at(-1));
    if (left.length < needed) this.#refuse(pool.name, `cannot take ${name} out of use: no valid replicas`);
    return vdev;
  }

  #named(vdevs: readonly { type: string; disks: readonly string[] }[]): SimVdev[] {
    return vdevs.map(({ type, disks }) => ({ type, disks: disks.map((link) => this.disk(link).name) }));
  }

  async createPool(plan: PoolPlan, progressed: (step: string, percent: number | null) => void): Promise<void> {
    const { stepMs } = this.#parts;
    const wanted = [plan, ...plan.beside]
      .flatMap(({ vdevs }) => vdevs)
      .flatMap(({ disks }) => disks.map((link) => this.disk(link)));
    const steps = ['Checking the disks', 'Writing labels', 'Creating the pool', 'Setting properties'];
    for (const [at, step] of steps.entries()) {
      progressed(step, (at * 100) / steps.length);
      if (stepMs > 0) await sleep(stepMs);
      if (at === 1 && this.vanishing !== null) {
        this.disk(this.vanishing).present = false;
        this.vanishing = null;
      }
      for (const disk of wanted) {
        if (!disk.present) {
          this.#parts.save();
          throw fail(
            'disk_missing',
            `The disk ${idOf(disk)} disappeared while the pool “${plan.name}” was being created. Nothing was left behind.`,
            'Check its cabling or choose another disk, then try again.',
          );
        }
      }
    }
    const pool = newPool(plan.name, this.#named(plan.vdevs), plan.compression, this.#parts.clock.now());
    pool.extra = plan.beside.flatMap(({ kind, vdevs }) => this.#named(vdevs).map((vdev) => ({ ...vdev, kind })));
    this.#parts.machine().pools.push(pool);
    this.#parts.save();
  }

  async scrub(name: string, action: 'start' | 'pause' | 'stop'): Promise<void> {
    const pool = this.pool(name);
    const now = this.#parts.clock.now();
    const scan = this.#scanning(pool);
    if (action === 'start') {
      if (scan?.kind === 'resilver') this.#refuse(name, 'it is being resilvered');
      if (scan !== null && scan.pausedAt === null) this.#refuse(name, 'it is being scrubbed already');
      if (scan === null) this.begin(pool, 'scrub');
      else {
        scan.pausedMs += now - (scan.pausedAt as number);
        scan.pausedAt = null;
      }
    } else if (scan?.kind !== 'scrub') this.#refuse(name, 'there is no active scrub');
    else if (action === 'pause') scan.pausedAt = now;
    else scan.stoppedAt = now;
    this.#done(pool, `zpool scrub ${{ start: '', pause: '-p ', stop: '-s ' }[action]}${name}`);
  }

  async trim(name: string, action: 'start' | 'suspend' | 'cancel'): Promise<void> {
    this.#done(this.pool(name), `zpool trim ${{ start: '', suspend: '-s ', cancel: '-c ' }[action]}${name}`);
  }

  async clear(name: string): Promise<void> {
    const pool = this.pool(name);
    pool.suspended = false;
    pool.faulted = [];
    this.#done(pool, `zpool clear ${name}`);
  }

  async setState(name: string, device: string, state: 'online' | 'offline'): Promise<void> {
    const pool = this.pool(name);
    const disk = this.disk(device);
    pool.offline = pool.offline.filter((one) => one !== disk.name);
    if (state === 'offline') {
      this.#without(pool, disk.name);
      pool.offline.push(disk.name);
    } else this.begin(pool, 'resilver');
    this.#done(pool, `zpool ${state} ${name} ${device}`);
  }

  #mustHold(pool: SimPool, old: SimDisk, disk: SimDisk): void {
    if (!disk.present) throw fail('disk_missing', `The disk ${idOf(disk)} is not there.`);
    const smallest = Math.min(
      ...(pool.vdevs.find(({ disks }) => disks.includes(old.name))?.disks ?? []).map((one) => this.disk(one).bytes),
    );
    if (disk.bytes < smallest)
      this.#refuse(pool.name, `${idOf(disk)} is too small (${size(disk.bytes)} of ${size(smallest)})`);
  }

  async attach(name: string, device: string, link: string): Promise<void> {
    const pool = this.pool(name);
    const [old, disk] = [this.disk(device), this.disk(link)];
    const vdev = pool.vdevs.find(({ disks }) => disks.includes(old.name));
    if (vdev === undefined || !['mirror', 'stripe'].includes(vdev.type))
      this.#refuse(name, 'only a disk or a mirror can get another side');
    this.#mustHold(pool, old, disk);
    if (vdev.type === 'stripe') {
      vdev.disks = vdev.disks.filter((one) => one !== old.name);
      if (vdev.disks.length === 0) pool.vdevs = pool.vdevs.filter((one) => one !== vdev);
      pool.vdevs.push({ type: 'mirror', disks: [old.name, disk.name] });
    } else vdev.disks.push(disk.name);
    disk.occupant = null;
    this.begin(pool, 'resilver');
    this.#done(pool, `zpool attach ${name} ${device} ${link}`);
  }

  async detach(name: string, device: string): Promise<void> {
    const pool = this.pool(name);
    const disk = this.disk(device);
    const replacing = pool.replacing.find((one) => one.disk === disk.name);
    if (replacing !== undefined) {
      pool.replacing = pool.replacing.filter((one) => one !== replacing);
      if (pool.scan !== null) pool.scan.stoppedAt = this.#parts.clock.now();
    } else {
      const vdev = this.#without(pool, disk.name);
      if (vdev.type !== 'mirror') this.#refuse(name, 'only a side of a mirror can be detached');
      vdev.disks = vdev.disks.filter((one) => one !== disk.name);
      if (vdev.disks.length === 1) vdev.type = 'stripe';
      pool.faulted = pool.faulted.filter((one) => one !== disk.name);
      pool.offline = pool.offline.filter((one) => one !== disk.name);
    }
    this.#done(pool, `zpool detach ${name} ${device}`);
  }

  async replace(name: string, device: string, link: string): Promise<void> {
    const pool = this.pool(name);
    const [old, disk] = [this.disk(device), this.disk(link)];
    this.#mustHold(pool, old, disk);
    disk.occupant = null;
    // A new disk that answers to the old one's name: the same slot.
    if (old === disk) pool.faulted = pool.faulted.filter((one) => one !== old.name);
    else pool.replacing.push({ old: old.name, disk: disk.name });
    for (const vdev of pool.extra) vdev.disks = vdev.disks.filter((one) => one !== disk.name);
    this.begin(pool, 'resilver');
    this.#done(pool, `zpool replace ${name} ${device} ${link}`);
  }

  async add(name: string, kind: VdevKind, vdevs: readonly { type: string; disks: readonly string[] }[]): Promise<void> {
    const pool = this.pool(name);
    const made = this.#named(vdevs);
    if (kind === 'data') pool.vdevs.push(...made);
    else pool.extra.push(...made.map((vdev) => ({ ...vdev, kind })));
    this.#done(pool, `zpool add ${name} ${kind}`);
  }

  async remove(name: string, vdev: string): Promise<void> {
    const pool = this.pool(name);
    const group = this.describe(pool)
      .vdevs.filter(({ type }) => type === 'mirror')
      .findIndex((one) => one.name === vdev);
    if (group >= 0) {
      if (pool.vdevs.length === 1) this.#refuse(name, 'it is the last of its vdevs');
      const mirrors = pool.vdevs.filter(({ type }) => type === 'mirror');
      pool.vdevs = pool.vdevs.filter((one) => one !== mirrors[group]);
    } else {
      const disk = this.disk(vdev);
      if (!pool.extra.some(({ disks }) => disks.includes(disk.name))) this.#refuse(name, `${vdev} cannot be removed`);
      for (const one of pool.extra) one.disks = one.disks.filter((other) => other !== disk.name);
      pool.extra = pool.extra.filter(({ disks }) => disks.length > 0);
    }
    this.#done(pool, `zpool remove ${name} ${vdev}`);
  }

  async setProperty(name: string, property: 'autoexpand' | 'autotrim' | 'comment', value: string): Promise<void> {
    const pool = this.pool(name);
    if (property === 'comment') pool.properties.comment = value;
    else pool.properties[property] = value === 'on';
    this.#done(pool, `zpool set ${property}=${value} ${name}`);
  }

  async upgrade(name: string): Promise<void> {
    const pool = this.pool(name);
    pool.upgradable = false;
    this.#done(pool, `zpool upgrade ${name}`);
  }

  async #give(name: string, gone: (pool: SimPool) => void): Promise<void> {
    const machine = this.#parts.machine();
    const pool = this.pool(name);
    if (pool.telemetry) await this.#parts.storaged('stop');
    machine.pools = machine.pools.filter((one) => one !== pool);
    gone(pool);
    this.#parts.save();
  }

  exportPool(name: string): Promise<void> {
    return this.#give(name, (pool) => {
      this.#parts.machine().exported.push(pool);
      for (const disk of this.#disksOf(pool))
        disk.occupant = `It carries a ZFS pool named “${name}” that is not imported here.`;
    });
  }

  destroyPool(name: string): Promise<void> {
    return this.#give(name, () => {});
  }

  #disksOf(pool: SimPool): SimDisk[] {
    return [...pool.vdevs, ...pool.extra].flatMap(({ disks }) => disks.map((one) => this.disk(one)));
  }

  async importable(): Promise<Importable[]> {
    return this.#parts.machine().exported.map((pool) => {
      const { name, state, status, action, vdevs } = this.describe(pool);
      const walk = (vdev: Vdev, depth: number): Importable['devices'] => [
        { name: vdev.name, state: vdev.state, depth },
        ...vdev.children.flatMap((child) => walk(child, depth + 1)),
      ];
      return {
        name,
        guid: pool.guid,
        state,
        status: pool.elsewhere ? 'The pool was last accessed by another system.' : status,
        action: pool.elsewhere
          ? "The pool can be imported using its name or numeric identifier and the '-f' flag."
          : action,
        inUseElsewhere: pool.elsewhere,
        devices: vdevs.flatMap((vdev) => walk(vdev, 1)),
      };
    });
  }

  async importPool(guid: string, name: string, force: boolean): Promise<string[]> {
    const machine = this.#parts.machine();
    const pool = machine.exported.find((one) => one.guid === guid);
    if (pool === undefined) throw fail('not_found', `There is no pool ${guid} to import.`);
    if (pool.elsewhere && !force) this.#refuse(name, 'cannot import: pool was previously in use from another system');
    machine.exported = machine.exported.filter((one) => one !== pool);
    for (const disk of this.#disksOf(pool)) disk.occupant = null;
    pool.name = name;
    pool.elsewhere = false;
    machine.pools.push(pool);
    if (pool.telemetry) await this.#parts.storaged('start');
    this.#done(pool, `zpool import ${guid} ${name}`);
    return [];
  }

  async history(name: string, limit: number): Promise<HistoryLine[]> {
    return this.pool(name).history.slice(-limit);
  }

  async damagedFiles(name: string): Promise<string[]> {
    return this.pool(name).damaged;
  }

  async wipe(link: string): Promise<void> {
    const machine = this.#parts.machine();
    const disk = this.disk(link);
    disk.occupant = null;
    machine.exported = machine.exported.filter((pool) => !this.#disksOf(pool).includes(disk));
    this.#parts.save();
  }

  async smart(link: string): Promise<SmartReport> {
    this.disk(link);
    // As a virtual disk answers: nothing.
    return NO_SMART;
  }

  async locate(link: string): Promise<void> {
    if (!link.includes('data')) {
      throw fail(
        'conflict',
        'The slot has no light that this system can switch.',
        'Find the disk by its serial number.',
      );
    }
  }

  async selfTest(link: string): Promise<void> {
    throw fail('conflict', `The disk ${idOf(this.disk(link))} cannot test itself.`);
  }
}
