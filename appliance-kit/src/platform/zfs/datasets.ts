// Datasets and snapshots of a real machine: `zfs` for reading, execd for whatever needs privilege.
import type { Readable } from 'node:stream';
import { inSlices } from '../../base/slices.ts';
import type { Command } from '../command.ts';
import type {
  CompressionEstimate,
  DatasetPlan,
  DatasetPlatform,
  Destroyed,
  Difference,
  FileEntry,
  Hold,
  KeyChange,
  PlatformProperty,
  PlatformTree,
  RollbackPlan,
  RolledBack,
  SnapshotPlan,
  ZfsFacts,
} from '../datasets.ts';
import type { Execd } from '../execd.ts';
import type { Mark, PoolChanges } from '../poolChanges.ts';
import { parseDiff, parseHolds, parseProperties, readTree, TREE_COLUMNS } from './parse.ts';

/** All of a machine with ten thousand snapshots takes ZFS a second or two, and a busy one longer. */
const TREE_DEADLINE_MS = 60_000;
/** A line is some 200 bytes: this is a quarter of a million of them. */
const MAX_TREE_BYTES = 64 * 2 ** 20;

export class ZfsDatasets implements DatasetPlatform {
  readonly facts: ZfsFacts;
  readonly #command: Command;
  readonly #execd: Execd;
  readonly #changes: PoolChanges | undefined;
  #mark: Mark = null;
  #last: { output: string; tree: PlatformTree } | null = null;

  constructor(parts: { command: Command; execd: Execd; facts: ZfsFacts; changes?: PoolChanges }) {
    this.#changes = parts.changes;
    this.#command = parts.command;
    this.#execd = parts.execd;
    this.facts = parts.facts;
  }

  async tree(): Promise<PlatformTree> {
    const mark = this.#changes?.datasets() ?? null;
    // Sorted by creation within what is otherwise ZFS' own order: parents, then their snapshots, then their children.
    const output = await this.#command('zfs', ['list', '-Hp', '-t', 'all', '-o', TREE_COLUMNS.join(',')], {
      deadlineMs: TREE_DEADLINE_MS,
      maxBytes: MAX_TREE_BYTES,
    });
    if (this.#last?.output !== output) this.#last = { output, tree: await inSlices(readTree(output)) };
    this.#mark = mark;
    return this.#last.tree;
  }

  unchanged(): boolean {
    return this.#mark !== null && this.#mark === this.#changes?.datasets();
  }

  async properties(name: string): Promise<PlatformProperty[]> {
    return parseProperties(await this.#command('zfs', ['get', '-Hp', '-o', 'name,property,value,source', 'all', name]));
  }

  async holds(snapshots: readonly string[]): Promise<Hold[]> {
    return parseHolds(await this.#command('zfs', ['holds', '-H', ...snapshots]));
  }

  async writtenSince(snapshot: string): Promise<number> {
    const [dataset, own] = snapshot.split('@') as [string, string];
    // ZFS counts what has reached the disks; what is on the way there would be lost as well. A pool that takes nothing more
    // says no to this, and has nothing on the way that could arrive.
    await this.#command('zpool', ['sync', dataset.split('/')[0] as string]).catch(() => '');
    const output = await this.#command('zfs', ['get', '-Hp', '-o', 'value', `written@${own}`, dataset]);
    return Number(output.trim()) || 0;
  }

  async create(plan: DatasetPlan): Promise<void> {
    await this.#execd.run('dataset.create', plan);
  }

  async set(name: string, properties: Record<string, string>): Promise<void> {
    await this.#execd.run('dataset.set', { name, properties });
  }

  async inherit(name: string, properties: readonly string[]): Promise<void> {
    await this.#execd.run('dataset.inherit', { name, properties });
  }

  async rename(name: string, to: string): Promise<void> {
    await this.#execd.run('dataset.rename', { name, to });
  }

  async destroy(name: string, recursive: boolean): Promise<void> {
    await this.#execd.run('dataset.destroy', { name, confirm: name, recursive });
  }

  async mount(name: string, mounted: boolean): Promise<void> {
    await this.#execd.run(mounted ? 'dataset.mount' : 'dataset.unmount', { name });
  }

  async key(change: KeyChange): Promise<void> {
    await this.#execd.run('dataset.key', change);
  }

  async estimate(dataset: string, bytes: number): Promise<CompressionEstimate> {
    const found = (await this.#execd.run('dataset.sample', { dataset, bytes })) as CompressionEstimate;
    // The command zstd may be there, and ZFS have none of it.
    return {
      ...found,
      levels: found.levels.filter(({ compression }) => this.facts.compressions.includes(compression)),
    };
  }

  async takeSnapshots(plan: SnapshotPlan): Promise<void> {
    await this.#execd.run('snapshot.create', plan);
  }

  async destroySnapshots(names: readonly string[]): Promise<Destroyed> {
    return (await this.#execd.run('snapshot.destroy', { names, deferred: false })) as Destroyed;
  }

  async hold(names: readonly string[], tag: string): Promise<void> {
    await this.#execd.run('snapshot.hold', { names, tag });
  }

  async release(names: readonly string[], tag: string): Promise<void> {
    await this.#execd.run('snapshot.release', { names, tag });
  }

  async renameSnapshot(name: string, to: string): Promise<void> {
    await this.#execd.run('snapshot.rename', { name, to });
  }

  async clone(snapshot: string, name: string, properties: Record<string, string>): Promise<void> {
    await this.#execd.run('snapshot.clone', { snapshot, name, properties });
  }

  async rollback(plan: RollbackPlan): Promise<RolledBack> {
    return (await this.#execd.run('snapshot.rollback', plan)) as RolledBack;
  }

  async diff(snapshot: string, other: string | null): Promise<{ items: Difference[]; cut: boolean }> {
    const answer = (await this.#execd.run('snapshot.diff', { snapshot, other: other ?? '' })) as {
      output: string;
      mountpoint: string;
      cut: boolean;
    };
    return { items: parseDiff(answer.output, answer.mountpoint, this.facts.octalDigits), cut: answer.cut };
  }

  async files(snapshot: string, path: string): Promise<{ items: FileEntry[]; cut: boolean }> {
    return (await this.#execd.run('snapshot.list-files', { snapshot, path })) as { items: FileEntry[]; cut: boolean };
  }

  async readFile(snapshot: string, path: string): Promise<{ content: Readable; bytes: number }> {
    return this.#execd.open('snapshot.read-file', { snapshot, path });
  }
}
