// What the simulated machine remembers of its pools and disks.
import type { HistoryLine, VdevKind } from '../poolActions.ts';

/** What ZFS keeps for itself on a small disk: labels, and the remainder that is not a whole metaslab. */
export const USABLE = 0.93;

export interface SimDisk {
  name: string;
  bytes: number;
  present: boolean;
  /** What another system put on it. */
  occupant: string | null;
}

export interface SimVdev {
  type: string;
  disks: string[];
}

export interface SimScan {
  kind: 'scrub' | 'resilver';
  startedAt: number;
  seconds: number;
  pausedAt: number | null;
  pausedMs: number;
  stoppedAt: number | null;
  /** What it finds; known at its end. */
  repairedBytes: number;
  errors: number;
}

export interface SimPool {
  name: string;
  guid: string;
  vdevs: SimVdev[];
  /** Spares, logs, caches and special vdevs. */
  extra: (SimVdev & { kind: Exclude<VdevKind, 'data'> })[];
  compression: string;
  telemetry: boolean;
  allocated: number;
  createdAt: number;
  scan: SimScan | null;
  offline: string[];
  /** Old disk → new one, until the resilver is done. */
  replacing: { old: string; disk: string }[];
  properties: { autoexpand: boolean; autotrim: boolean; comment: string };
  upgradable: boolean;
  history: HistoryLine[];
  /** Set by the simulation's own controls. */
  faulted: string[];
  suspended: boolean;
  damaged: string[];
  /** What the next scrub repairs. */
  rotten: number;
  /** Of an exported pool: another machine had it last. */
  elsewhere: boolean;
}

export interface SimMachine {
  disks: SimDisk[];
  pools: SimPool[];
  exported: SimPool[];
}

export function newPool(name: string, vdevs: SimVdev[], compression: string, now: number): SimPool {
  const pool: SimPool = {
    ...{ name, vdevs, compression, extra: [], telemetry: false, allocated: 600 * 1024, createdAt: now },
    ...{ scan: null, offline: [], replacing: [], upgradable: false, history: [] },
    ...{ faulted: [], suspended: false, damaged: [], rotten: 0, elsewhere: false },
    guid: String(1_000_000_000_000 + Math.floor(Math.random() * 1e12)),
    properties: { autoexpand: false, autotrim: true, comment: '' },
  };
  pool.history.push({ time: now, text: `zpool create ${name}`, by: 'root on cistern' });
  return pool;
}

export const idOf = (disk: SimDisk) => `scsi-0QEMU_QEMU_HARDDISK_${disk.name}`;
export const linkOf = (disk: SimDisk) => `/dev/disk/by-id/${idOf(disk)}`;
