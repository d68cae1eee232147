// A machine that is not there: disks, pools and services that behave like the real ones, with failures on demand.
// For developing the web interface and for browser tests. What it holds survives a restart, in one JSON file.
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { iso } from '../../clock.ts';
import type { Vdev } from '../../pools/schema.ts';
import { fail } from '../../problems/problem.ts';
import { serviceFacts } from '../../services/catalogue.ts';
import type { Service } from '../../services/schema.ts';
import type { Platform, PlatformDisk, PlatformPool, PoolPlan, Progress } from '../platform.ts';
import { noDatasets, type SimDatasetState, SimDatasets } from './datasets.ts';

const GIB = 2 ** 30;
/** What ZFS keeps for itself on a small disk: labels, and the remainder that is not a whole metaslab. */
const USABLE = 0.93;

interface SimDisk {
  name: string;
  bytes: number;
  present: boolean;
  /** What somebody else put on it. */
  occupant: string | null;
}

interface SimPool {
  name: string;
  vdevs: { type: string; disks: string[] }[];
  compression: string;
  telemetry: boolean;
  allocated: number;
  createdAt: number;
  /** Set by the simulation's own controls. */
  faulted: string[];
  suspended: boolean;
  resilver: { startedAt: number; seconds: number } | null;
  scrubbedAt: number | null;
}

interface SimService {
  state: Service['state'];
  since: number;
  restarts: number;
  reason: string | null;
}

interface SimState {
  disks: SimDisk[];
  pools: SimPool[];
  services: Record<string, SimService>;
  hostName: string;
  timeZone: string;
  datasets: SimDatasetState;
}

export interface SimulationOptions {
  readonly clock: Clock;
  /** Where the state is kept; none: in memory only. */
  readonly file?: string;
  /** How long each step of creating a pool takes; 0 in tests. */
  readonly stepMs?: number;
}

function fresh(now: number): SimState {
  const data = (n: number): SimDisk => ({ name: `data${n}`, bytes: 2 * GIB, present: true, occupant: null });
  const online = (): SimService => ({ state: 'online', since: now, restarts: 0, reason: null });
  return {
    disks: [{ name: 'system0', bytes: 16 * GIB, present: true, occupant: null }, ...[1, 2, 3, 4].map(data)],
    pools: [
      {
        name: 'system',
        vdevs: [{ type: 'stripe', disks: ['system0'] }],
        compression: 'lz4',
        telemetry: false,
        allocated: 1.3 * GIB,
        createdAt: now,
        faulted: [],
        suspended: false,
        resilver: null,
        scrubbedAt: null,
      },
    ],
    services: Object.fromEntries(serviceFacts.map(({ name }) => [name, online()])),
    hostName: 'cistern',
    timeZone: 'UTC',
    datasets: noDatasets(),
  };
}

const idOf = (disk: SimDisk) => `scsi-0QEMU_QEMU_HARDDISK_${disk.name}`;
const linkOf = (disk: SimDisk) => `/dev/disk/by-id/${idOf(disk)}`;

export class Simulation implements Platform {
  readonly kind = 'sim';
  readonly datasets: SimDatasets;
  readonly #clock: Clock;
  readonly #file: string | undefined;
  readonly #stepMs: number;
  readonly #boot = randomUUID();
  readonly #bootedAt: number;
  #state: SimState;
  /** Set by `slow`: how long every enumeration takes. */
  #delayMs = 0;
  /** Set by `vanish-during-creation`: the disk that goes while a pool is being made. */
  #vanishing: string | null = null;

