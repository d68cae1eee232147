// What is read of the datasets and snapshots of the simulated machine: the tree, properties and where they come from, holds.

import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atOnce, inSlices, type Sliced } from '../../base/slices.ts';
import type { Hold, PlatformDataset, PlatformProperty, PlatformSnapshot, PlatformTree } from '../datasets.ts';
import {
  bytesOf,
  DEFAULTS,
  OWN,
  parentOf,
  RATIOS,
  type Root,
  rootOf,
  type SimDataset,
  type SimDatasetState,
  type SimSnapshot,
  sameFile,
  split,
} from './dataset-state.ts';

export interface SimDatasetParts {
  readonly clock: Clock;
  readonly state: () => SimDatasetState;
  readonly roots: () => readonly Root[];
  /** Changes with the pools' names and with where the telemetry is: cheaper than asking for the roots. */
  readonly rootsKey: () => string;
  /** What is here has changed and is to be kept. */
  readonly save: () => void;
  /** The store stops and starts while its dataset is away. */
  readonly storaged: (action: 'start' | 'stop') => Promise<void>;
}

export class SimDatasetTree {
  protected readonly parts: SimDatasetParts;
  #known: { key: string; tree: PlatformTree } | null = null;
  #version = 0;
  #synced: { state: SimDatasetState; key: string } | null = null;

  constructor(parts: SimDatasetParts) {
    this.parts = parts;
  }

  /** Pools come and go elsewhere: their own datasets, and what the appliance makes on them, follow. */
  protected state(): SimDatasetState {
    const state = this.parts.state();
    const key = this.parts.rootsKey();
    if (this.#synced?.state === state && this.#synced.key === key) return state;
    this.#synced = { state, key };
    this.#version++;
    const roots = this.parts.roots();
    for (const name of Object.keys(state.datasets)) {
      if (!roots.some((root) => root.name === rootOf(name))) delete state.datasets[name];
    }
    for (const name of Object.keys(state.snapshots)) {
      if (!roots.some((root) => root.name === rootOf(name))) delete state.snapshots[name];
    }
    const make = (name: string, local: Record<string, string>, mounted: boolean) => {
      state.datasets[name] ??= {
        kind: 'filesystem',
        createdAt: this.parts.clock.now(),
        local,
        files: {},
        mounted,
        origin: null,
        key: null,
      };
    };
    for (const { name, compression, telemetry } of roots) {
      make(name, { compression, mountpoint: 'none', atime: 'off' }, false);
      if (name === 'system') {
        make('system/state', { mountpoint: 'legacy' }, true);
        make('system/log', { mountpoint: 'legacy', quota: String(2 ** 31) }, true);
      }
      if (telemetry) make(`${name}/telemetry`, { mountpoint: '/srv/telemetry' }, true);
    }
    return state;
  }

  protected changed(): void {
    this.#version++;
    this.parts.save();
  }

  protected dataset(name: string): SimDataset {
    const found = this.state().datasets[name];
    if (found === undefined) throw fail('not_found', `There is no dataset “${name}”.`, 'Read the list anew.');
    return found;
  }

  protected snapshot(name: string): SimSnapshot {
    const found = this.state().snapshots[name];
    if (found === undefined) throw fail('not_found', `There is no snapshot “${name}”.`, 'Read the list anew.');
    return found;
  }

  protected snapshotsOf(dataset: string): string[] {
    return Object.keys(this.state().snapshots).filter((name) => name.startsWith(`${dataset}@`));
  }

  protected clonesOf(snapshot: string): string[] {
    return Object.entries(this.state().datasets)
      .filter(([, { origin }]) => origin === snapshot)
      .map(([name]) => name);
  }

  protected property(name: string, property: string): PlatformProperty {
    const own = this.dataset(name).local[property];
    if (own !== undefined) return { name: property, value: own, source: 'local', from: null };
    if (OWN[property] !== undefined) return { name: property, value: OWN[property], source: 'default', from: null };
    for (let from = parentOf(name); from !== null; from = parentOf(from)) {
      let value = this.dataset(from).local[property];
      if (value === undefined) continue;
      if (property === 'mountpoint' && value.startsWith('/')) value += name.slice(from.length);
      return { name: property, value, source: 'inherited', from };
    }
    const value = property === 'mountpoint' ? `/${name}` : (DEFAULTS[property] ?? '-');
    return { name: property, value, source: 'default', from: null };
  }

  #ratio(name: string): number {
    const compression = this.property(name, 'compression').value;
    return (RATIOS[compression] ?? RATIOS[`${compression}-6`] ?? RATIOS[`${compression}-3`] ?? [1.9])[0];
  }

