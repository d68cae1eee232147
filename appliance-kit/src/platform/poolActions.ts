// What can be done to pools and disks that exist. Each driver carries it out: `zfs/` through execd on both operating
// systems, `sim/` on the simulated machine. A call that fails throws a ProblemError with a text for users; one whose
// deadline has passed may have been carried out or not, so whoever calls reads the machine again.
import type { VdevPlan } from './pool.ts';

export type VdevKind = 'data' | 'spare' | 'log' | 'cache' | 'special';

/** A pool on disks of this machine that is not imported. */
export interface Importable {
  readonly name: string;
  readonly guid: string;
  readonly state: string;
  /** ZFS' own words on what is wrong with it, or null. */
  readonly status: string | null;
  readonly action: string | null;
  /** Another machine has used it last and has not given it up. */
  readonly inUseElsewhere: boolean;
  readonly devices: readonly { readonly name: string; readonly state: string; readonly depth: number }[];
}

/** One line of a pool's own history. */
export interface HistoryLine {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly text: string;
  /** Who, as ZFS noted it: "root on metrics1"; null when it is ZFS itself. */
  readonly by: string | null;
}

export interface SelfTest {
  readonly kind: string;
  readonly result: string;
  readonly passed: boolean | null;
  readonly atPowerOnHours: number | null;
}

/** What a disk says of itself. Null is what it does not say. */
export interface SmartReport {
  /** Whether the disk can be asked at all; virtual ones cannot. */
  /** The version of its own program, as it states it. */
  readonly firmware: string | null;
  readonly supported: boolean;
  readonly passed: boolean | null;
  /** What it warns of by itself, as sentences: NVMe disks say what is wrong, others only that something is. */
  readonly warnings: readonly string[];
  readonly temperatureCelsius: number | null;
  /** Temperatures from which on the disk itself calls it too hot, and critical. */
  readonly highestCelsius: number | null;
  readonly criticalCelsius: number | null;
  readonly powerOnHours: number | null;
  readonly wearRatio: number | null;
  readonly reallocatedSectors: number | null;
  readonly pendingSectors: number | null;
  readonly testRunning: { readonly percent: number } | null;
  readonly selfTests: readonly SelfTest[];
}

/** Of a disk that cannot be asked, or has not answered yet. */
export const NO_SMART: SmartReport = {
  ...{ firmware: null, supported: false, passed: null, warnings: [], temperatureCelsius: null, powerOnHours: null },
  ...{ wearRatio: null, reallocatedSectors: null, pendingSectors: null, testRunning: null, selfTests: [] },
  ...{ highestCelsius: null, criticalCelsius: null },
};

export interface PoolActions {
  scrub(pool: string, action: 'start' | 'pause' | 'stop'): Promise<void>;
  trim(pool: string, action: 'start' | 'suspend' | 'cancel'): Promise<void>;
  /** `device` null: all of them. */
  clear(pool: string, device: string | null): Promise<void>;
  setState(pool: string, device: string, state: 'online' | 'offline'): Promise<void>;
  /** The resilver has begun when it returns, as with `replace`. `disk` is a stable device path. */
  attach(pool: string, device: string, disk: string): Promise<void>;
  detach(pool: string, device: string): Promise<void>;
  replace(pool: string, device: string, disk: string): Promise<void>;
  add(pool: string, kind: VdevKind, vdevs: readonly VdevPlan[]): Promise<void>;
  /** A spare, log, cache, or a whole data vdev, whose data ZFS moves first. */
  remove(pool: string, vdev: string): Promise<void>;
  setProperty(pool: string, property: 'autoexpand' | 'autotrim' | 'comment', value: string): Promise<void>;
  upgrade(pool: string): Promise<void>;
  exportPool(pool: string): Promise<void>;
  destroyPool(pool: string): Promise<void>;
  importable(): Promise<readonly Importable[]>;
  /** Answers with the file systems that were not mounted, because something else is in their place. */
  importPool(guid: string, name: string, force: boolean): Promise<readonly string[]>;
  history(pool: string, limit: number): Promise<readonly HistoryLine[]>;
  /** Files that cannot be read any more, by name; what has none is named as ZFS does. Throws where ZFS does not name them. */
  damagedFiles(pool: string): Promise<readonly string[]>;

  wipe(disk: string): Promise<void>;
  smart(disk: string): Promise<SmartReport>;
  selfTest(disk: string, kind: 'short' | 'long' | 'abort'): Promise<void>;
  /** The light of its slot; throws when there is none. */
  locate(disk: string, on: boolean): Promise<void>;
}
