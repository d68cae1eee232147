// Datasets and snapshots of the simulated machine. Properties are inherited, snapshots keep files as they were, holds
// and clones keep snapshots, quotas count: as in ZFS, in the ways the pages and their tests can see.

import { Readable } from 'node:stream';
import { fail } from '../../base/problems/problem.ts';
import { size } from '../../base/words.ts';
import {
  type CompressionEstimate,
  type DatasetPlan,
  type DatasetPlatform,
  type Destroyed,
  type Difference,
  type FileEntry,
  type KeyChange,
  OPENZFS_FACTS,
  type RollbackPlan,
  type RolledBack,
  type SnapshotPlan,
} from '../datasets.ts';
import {
  bytesOf,
  OWN,
  parentOf,
  RATIOS,
  type SimDataset,
  type SimSnapshot,
  sameFile,
  split,
  within,
} from './dataset-state.ts';
import { SimDatasetTree } from './dataset-tree.ts';

export class SimDatasets extends SimDatasetTree implements DatasetPlatform {
  readonly facts = OPENZFS_FACTS;

  #mustHaveParent(name: string): void {
    const parent = parentOf(name);
    if (parent === null || this.state().datasets[parent] === undefined) {
      throw fail('not_found', `“${name}” cannot be made: there is no dataset “${parent}”.`, 'Make that one first.');
    }
    if (this.state().datasets[name] !== undefined) {
      throw fail('conflict', `A dataset “${name}” exists already.`, 'Choose another name.');
    }
  }

  async create(plan: DatasetPlan): Promise<void> {
    this.#mustHaveParent(plan.name);
    const local = assigned({}, plan.properties);
    if (plan.kind === 'volume') {
      const bytes = plan.volumeBytes ?? 0;
      const parent = (await this.tree()).datasets.find(({ name }) => name === parentOf(plan.name));
      if (!plan.sparse && parent !== undefined && bytes > parent.available) {
        throw fail(
          'out_of_space',
          `A volume of ${size(bytes)} was not made: “${parent.name}” has ${size(parent.available)} left.`,
          'Choose a smaller size, or a sparse volume.',
        );
      }
      local.volsize = String(bytes);
      local.volblocksize ??= '16384';
      if (!plan.sparse) local.refreservation = String(bytes);
    }
    const { encryption } = plan;
    this.state().datasets[plan.name] = {
      kind: plan.kind,
      createdAt: this.parts.clock.now(),
      local,
      files: {},
      mounted: false,
      origin: null,
      key: encryption ? { format: encryption.format, passphrase: encryption.passphrase ?? null, loaded: true } : null,
    };
    this.#mountIfMeant(plan.name);
    this.changed();
  }

  #mountIfMeant(name: string): void {
    const dataset = this.dataset(name);
    const key = this.keyRoot(name);
    dataset.mounted =
      dataset.kind === 'filesystem' &&
      this.property(name, 'mountpoint').value.startsWith('/') &&
      (key === null || this.dataset(key).key?.loaded === true);
  }

  #remount(top: string): void {
    for (const name of Object.keys(this.state().datasets)) if (within(name, top)) this.#mountIfMeant(name);
  }

  async set(name: string, properties: Record<string, string>): Promise<void> {
    const dataset = this.dataset(name);
    const all = (await this.tree()).datasets;
    const is = all.find((one) => one.name === name);
    for (const [property, value] of Object.entries(properties)) {
      const bytes = Number(value);
      const count = property === 'quota' ? (is?.used ?? 0) : property === 'refquota' ? (is?.referenced ?? 0) : 0;
      if (bytes > 0 && bytes < count) {
        throw fail(
          'out_of_space',
          `The ${property} of “${name}” was not set to ${size(bytes)}: it holds ${size(count)} already.`,
          'Choose a larger one, or destroy what is not needed.',
        );
      }
    }
    assigned(dataset.local, properties);
    if (properties.mountpoint !== undefined) this.#remount(name);
    this.changed();
  }

  async inherit(name: string, properties: readonly string[]): Promise<void> {
    const dataset = this.dataset(name);
    for (const property of properties) delete dataset.local[property];
    if (properties.includes('mountpoint')) this.#remount(name);
    this.changed();
  }

  async rename(name: string, to: string): Promise<void> {
    this.dataset(name);
    this.#mustHaveParent(to);
    this.#move(name, to);
    this.#remount(to);
    this.changed();
  }

  #move(from: string, to: string): void {
    const state = this.state();
    const moved = (name: string) => (within(split(name)[0], from) ? to + name.slice(from.length) : name);
    state.datasets = Object.fromEntries(
      Object.entries(state.datasets).map(([name, dataset]) => [
        moved(name),
        { ...dataset, origin: dataset.origin === null ? null : moved(dataset.origin) },
      ]),
    );
    state.snapshots = Object.fromEntries(
      Object.entries(state.snapshots).map(([name, snapshot]) => [moved(name), snapshot]),
    );
  }

  async destroy(name: string, recursive: boolean): Promise<void> {
    this.dataset(name);
    const state = this.state();
    const below = Object.keys(state.datasets).filter((one) => within(one, name));
    const snapshots = Object.keys(state.snapshots).filter((one) => within(split(one)[0], name));
    const hinder = [
      ...(recursive ? [] : below.filter((one) => one !== name).map((path) => ({ path, message: 'is below it' }))),
      ...(recursive ? [] : this.snapshotsOf(name).map((path) => ({ path, message: 'is a snapshot of it' }))),
      ...snapshots
        .filter((one) => Object.keys(this.snapshot(one).holds).length > 0)
        .map((path) => ({ path, message: 'is held' })),
      ...snapshots.flatMap((path) =>
        this.clonesOf(path)
          .filter((clone) => !within(clone, name))
          .map((clone) => ({ path, message: `is the origin of the clone ${clone}` })),
      ),
    ];
    const [first] = hinder;
    if (first !== undefined) {
      throw fail(
        'conflict',
        `“${name}” was not destroyed: “${first.path}” ${first.message}.`,
        'Destroy or release what hinders it first.',
        hinder.slice(0, 100),
      );
    }
    for (const one of below) delete state.datasets[one];
    for (const one of snapshots) delete state.snapshots[one];
    this.changed();
  }

  async mount(name: string, mounted: boolean): Promise<void> {
    const dataset = this.dataset(name);
    if (mounted) this.#mountIfMeant(name);
    if (mounted && !dataset.mounted) {
      throw fail('conflict', `“${name}” has no mount point, or its key is not loaded.`, 'See to that first.');
    }
    if (!mounted) {
      for (const [one, other] of Object.entries(this.state().datasets)) if (within(one, name)) other.mounted = false;
    }
    this.changed();
  }

  async key({ name, action, passphrase, encryption }: KeyChange): Promise<void> {
    const { key } = this.dataset(name);
    if (key === null) throw fail('conflict', `“${name}” has no key of its own.`, 'Do it where the key is.');
    if (action === 'change' && encryption !== undefined) {
      key.format = encryption.format;
      key.passphrase = encryption.passphrase ?? null;
    } else if (action === 'load' && key.format === 'passphrase' && passphrase !== key.passphrase) {
      throw fail('wrong_key', `The key of “${name}” was not loaded: the passphrase is not the right one.`);
    } else {
      key.loaded = action === 'load';
      for (const one of Object.keys(this.state().datasets)) {
        if (!within(one, name)) continue;
        if (key.loaded) this.#mountIfMeant(one);
        else this.dataset(one).mounted = false;
      }
    }
    this.changed();
  }

  async estimate(name: string, bytes: number): Promise<CompressionEstimate> {
    const dataset = this.dataset(name);
    const blockBytes = Number(this.property(name, dataset.kind === 'volume' ? 'volblocksize' : 'recordsize').value);
    const sampledBytes = Math.min(bytes, bytesOf(dataset.files));
    return {
      sampledBytes,
      sampledBlocks: Math.ceil(sampledBytes / blockBytes),
      holes: 0,
      blockBytes,
      levels: Object.entries(RATIOS).map(([compression, [ratio, nanosecondsPerByte]]) => ({
        compression,
        ratio: sampledBytes === 0 ? 1 : ratio,
        nanosecondsPerByte,
      })),
    };
  }

  async takeSnapshots(plan: SnapshotPlan): Promise<void> {
    const state = this.state();
    const names = plan.names.flatMap((name) => {
      const [dataset, own] = split(name);
      this.dataset(dataset);
      if (!plan.recursive) return [name];
      return Object.keys(state.datasets)
        .filter((one) => within(one, dataset))
        .map((one) => `${one}@${own}`);
    });
    const taken = names.find((name) => state.snapshots[name] !== undefined);
    if (taken !== undefined) {
      throw fail('conflict', `No snapshot was taken: “${taken}” exists already.`, 'Choose another name.');
    }
    const createdAt = this.parts.clock.now();
    for (const name of names) {
      state.snapshots[name] = {
        createdAt,
        // Files are replaced when they change, never altered: the snapshot may share them.
        files: { ...this.dataset(split(name)[0]).files },
        holds: {},
        schedule: plan.schedule ?? null,
        reason: plan.reason ?? null,
        replication: plan.replication !== undefined,
      };
    }
    this.changed();
  }

  async destroySnapshots(names: readonly string[]): Promise<Destroyed> {
    const state = this.state();
    const clones = new Map(Object.entries(state.datasets).map(([name, { origin }]) => [origin, name]));
    const destroyed: string[] = [];
    const refused: { name: string; reason: string }[] = [];
    for (const name of names) {
      const snapshot = state.snapshots[name];
      if (snapshot === undefined) refused.push({ name, reason: 'It is not there.' });
      else if (Object.keys(snapshot.holds).length > 0) refused.push({ name, reason: 'It is held.' });
      else if (clones.has(name)) {
        refused.push({ name, reason: `It is the origin of the clone ${clones.get(name)}.` });
      } else {
        delete state.snapshots[name];
        destroyed.push(name);
      }
    }
    if (destroyed.length > 0) this.changed();
    return { destroyed, refused };
  }

  async hold(names: readonly string[], tag: string): Promise<void> {
    for (const name of names) {
      if (this.snapshot(name).holds[tag] !== undefined) {
        throw fail('conflict', `“${name}” is held by the tag “${tag}” already.`, 'Choose another tag.');
      }
    }
    for (const name of names) this.snapshot(name).holds[tag] = this.parts.clock.now();
    this.changed();
  }

  async release(names: readonly string[], tag: string): Promise<void> {
    for (const name of names) {
      if (this.snapshot(name).holds[tag] === undefined) {
        throw fail('not_found', `“${name}” is not held by the tag “${tag}”.`, 'Read the list anew.');
      }
    }
    for (const name of names) delete this.snapshot(name).holds[tag];
    this.changed();
  }

  async renameSnapshot(name: string, to: string): Promise<void> {
    this.snapshot(name);
    const state = this.state();
    if (state.snapshots[to] !== undefined) throw fail('conflict', `A snapshot “${to}” exists already.`);
    state.snapshots = Object.fromEntries(
      Object.entries(state.snapshots).map(([one, snapshot]) => [one === name ? to : one, snapshot]),
    );
    for (const dataset of Object.values(state.datasets)) if (dataset.origin === name) dataset.origin = to;
    this.changed();
  }

  async clone(snapshot: string, name: string, properties: Record<string, string>): Promise<void> {
    const from = this.snapshot(snapshot);
    this.#mustHaveParent(name);
    const origin = this.dataset(split(snapshot)[0]);
    this.state().datasets[name] = {
      kind: origin.kind,
      createdAt: this.parts.clock.now(),
      local: {
        ...(origin.local.volsize !== undefined && { volsize: origin.local.volsize }),
        ...properties,
      },
      files: { ...from.files },
      mounted: false,
      origin: snapshot,
      key: origin.key && { ...origin.key },
    };
    this.#mountIfMeant(name);
    this.changed();
  }

  async rollback({ dataset: name, snapshot: own, keep, destroyNewer }: RollbackPlan): Promise<RolledBack> {
    const dataset = this.dataset(name);
    const target = this.snapshot(`${name}@${own}`);
    const all = this.snapshotsOf(name);
    const newer = all.filter((one) => this.snapshot(one).createdAt > target.createdAt);
    const telemetry = this.parts.roots().some((root) => root.telemetry && `${root.name}/telemetry` === name);
    const state = this.state();
    if (keep && Object.keys(state.datasets).some((one) => one.startsWith(`${name}/`))) {
      throw fail('conflict', `There are datasets below “${name}”, which would be moved with what is kept.`);
    }
    if (!keep) {
      const blocked = newer.flatMap((path) => {
        if (Object.keys(this.snapshot(path).holds).length > 0) return [{ path, message: 'is held' }];
        const [clone] = this.clonesOf(path);
        if (clone !== undefined) return [{ path, message: `is the origin of the clone ${clone}` }];
        return destroyNewer ? [] : [{ path, message: 'is newer' }];
      });
      if (blocked[0] !== undefined) {
        throw fail(
          'conflict',
          `Going back to “${name}@${own}” would destroy newer snapshots: “${blocked[0].path}” ${blocked[0].message}.`,
          'Confirm that newer snapshots are destroyed, or keep what there is now as a dataset of its own.',
          blocked,
        );
      }
    }
    if (telemetry) await this.parts.storaged('stop');
    let keptAs = '';
    if (keep) {
      const now = this.parts.clock.now();
      const stamp = `${new Date(now).toISOString().slice(0, 19).replaceAll(':', '.')}Z`;
      keptAs = `${name}-before-rollback-${stamp}`;
      state.snapshots[`${name}@cistern-before-rollback-${stamp}`] = {
        ...{ createdAt: now, files: { ...dataset.files }, holds: {}, schedule: null, replication: false },
        reason: `before the rollback to ${own}`,
      };
      newer.push(`${name}@cistern-before-rollback-${stamp}`);
      for (const one of newer) {
        const moved = state.snapshots[one] as SimSnapshot;
        delete state.snapshots[one];
        state.snapshots[`${keptAs}@${split(one)[1]}`] = moved;
        for (const other of Object.values(state.datasets)) {
          if (other.origin === one) other.origin = `${keptAs}@${split(one)[1]}`;
        }
      }
      state.datasets[keptAs] = {
        ...dataset,
        local: { ...dataset.local, mountpoint: 'none' },
        mounted: false,
        origin: `${name}@${own}`,
      };
    } else {
      for (const one of newer) delete state.snapshots[one];
    }
    dataset.files = { ...target.files };
    if (telemetry) await this.parts.storaged('start');
    this.changed();
    return { dataset: name, keptAs, destroyed: keep ? [] : newer };
  }

  async diff(snapshot: string, other: string | null): Promise<{ items: Difference[]; cut: boolean }> {
    const before = this.snapshot(snapshot).files;
    const after = other === null ? this.dataset(split(snapshot)[0]).files : this.snapshot(other).files;
    const items: Difference[] = [];
    for (const path of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
      const [was, is] = [before[path], after[path]];
      if (sameFile(was, is)) continue;
      const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'modified';
      items.push({ change, kind: 'file', path, to: null, at: is?.modifiedAt ?? null });
    }
    return { items, cut: false };
  }

  async files(snapshot: string, path: string): Promise<{ items: FileEntry[]; cut: boolean }> {
    const { files } = this.snapshot(snapshot);
    const prefix = path === '' ? '' : `${path}/`;
    const found = new Map<string, FileEntry>();
    for (const [one, { bytes, modifiedAt }] of Object.entries(files)) {
      if (!one.startsWith(prefix)) continue;
      const [name, ...rest] = one.slice(prefix.length).split('/') as [string, ...string[]];
      if (rest.length === 0) found.set(name, { name, kind: 'file', bytes, modifiedAt });
      else if (!found.has(name)) found.set(name, { name, kind: 'directory', bytes: 0, modifiedAt });
    }
    if (found.size === 0 && path !== '') throw fail('not_found', `There is no directory “${path}” in “${snapshot}”.`);
    return { items: [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), cut: false };
  }

  async readFile(snapshot: string, path: string): Promise<{ content: Readable; bytes: number }> {
    const file = this.snapshot(snapshot).files[path];
    if (file === undefined) throw fail('not_found', `There is no file “${path}” in “${snapshot}”.`);
    const text = file.text === '' ? '\0' : file.text;
    const content = Buffer.from(text.repeat(Math.ceil(file.bytes / Buffer.byteLength(text)))).subarray(0, file.bytes);
    return { content: Readable.from([content]), bytes: file.bytes };
  }

  /** A file is written or, with bytes 0, removed. */
  write(name: string, path: string, bytes: number, text: string): void {
    const { files } = this.dataset(name);
    if (bytes === 0) delete files[path];
    else files[path] = { bytes, text, modifiedAt: this.parts.clock.now() };
    this.changed();
  }

  /** Snapshots of one dataset arrive in another, which is as the last of them is. */
  receive(from: string, to: string, snapshots: readonly string[]): void {
    const state = this.state();
    const source = this.dataset(from);
    state.datasets[to] ??= {
      ...{ kind: source.kind, createdAt: this.parts.clock.now(), local: { readonly: 'on' } },
      ...{ files: {}, mounted: false, origin: null, key: null },
    };
    for (const name of snapshots) {
      const taken = this.snapshot(name);
      const here = `${to}@${split(name)[1]}`;
      state.snapshots[here] ??= { ...taken, holds: {}, schedule: null, reason: null, replication: false };
      (state.datasets[to] as SimDataset).files = { ...taken.files };
    }
    this.changed();
  }

  replicated(snapshot: string): void {
    this.snapshot(snapshot).replication = true;
    this.changed();
  }

  /** A tree for measuring with: so many file systems below a pool, in folders of ten, and their snapshots. */
  generate(pool: string, datasets: number, snapshots: number): void {
    const state = this.state();
    const now = this.parts.clock.now();
    this.dataset(pool);
    const each = Math.ceil(snapshots / datasets);
    for (let at = 0; at < datasets; at++) {
      const folder = `${pool}/bench${String(Math.floor(at / 10)).padStart(3, '0')}`;
      const name = at % 10 === 0 ? folder : `${folder}/data${at % 10}`;
      state.datasets[name] = {
        kind: 'filesystem',
        createdAt: now,
        local: at % 7 === 0 ? { compression: 'zstd-3' } : {},
        files: { 'access.log': { bytes: (at + 1) * 100_000, text: 'GET / 200\n', modifiedAt: now } },
        mounted: false,
        origin: null,
        key: null,
      };
      for (let one = 0; one < each; one++) {
        state.snapshots[`${name}@hourly-${String(one).padStart(4, '0')}`] = {
          createdAt: now - (each - one) * 3_600_000,
          files: { 'access.log': { bytes: (at + 1) * 90_000 + one, text: 'GET / 200\n', modifiedAt: now } },
          holds: {},
          schedule: null,
          reason: null,
          replication: false,
        };
      }
    }
    this.changed();
  }
}

/** "none" for a quota or a reservation is how one says that there is none; zfs prints it as 0. */
function assigned(local: Record<string, string>, properties: Record<string, string>): Record<string, string> {
  for (const [property, value] of Object.entries(properties)) {
    if (value === 'none' && OWN[property] !== undefined) delete local[property];
    else local[property] = value;
  }
  return local;
}