  protected keyRoot(name: string): string | null {
    for (let at: string | null = name; at !== null; at = parentOf(at)) {
      if (this.dataset(at).key !== null) return at;
    }
    return null;
  }

  async tree(): Promise<PlatformTree> {
    const state = this.state();
    const roots = this.parts.roots();
    const key = `${this.#version} ${JSON.stringify(roots)}`;
    if (this.#known?.key === key) return this.#known.tree;
    const tree = await this.#whole(() => this.#read(state, roots));
    this.#known = { key, tree };
    return tree;
  }

  /** What changes while it is read is read again, as a reading is of one moment. */
  async #whole(read: () => Sliced<PlatformTree>): Promise<PlatformTree> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const version = this.#version;
      try {
        const tree = await inSlices(read());
        if (version === this.#version) return tree;
      } catch (error) {
        if (version === this.#version) throw error;
      }
    }
    return atOnce(read());
  }

  *#read(state: SimDatasetState, roots: readonly Root[]): Sliced<PlatformTree> {
    const names = Object.keys(state.datasets).sort();
    const ofDataset = new Map<string, string[]>(names.map((name) => [name, []]));
    for (const name of Object.keys(state.snapshots)) ofDataset.get(split(name)[0])?.push(name);
    const clones = new Map<string, string[]>();
    for (const name of names) {
      const { origin } = state.datasets[name] as SimDataset;
      if (origin !== null) clones.set(origin, [...(clones.get(origin) ?? []), name]);
    }
    const own = new Map<string, number>();
    const snapshots: PlatformSnapshot[] = [];
    const bySnapshots = new Map<string, number>();
    for (const name of names) {
      yield;
      const dataset = state.datasets[name] as SimDataset;
      const ratio = this.#ratio(name);
      const all = (ofDataset.get(name) ?? []).sort(
        (a, b) => (state.snapshots[a] as SimSnapshot).createdAt - (state.snapshots[b] as SimSnapshot).createdAt,
      );
      let held = 0;
      all.forEach((each, at) => {
        const { files, ...one } = state.snapshots[each] as SimSnapshot;
        const before = state.snapshots[all[at - 1] ?? '']?.files ?? {};
        const after = state.snapshots[all[at + 1] ?? '']?.files ?? dataset.files;
        let unique = 0;
        for (const [path, file] of Object.entries(files)) {
          if (sameFile(file, after[path])) continue;
          held += file.bytes / ratio;
          if (!sameFile(file, before[path])) unique += file.bytes / ratio;
        }
        snapshots.push({
          name: each,
          dataset: name,
          used: Math.round(unique),
          referenced: Math.round(98_304 + bytesOf(files) / ratio),
          createdAt: one.createdAt,
          holds: Object.keys(one.holds).length,
          clones: clones.get(each) ?? [],
          schedule: one.schedule,
          reason: one.reason,
          replication: one.replication,
        });
      });
      bySnapshots.set(name, Math.round(held));
      const volume = dataset.kind === 'volume' ? Number(dataset.local.refreservation ?? 0) : 0;
      const telemetry = roots.find((root) => root.telemetry && name === `${root.name}/telemetry`);
      own.set(
        name,
        Math.round(98_304 + Math.max(volume, bytesOf(dataset.files) / ratio) + (telemetry?.allocated ?? 0) * 0.9),
      );
    }
    const used = new Map<string, number>();
    for (const name of [...names].reverse()) {
      const total = (used.get(name) ?? 0) + (own.get(name) ?? 0) + (bySnapshots.get(name) ?? 0);
      used.set(name, total);
      const parent = parentOf(name);
      if (parent !== null) used.set(parent, (used.get(parent) ?? 0) + total);
    }
    const availableAt = new Map<string, number>();
    const datasets = names.map((name): PlatformDataset => {
      const dataset = state.datasets[name] as SimDataset;
      const value = (property: string) => this.property(name, property).value;
      const root = roots.find((one) => one.name === rootOf(name)) as Root;
      const parent = parentOf(name);
      const quota = Number(value('quota'));
      const refquota = Number(value('refquota'));
      const total = used.get(name) ?? 0;
      const referenced = own.get(name) ?? 0;
      let available = parent === null ? root.bytes * 0.97 - total : (availableAt.get(parent) ?? 0);
      if (quota > 0) available = Math.min(available, quota - total);
      available = Math.max(0, Math.round(available));
      availableAt.set(name, available);
      const quotas = [
        { bytes: quota, used: total },
        { bytes: refquota, used: referenced },
      ].filter(({ bytes }) => bytes > 0);
      const keyRoot = this.keyRoot(name);
      const mountpoint = dataset.kind === 'volume' ? 'none' : value('mountpoint');
      return {
        name,
        kind: dataset.kind,
        used: total,
        available: refquota > 0 ? Math.max(0, Math.min(available, refquota - referenced)) : available,
        referenced,
        usedBySnapshots: bySnapshots.get(name) ?? 0,
        compression: value('compression'),
        compressRatio: bytesOf(dataset.files) > 0 ? this.#ratio(name) : 1,
        quota: quotas.sort((a, b) => b.used / b.bytes - a.used / a.bytes)[0] ?? null,
        volumeBytes: dataset.kind === 'volume' ? Number(dataset.local.volsize) : null,
        mountpoint: mountpoint === 'none' ? null : mountpoint,
        mounted: dataset.mounted,
        origin: dataset.origin,
        encryption: keyRoot === null ? null : 'aes-256-gcm',
        encryptionRoot: keyRoot,
        keyStatus: keyRoot === null ? 'none' : this.dataset(keyRoot).key?.loaded ? 'available' : 'unavailable',
        createdAt: dataset.createdAt,
      };
    });
    return { datasets, snapshots };
  }

