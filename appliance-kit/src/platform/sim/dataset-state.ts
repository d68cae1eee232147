// What the simulated machine remembers of its datasets and snapshots, and the values of properties that are not set.

/** A file's content is its text, repeated until it has so many bytes. */
export interface SimFile {
  bytes: number;
  text: string;
  modifiedAt: number;
}
export type Files = Record<string, SimFile>;

export interface SimDataset {
  kind: 'filesystem' | 'volume';
  createdAt: number;
  local: Record<string, string>;
  files: Files;
  mounted: boolean;
  origin: string | null;
  key: { format: 'passphrase' | 'keyFile'; passphrase: string | null; loaded: boolean } | null;
}

export interface SimSnapshot {
  createdAt: number;
  files: Files;
  holds: Record<string, number>;
  schedule: string | null;
  reason: string | null;
  replication: boolean;
}

export interface SimDatasetState {
  datasets: Record<string, SimDataset>;
  /** In the order they were taken. */
  snapshots: Record<string, SimSnapshot>;
}

export const noDatasets = (): SimDatasetState => ({ datasets: {}, snapshots: {} });

export interface Root {
  readonly name: string;
  readonly bytes: number;
  readonly compression: string;
  readonly telemetry: boolean;
  readonly allocated: number;
}

/** Its value when no parent sets it; those that are here are inherited. */
export const DEFAULTS: Record<string, string> = {
  compression: 'on',
  recordsize: '131072',
  atime: 'off',
  relatime: 'on',
  readonly: 'off',
  sync: 'standard',
  logbias: 'latency',
  primarycache: 'all',
  secondarycache: 'all',
  copies: '1',
  snapdir: 'hidden',
};
export const OWN: Record<string, string> = { quota: '0', refquota: '0', reservation: '0', refreservation: '0' };
/** How far each compression gets with the text of a log; the simulation has one kind of data. */
export const RATIOS: Record<string, readonly [ratio: number, nanoseconds: number]> = {
  off: [1, 0],
  lz4: [1.9, 1.6],
  lzjb: [1.6, 3.4],
  zle: [1.02, 0.8],
  'zstd-1': [2.6, 2.8],
  'zstd-3': [2.9, 4.6],
  'zstd-6': [3.1, 9.8],
  'zstd-9': [3.2, 18],
  'zstd-19': [3.6, 240],
  'gzip-1': [2.5, 9.5],
  'gzip-6': [2.9, 26],
  'gzip-9': [3, 61],
};

export const parentOf = (name: string): string | null =>
  name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : null;
export const within = (name: string, top: string) => name === top || name.startsWith(`${top}/`);
export const split = (name: string) => name.split('@') as [dataset: string, own: string];
export const rootOf = (name: string) => name.split('/')[0] as string;
export const bytesOf = (files: Files) => Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0);
export const sameFile = (a: SimFile | undefined, b: SimFile | undefined) =>
  a !== undefined && b !== undefined && a.bytes === b.bytes && a.text === b.text;
