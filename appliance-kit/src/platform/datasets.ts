// What the management plane needs of ZFS' datasets and snapshots. OpenZFS and illumos answer alike as far as this goes
// (`-Hp`, tab-separated), so `platform/zfs/` serves both; `sim/datasets.ts` behaves like them without touching anything.
import type { Readable } from 'node:stream';

export interface PlatformDataset {
  readonly name: string;
  readonly kind: 'filesystem' | 'volume';
  readonly used: number;
  readonly available: number;
  readonly referenced: number;
  readonly usedBySnapshots: number;
  readonly compression: string;
  readonly compressRatio: number;
  /** The quota that is nearest to being reached, of `quota` and `refquota`, with what counts against it. */
  readonly quota: { readonly bytes: number; readonly used: number } | null;
  readonly volumeBytes: number | null;
  readonly mountpoint: string | null;
  readonly mounted: boolean;
  readonly origin: string | null;
  readonly encryption: string | null;
  readonly encryptionRoot: string | null;
  readonly keyStatus: 'none' | 'available' | 'unavailable';
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface PlatformSnapshot {
  /** DATASET@NAME */
  readonly name: string;
  readonly dataset: string;
  readonly used: number;
  readonly referenced: number;
  readonly createdAt: number;
  readonly holds: number;
  readonly clones: readonly string[];
  /** `cistern:schedule`: which schedule took it. */
  readonly schedule: string | null;
  /** `cistern:reason`: why the appliance took it. */
  readonly reason: string | null;
  /** `cistern:replication` is set: both sides of a replication have it. */
  readonly replication: boolean;
}

/** The same object as before as long as nothing has changed, so that it can be compared by identity. */
export interface PlatformTree {
  /** By name, parents before their children. */
  readonly datasets: readonly PlatformDataset[];
  /** Those of a dataset are together, the oldest first. */
  readonly snapshots: readonly PlatformSnapshot[];
}

export const SOURCES = ['local', 'inherited', 'default', 'received', 'temporary', 'none'] as const;

export interface PlatformProperty {
  readonly name: string;
  readonly value: string;
  readonly source: (typeof SOURCES)[number];
  /** The dataset an inherited value comes from. */
  readonly from: string | null;
}

export interface Hold {
  readonly snapshot: string;
  readonly tag: string;
  readonly at: number;
}

export interface EncryptionPlan {
  readonly format: 'passphrase' | 'keyFile';
  readonly passphrase?: string;
}

export interface DatasetPlan {
  readonly name: string;
  readonly kind: 'filesystem' | 'volume';
  readonly volumeBytes?: number;
  readonly sparse?: boolean;
  readonly properties: Record<string, string>;
  readonly encryption?: EncryptionPlan;
}

export interface KeyChange {
  readonly name: string;
  readonly action: 'load' | 'unload' | 'change';
  readonly passphrase?: string;
  readonly encryption?: EncryptionPlan;
}

export interface SnapshotPlan {
  /** DATASET@NAME; all of one pool are of one moment. */
  readonly names: readonly string[];
  readonly recursive: boolean;
  readonly schedule?: string;
  readonly reason?: string;
  /** The id of the replication that goes on from it. */
  readonly replication?: string;
}

export interface Destroyed {
  readonly destroyed: readonly string[];
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

export interface RollbackPlan {
  readonly dataset: string;
  /** Its own name, behind the @. */
  readonly snapshot: string;
  readonly keep: boolean;
  readonly destroyNewer: boolean;
}

export interface RolledBack {
  readonly dataset: string;
  readonly keptAs: string;
  readonly destroyed: readonly string[];
}

export interface Difference {
  readonly change: 'added' | 'removed' | 'modified' | 'renamed';
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly path: string;
  readonly to: string | null;
  readonly at: number | null;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly bytes: number;
  readonly modifiedAt: number;
}

export interface CompressionEstimate {
  readonly sampledBytes: number;
  readonly sampledBlocks: number;
  /** Of the sampled blocks; they cost nothing whatever the compression. */
  readonly holes: number;
  readonly blockBytes: number;
  readonly levels: readonly {
    readonly compression: string;
    readonly ratio: number;
    readonly nanosecondsPerByte: number;
  }[];
}

export interface ZfsFacts {
  /** The values `compression` can have, without `on`. */
  readonly compressions: readonly string[];
  readonly largestRecord: number;
  /** Whether there is the property. */
  readonly relatime: boolean;
  /** How many octal digits `zfs diff` writes behind the backslash for a byte of a name. */
  readonly octalDigits: 3 | 4;
}

export interface DatasetPlatform {
  readonly facts: ZfsFacts;
  tree(): Promise<PlatformTree>;
  /** Whether the last answer of `tree` still holds, but for sizes: no command has changed a dataset since. Without it that is never known. */
  unchanged?(): boolean;
  properties(name: string): Promise<PlatformProperty[]>;
  holds(snapshots: readonly string[]): Promise<Hold[]>;
  /** How many bytes were written to the dataset since the snapshot, also those that are still on the way to the disks. */
  writtenSince(snapshot: string): Promise<number>;

  create(plan: DatasetPlan): Promise<void>;
  set(name: string, properties: Record<string, string>): Promise<void>;
  inherit(name: string, properties: readonly string[]): Promise<void>;
  rename(name: string, to: string): Promise<void>;
  destroy(name: string, recursive: boolean): Promise<void>;
  mount(name: string, mounted: boolean): Promise<void>;
  key(change: KeyChange): Promise<void>;
  estimate(name: string, bytes: number): Promise<CompressionEstimate>;

  takeSnapshots(plan: SnapshotPlan): Promise<void>;
  destroySnapshots(names: readonly string[]): Promise<Destroyed>;
  hold(names: readonly string[], tag: string): Promise<void>;
  release(names: readonly string[], tag: string): Promise<void>;
  renameSnapshot(name: string, to: string): Promise<void>;
  clone(snapshot: string, name: string, properties: Record<string, string>): Promise<void>;
  rollback(plan: RollbackPlan): Promise<RolledBack>;
  /** What changed from the snapshot to a later one, or to now. `cut`: there was more than is listed. */
  diff(snapshot: string, other: string | null): Promise<{ items: Difference[]; cut: boolean }>;
  files(snapshot: string, path: string): Promise<{ items: FileEntry[]; cut: boolean }>;
  readFile(snapshot: string, path: string): Promise<{ content: Readable; bytes: number }>;
}

const GZIP = Array.from({ length: 9 }, (_, at) => `gzip-${at + 1}`);
const ZSTD = Array.from({ length: 19 }, (_, at) => `zstd-${at + 1}`);
/** illumos has no zstd, no relatime, and records up to 1 MiB. */
export const ILLUMOS_FACTS: ZfsFacts = {
  compressions: ['off', 'lz4', 'gzip', ...GZIP, 'lzjb', 'zle'],
  largestRecord: 2 ** 20,
  relatime: false,
  octalDigits: 3,
};
export const OPENZFS_FACTS: ZfsFacts = {
  compressions: ['off', 'lz4', 'zstd', ...ZSTD, 'gzip', ...GZIP, 'lzjb', 'zle'],
  largestRecord: 2 ** 24,
  relatime: true,
  octalDigits: 4,
};