  constructor(options: SimulationOptions) {
    this.#clock = options.clock;
    this.#file = options.file;
    this.#stepMs = options.stepMs ?? 600;
    this.#bootedAt = options.clock.now();
    this.#state = { ...fresh(options.clock.now()), ...this.#load() };
    this.datasets = new SimDatasets({
      clock: options.clock,
      state: () => this.#state.datasets,
      roots: () =>
        this.#state.pools.map((pool) => {
          const { name, bytes, allocated, telemetry, compression } = this.#describe(pool);
          return { name, bytes, allocated, telemetry, compression: compression ?? 'off' };
        }),
      rootsKey: () => this.#state.pools.map(({ name, telemetry }) => `${name} ${telemetry}`).join(),
      save: () => this.#save(),
      storaged: (action) => this.serviceAction('storaged', action),
    });
  }

  #load(): SimState | undefined {
    if (this.#file === undefined) return undefined;
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as SimState;
    } catch {
      return undefined;
    }
  }

  #save(): void {
    if (this.#file === undefined) return;
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#state));
    renameSync(`${this.#file}.new`, this.#file);
  }

  #disk(id: unknown): SimDisk {
    const found = this.#state.disks.find((disk) => [disk.name, idOf(disk), linkOf(disk)].includes(String(id)));
    if (found === undefined) throw fail('not_found', `There is no simulated disk ${String(id)}.`);
    return found;
  }

  #pool(name: unknown): SimPool {
    const found = this.#state.pools.find((pool) => pool.name === name);
    if (found === undefined) throw fail('not_found', `There is no simulated pool ${String(name)}.`);
    return found;
  }

  async bootId(): Promise<string> {
    return this.#boot;
  }

  uptimeSeconds(): number {
    return (this.#clock.now() - this.#bootedAt) / 1000;
  }

  identity(): { hostName: string; timeZone: string } {
    return { hostName: this.#state.hostName, timeZone: this.#state.timeZone };
  }

  async disks(): Promise<PlatformDisk[]> {
    if (this.#delayMs > 0) await sleep(this.#delayMs, undefined, { ref: false });
    return this.#state.disks
      .map((disk, index) => ({ disk, path: `/dev/sd${String.fromCharCode(97 + index)}` }))
      .filter(({ disk }) => disk.present)
      .map(({ disk, path }) => ({
        id: idOf(disk),
        path,
        link: linkOf(disk),
        aliases: [path, linkOf(disk)],
        model: 'QEMU HARDDISK',
        serial: disk.name,
        bytes: disk.bytes,
        bus: 'scsi',
        rotational: true,
        system: disk.name === 'system0',
        occupant: disk.occupant,
        readOnly: false,
      }));
  }

  async pools(): Promise<PlatformPool[]> {
    if (this.#delayMs > 0) await sleep(this.#delayMs, undefined, { ref: false });
    return this.#state.pools.map((pool) => this.#describe(pool));
  }

  #describe(pool: SimPool): PlatformPool {
    const now = this.#clock.now();
    const leaf = (name: string): Vdev => {
      const disk = this.#disk(name);
      const state = !disk.present ? 'REMOVED' : pool.faulted.includes(name) ? 'FAULTED' : 'ONLINE';
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
    const parity: Record<string, number> = { stripe: 0, raidz1: 1, raidz2: 2, raidz3: 3 };
    const counts: Record<string, number> = {};
    let bytes = 0;
    const vdevs = pool.vdevs.flatMap(({ type, disks }): Vdev[] => {
      const children = disks.map(leaf);
      const sizes = disks.map((name) => this.#disk(name).bytes);
      const smallest = Math.min(...sizes);
      bytes +=
        type === 'mirror' ? smallest : type === 'stripe' ? sizes.reduce((a, b) => a + b) : smallest * disks.length;
      if (type === 'stripe') return children;
      const at = counts[type] ?? 0;
      counts[type] = at + 1;
      const lost = children.filter((child) => child.state !== 'ONLINE').length;
      const bearable = type === 'mirror' ? disks.length - 1 : (parity[type] ?? 0);
      const state = lost === 0 ? 'ONLINE' : lost <= bearable ? 'DEGRADED' : 'FAULTED';
      const none = { readErrors: 0, writeErrors: 0, checksumErrors: 0, path: null, diskId: null };
      return [{ name: `${type}-${at}`, type, state, ...none, children }];
    });
    bytes = Math.floor(bytes * USABLE);
    const worst = vdevs.some(({ state }) => state === 'FAULTED' || state === 'REMOVED')
      ? 'FAULTED'
      : vdevs.some(({ state }) => state === 'DEGRADED')
        ? 'DEGRADED'
        : 'ONLINE';
    const state = pool.suspended || worst === 'FAULTED' ? 'SUSPENDED' : worst;
    const removed = vdevs.some((vdev) => [vdev, ...vdev.children].some((one) => one.state === 'REMOVED'));
    const allocated = Math.min(Math.floor(pool.allocated), bytes);
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
            : removed
              ? 'One or more devices have been removed. Sufficient replicas exist for the pool to continue functioning in a degraded state.'
              : 'One or more devices are faulted in response to persistent errors. Sufficient replicas exist for the pool to continue functioning in a degraded state.',
      action:
        state === 'ONLINE'
          ? null
          : state === 'SUSPENDED'
            ? "Make sure the affected devices are connected, then run 'zpool clear'."
            : "Online the device using zpool online' or replace the device with 'zpool replace'.",
      scan: this.#scan(pool, now),
      vdevs,
      errors: 0,
      compression: pool.compression,
      compressRatio: 1.42,
      telemetry: pool.telemetry,
    };
  }

  #scan(pool: SimPool, now: number): PlatformPool['scan'] {
    const none = { errors: 0, repairedBytes: 0 };
    if (pool.resilver !== null) {
      const { startedAt, seconds } = pool.resilver;
      const done = Math.min(1, (now - startedAt) / (seconds * 1000));
      const ended = done >= 1;
      return {
        kind: 'resilver',
        state: ended ? 'finished' : 'scanning',
        percent: Math.round(done * 1000) / 10,
        startedAt: iso(startedAt),
        finishedAt: ended ? iso(startedAt + seconds * 1000) : null,
        ...none,
      };
    }
    if (pool.scrubbedAt === null) return null;
    const at = pool.scrubbedAt;
    return {
      kind: 'scrub',
      state: 'finished',
      percent: 100,
      startedAt: iso(at - 60_000),
      finishedAt: iso(at),
      ...none,
    };
  }

  async services(): Promise<Service[]> {
    return serviceFacts.map(({ name, title, description }, index) => {
      const { state, since, restarts, reason } = this.#state.services[name] as SimService;
      const up = state === 'online';
      return {
        name,
        title,
        description,
        state,
        since: iso(since),
        pid: up ? (name === 'akd' ? process.pid : 300 + index) : null,
        memoryBytes: up ? (name === 'akd' ? process.memoryUsage.rss() : (20 + 7 * index) * 2 ** 20) : null,
        restarts,
        reason,
        waitingFor: null,
      };
    });
  }

  async createPool(plan: PoolPlan, progress: Progress): Promise<void> {
    const wanted = plan.vdevs.flatMap((vdev) => vdev.disks.map((link) => this.#disk(link)));
    const steps = ['Checking the disks', 'Writing labels', 'Creating the pool', 'Setting properties'];
    for (const [at, step] of steps.entries()) {
      progress(step, (at * 100) / steps.length);
      if (this.#stepMs > 0) await sleep(this.#stepMs);
      if (at === 1 && this.#vanishing !== null) {
        this.#disk(this.#vanishing).present = false;
        this.#vanishing = null;
      }
      for (const disk of wanted) {
        if (!disk.present) {
          this.#save();
          throw fail(
            'disk_missing',
            `The disk ${idOf(disk)} disappeared while the pool “${plan.name}” was being created. Nothing was left behind.`,
            'Check its cabling or choose another disk, then try again.',
          );
        }
      }
    }
    this.#state.pools.push({
      name: plan.name,
      vdevs: plan.vdevs.map(({ type, disks }) => ({ type, disks: disks.map((link) => this.#disk(link).name) })),
      compression: plan.compression,
      telemetry: false,
      allocated: 600 * 1024,
      createdAt: this.#clock.now(),
      faulted: [],
      suspended: false,
      resilver: null,
      scrubbedAt: null,
    });
    this.#save();
  }

  async placeTelemetry(pool: string, progress: Progress): Promise<void> {
    progress('Making the telemetry dataset', null);
    if (this.#stepMs > 0) await sleep(this.#stepMs);
    const found = this.#pool(pool);
    for (const one of this.#state.pools) one.telemetry = one === found;
    this.#save();
  }

  async serviceAction(name: string, action: 'start' | 'stop' | 'restart'): Promise<void> {
    const service = this.#state.services[name];
    if (service === undefined) throw fail('not_found', `There is no service ${name}.`);
    service.state = action === 'stop' ? 'stopped' : 'online';
    service.since = this.#clock.now();
    service.reason = null;
    this.#save();
  }

  async setIdentity(hostName: string, timeZone: string): Promise<void> {
    this.#state.hostName = hostName;
    this.#state.timeZone = timeZone;
    this.#save();
  }

  async finishSetup(): Promise<void> {}

  async power(): Promise<void> {}

  /**
   * Failures on demand: `reset`, `disk-remove {disk}`, `disk-return {disk}`, `disk-occupy {disk, occupant}`,
   * `disk-add {name, bytes}`, `disk-fault {pool, disk}`, `vanish-during-creation {disk}`, `pool-suspend {pool}`,
   * `pool-heal {pool}`, `pool-fill {pool, ratio}`, `scrub {pool}`, `resilver {pool, seconds}`,
   * `service {name, state, reason}`, `slow {milliseconds}`, `dataset-write {dataset, path, bytes, text}`,
   * `dataset-replicated {snapshot}`, `dataset-generate {pool, datasets, snapshots}`.
   */
  async simulate(what: string, args: Record<string, unknown>): Promise<void> {
    const now = this.#clock.now();
    switch (what) {
      case 'reset':
        this.#state = fresh(now);
        this.#delayMs = 0;
        this.#vanishing = null;
        break;
      case 'disk-remove':
        this.#disk(args.disk).present = false;
        break;
      case 'disk-return':
        this.#disk(args.disk).present = true;
        break;
      case 'disk-occupy':
        this.#disk(args.disk).occupant = args.occupant === null ? null : String(args.occupant);
        break;
      case 'disk-add':
        this.#state.disks.push({ name: String(args.name), bytes: Number(args.bytes), present: true, occupant: null });
        break;
      case 'disk-fault':
        this.#pool(args.pool).faulted.push(this.#disk(args.disk).name);
        break;
      case 'vanish-during-creation':
        this.#vanishing = this.#disk(args.disk).name;
        break;
      case 'pool-suspend':
        this.#pool(args.pool).suspended = true;
        break;
      case 'pool-heal': {
        const pool = this.#pool(args.pool);
        pool.suspended = false;
        pool.faulted = [];
        for (const { disks } of pool.vdevs) for (const name of disks) this.#disk(name).present = true;
        break;
      }
      case 'pool-fill': {
        const pool = this.#pool(args.pool);
        pool.allocated = this.#describe(pool).bytes * Number(args.ratio);
        break;
      }
      case 'scrub':
        this.#pool(args.pool).scrubbedAt = now;
        break;
      case 'resilver':
        this.#pool(args.pool).resilver = { startedAt: now, seconds: Number(args.seconds ?? 30) };
        break;
      case 'service': {
        const service = this.#state.services[String(args.name)];
        if (service === undefined) throw fail('not_found', `There is no service ${String(args.name)}.`);
        service.state = args.state as Service['state'];
        service.since = now;
        service.reason = args.reason === undefined ? null : String(args.reason);
        break;
      }
      case 'dataset-write':
        this.datasets.write(String(args.dataset), String(args.path), Number(args.bytes), String(args.text ?? ''));
        break;
      case 'dataset-replicated':
        this.datasets.replicated(String(args.snapshot));
        break;
      case 'dataset-generate':
        this.datasets.generate(String(args.pool), Number(args.datasets), Number(args.snapshots));
        break;
      case 'slow':
        this.#delayMs = Number(args.milliseconds);
        break;
      default:
        throw fail('not_found', `The simulation cannot do ${what}.`);
    }
    this.#save();
  }
}