  async properties(name: string): Promise<PlatformProperty[]> {
    const dataset = this.dataset(name);
    const volume = dataset.kind === 'volume';
    const inherited = Object.keys(DEFAULTS).filter(
      (one) => !volume || !['recordsize', 'atime', 'relatime', 'snapdir'].includes(one),
    );
    const own = volume ? ['reservation', 'refreservation', 'volsize', 'volblocksize'] : [...Object.keys(OWN)];
    const key = this.keyRoot(name);
    const facts: [string, string][] = [
      ['type', dataset.kind],
      ['encryption', key === null ? 'off' : 'aes-256-gcm'],
      ['encryptionroot', key ?? '-'],
      ['keyformat', key === null ? 'none' : this.dataset(key).key?.format === 'passphrase' ? 'passphrase' : 'hex'],
      ['logicalused', String(bytesOf(dataset.files))],
    ];
    return [
      ...[...inherited, ...own, ...(volume ? [] : ['mountpoint'])].map((one) => this.property(name, one)),
      ...facts.map(([property, value]): PlatformProperty => ({ name: property, value, source: 'none', from: null })),
    ];
  }

  async holds(snapshots: readonly string[]): Promise<Hold[]> {
    return snapshots.flatMap((snapshot) =>
      Object.entries(this.snapshot(snapshot).holds).map(([tag, at]) => ({ snapshot, tag, at })),
    );
  }

  async writtenSince(snapshot: string): Promise<number> {
    const [dataset] = split(snapshot);
    const { files } = this.snapshot(snapshot);
    const now = this.dataset(dataset).files;
    const changed = Object.entries(now).filter(([path, file]) => !sameFile(file, files[path]));
    return Math.round(changed.reduce((sum, [, { bytes }]) => sum + bytes, 0) / this.#ratio(dataset));
  }
}
