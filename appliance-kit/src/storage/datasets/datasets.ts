// Datasets: what there are, making one, changing it, destroying it. What is shown comes from the tree that is kept;
// what is decided is decided on a reading of now, and by ZFS.

import type { Audit } from '../../access/audit/index.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { percent, plural, size } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Job, Jobs } from '../../jobs/index.ts';
import type { PlatformDataset, PlatformProperty } from '../../platform/datasets.ts';
import type { Platform } from '../../platform/platform.ts';
import { compressionChoices } from './compressions.ts';
import { estimated } from './estimate.ts';
import { datasetNameProblem, isSystem, mustBeNamed, parentOf, poolOf, within } from './names.ts';
import { mustBeInheritable, mustBeProperties, PROPERTIES } from './properties.ts';
import type { routes } from './routes.ts';
import type {
  Dataset,
  DatasetChange,
  DatasetDetail,
  DatasetQuery,
  Hindrances,
  KeyChange,
  NewDataset,
  Property,
} from './schema.ts';
import type { Known, Reading, Tree } from './tree.ts';

/** A quota that is this full raises an alert. */
export const NEARLY = 0.9;
const PAGE = 50;
const SAMPLE_BYTES = 64 * 2 ** 20;

export const TELEMETRY_MOUNT = '/srv/telemetry';
export const isTelemetry = (dataset: PlatformDataset): boolean => dataset.mountpoint === TELEMETRY_MOUNT;

export interface DatasetParts {
  readonly platform: Platform;
  readonly tree: Tree;
  readonly jobs: Jobs;
  readonly audit: Audit;
}

export function describe(dataset: PlatformDataset, known: Known, systemPool: string): Dataset {
  const { quota, encryption, createdAt, ...facts } = dataset;
  return {
    ...facts,
    pool: poolOf(dataset.name),
    depth: dataset.name.split('/').length - 1,
    system: isSystem(dataset.name, systemPool),
    telemetry: isTelemetry(dataset),
    quota: quota && { ...quota, ratio: quota.used / quota.bytes },
    encrypted: encryption !== null,
    snapshots: known.snapshotsOf.get(dataset.name)?.length ?? 0,
    children: known.children.get(dataset.name) ?? 0,
    createdAt: iso(createdAt),
  };
}

export function mustBeKnown(known: Known, name: string): PlatformDataset {
  const found = known.byName.get(name);
  if (found === undefined) throw fail('not_found', `There is no dataset “${name}”.`);
  return found;
}

export function mustBeChangeable(name: string, { systemPool }: Pick<Platform, 'systemPool'>): void {
  if (!isSystem(name, systemPool)) return;
  throw fail('conflict', `The appliance itself lives on “${name}”.`, 'Use a dataset of another pool.');
}

function mustNotHoldTelemetry(known: Known, name: string, done: string): void {
  const found = known.datasets.find((dataset) => isTelemetry(dataset) && within(dataset.name, name));
  if (found === undefined) return;
  throw fail('conflict', `The measurements are on “${found.name}”, which therefore cannot be ${done}.`);
}

function orders(known: Known): Record<NonNullable<DatasetQuery['sort']>, (dataset: PlatformDataset) => number> {
  return {
    name: () => 0,
    used: ({ used }) => used,
    available: ({ available }) => available,
    ratio: ({ compressRatio }) => compressRatio,
    quota: ({ quota }) => (quota === null ? -1 : quota.used / quota.bytes),
    snapshots: ({ name }) => known.snapshotsOf.get(name)?.length ?? 0,
  };
}

/** One page of what is left after filtering. Equal ones stay in the order of their names. */
export function page<T>(all: readonly T[], query: { limit?: number; offset?: number }): { items: T[]; offset: number } {
  const offset = query.offset ?? 0;
  return { items: all.slice(offset, offset + (query.limit ?? PAGE)), offset };
}

export const pageFacts = ({ generation, ageSeconds, error }: Reading) => ({ generation, ageSeconds, error });

export class Datasets {
  readonly #parts: DatasetParts;
  readonly #followers: ((from: string, to: string | null) => void)[] = [];

  constructor(parts: DatasetParts) {
    this.#parts = parts;
  }

  /** What belongs to a dataset follows it; `to` null: it is destroyed. */
  onMoved(follow: (from: string, to: string | null) => void): void {
    this.#followers.push(follow);
  }

  #moved(from: string, to: string | null): void {
    for (const follow of this.#followers) follow(from, to);
  }

  async list(query: DatasetQuery) {
    const known = await this.#parts.tree.get();
    const search = query.search?.toLowerCase();
    let found = known.datasets.filter(
      ({ name, kind }) =>
        (search === undefined || name.toLowerCase().includes(search)) &&
        (query.under === undefined || within(name, query.under)) &&
        (query.kind === undefined || kind === query.kind),
    );
    const sort = query.sort ?? 'name';
    if (sort !== 'name') {
      const value = orders(known)[sort];
      const sign = query.order === 'up' ? 1 : -1;
      found = found.sort((a, b) => sign * (value(a) - value(b)));
    } else if (query.order === 'down') found = found.reverse();
    const { items, offset } = page(found, query);
    return {
      items: items.map((dataset) => describe(dataset, known, this.#parts.platform.systemPool)),
      total: found.length,
      offset,
      ...pageFacts(known),
    };
  }

  async get(name: string): Promise<DatasetDetail> {
    const { tree, platform } = this.#parts;
    const known = await tree.get();
    // One that was made elsewhere a moment ago is not in the tree yet.
    const found = known.byName.get(name) ?? mustBeKnown(await tree.now(), name);
    const properties = await platform.datasets.properties(name);
    const format = properties.find((property) => property.name === 'keyformat')?.value;
    const dataset = describe(found, tree.last(), platform.systemPool);
    return {
      ...dataset,
      ...sentenceOf(dataset),
      keyFormat: !dataset.encrypted ? null : format === 'passphrase' ? 'passphrase' : 'keyFile',
      properties: properties
        .filter((property) => PROPERTIES[property.name] !== undefined)
        .map((property) => describeProperty(property, dataset)),
    };
  }

  async create(wanted: NewDataset, caller: Caller): Promise<DatasetDetail> {
    const { platform, tree, audit } = this.#parts;
    const { name, kind, volumeBytes, sparse, properties = {}, encryption } = wanted;
    mustBeNamed(name, '/name', datasetNameProblem);
    mustBeChangeable(name, platform);
    const invalid = (path: string, message: string) =>
      fail('invalid_request', `The dataset cannot be made like that: ${message}.`, undefined, [{ path, message }]);
    const parent = parentOf(name);
    if (parent === null) throw invalid('/name', `it needs a name below the pool: ${name}/NAME`);
    if ((kind === 'volume') !== (volumeBytes !== undefined)) {
      throw invalid('/volumeBytes', 'a volume has a size, and only a volume');
    }
    if (sparse && kind !== 'volume') throw invalid('/sparse', 'only a volume can be sparse');
    if (encryption?.format === 'passphrase' && encryption.passphrase === undefined) {
      throw invalid('/encryption/passphrase', 'it needs a passphrase of 8 to 512 characters');
    }
    mustBeProperties(properties, kind, platform.datasets.facts, { path: '/properties', creating: true });
    const known = await tree.now();
    if (known.byName.has(name)) {
      throw fail('conflict', `A dataset “${name}” exists already.`, 'Choose another name.', [
        { path: '/name', message: 'is taken' },
      ]);
    }
    if (!known.byName.has(parent)) throw invalid('/name', `there is no dataset “${parent}” to make it below`);
    const taken = known.datasets.find(({ mountpoint }) => mountpoint !== null && mountpoint === properties.mountpoint);
    if (taken !== undefined) throw invalid('/properties/mountpoint', `“${taken.name}” is mounted there`);
    audit.record(caller, 'dataset.create', name, null, wanted);
    await this.#change(() => platform.datasets.create({ ...wanted, properties }));
    return this.get(name);
  }

  /** Whatever comes of it, the next reading is a new one. */
  async #change<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.#parts.tree.now().catch(() => {});
    }
  }

  async update(name: string, { set = {}, inherit = [] }: DatasetChange, caller: Caller): Promise<DatasetDetail> {
    const { platform, tree, audit } = this.#parts;
    mustBeChangeable(name, platform);
    const known = await tree.get();
    const found = mustBeKnown(known, name);
    mustBeProperties(set, found.kind, platform.datasets.facts, { path: '/set', creating: false });
    mustBeInheritable(inherit, '/inherit');
    const twice = inherit.find((one) => set[one] !== undefined);
    if (twice !== undefined || Object.keys(set).length + inherit.length === 0) {
      const message = twice === undefined ? 'Nothing is to be changed.' : `“${twice}” is both set and reset.`;
      throw fail('invalid_request', message);
    }
    if (set.mountpoint !== undefined || inherit.includes('mountpoint')) mustNotHoldTelemetry(known, name, 'moved');
    if (set.volsize !== undefined && Number(set.volsize) < (found.volumeBytes ?? 0)) {
      const message = `a volume only grows from here; it has ${size(found.volumeBytes ?? 0)}`;
      throw fail('invalid_request', `The size was refused: ${message}.`, undefined, [
        { path: '/set/volsize', message },
      ]);
    }
    const before = await platform.datasets.properties(name);
    const was = Object.fromEntries(
      before
        .filter((property) => set[property.name] !== undefined || inherit.includes(property.name))
        .map((property) => [property.name, property.source === 'local' ? property.value : property.source]),
    );
    const becomes = { ...set, ...Object.fromEntries(inherit.map((one) => [one, 'inherited'])) };
    audit.record(caller, 'dataset.update', name, was, becomes);
    await this.#change(async () => {
      if (Object.keys(set).length > 0) await platform.datasets.set(name, set);
      if (inherit.length > 0) await platform.datasets.inherit(name, inherit);
    });
    return this.get(name);
  }

  async rename(name: string, to: string, caller: Caller): Promise<DatasetDetail> {
    const { platform, tree, audit } = this.#parts;
    mustBeNamed(to, '/to', datasetNameProblem);
    mustBeChangeable(name, platform);
    mustBeChangeable(to, platform);
    const known = await tree.now();
    mustBeKnown(known, name);
    mustNotHoldTelemetry(known, name, 'renamed');
    const message =
      poolOf(to) !== poolOf(name) || parentOf(to) === null || parentOf(name) === null
        ? `it stays on its pool: the new name begins with “${poolOf(name)}/”`
        : within(to, name)
          ? 'it cannot be put below itself'
          : known.byName.has(to)
            ? `a dataset “${to}” exists already`
            : !known.byName.has(parentOf(to) ?? '')
              ? `there is no dataset “${parentOf(to)}”`
              : null;
    if (message !== null) {
      throw fail('invalid_request', `“${name}” was not renamed: ${message}.`, undefined, [{ path: '/to', message }]);
    }
    audit.record(caller, 'dataset.rename', name, name, to);
    await this.#change(() => platform.datasets.rename(name, to));
    this.#moved(name, to);
    return this.get(to);
  }

  async hindrances(name: string): Promise<Hindrances> {
    const known = await this.#parts.tree.now();
    const found = mustBeKnown(known, name);
    const below = known.datasets.filter((dataset) => within(dataset.name, name));
    const snapshots = below.flatMap((dataset) => known.snapshotsOf.get(dataset.name) ?? []);
    const telemetry = below.find(isTelemetry);
    return {
      datasets: below.length - 1,
      snapshots: snapshots.length,
      bytes: found.used,
      refused: isSystem(name, this.#parts.platform.systemPool)
        ? 'The appliance itself lives on it.'
        : parentOf(name) === null
          ? 'It is the pool itself, which is destroyed on the pool’s page.'
          : telemetry !== undefined
            ? `The measurements are on ${telemetry.name === name ? 'it' : `“${telemetry.name}”`}.`
            : null,
      items: snapshots.flatMap((snapshot) => [
        ...(snapshot.holds > 0 ? [{ path: snapshot.name, message: `has ${plural(snapshot.holds, 'hold')}` }] : []),
        ...snapshot.clones
          .filter((clone) => !within(clone, name))
          .map((clone) => ({ path: snapshot.name, message: `is the origin of the clone “${clone}”` })),
      ]),
    };
  }

  async destroy(name: string, { confirm, recursive }: { confirm: string; recursive: boolean }, caller: Caller) {
    const { platform, audit } = this.#parts;
    if (confirm !== name) {
      throw fail('invalid_request', `To destroy “${name}”, repeat its name.`, undefined, [
        { path: '/confirm', message: 'is not its name' },
      ]);
    }
    const { refused, items, datasets, snapshots, bytes } = await this.hindrances(name);
    if (refused !== null) throw fail('conflict', `“${name}” cannot be destroyed. ${refused}`);
    const [first] = items;
    if (first !== undefined) {
      throw fail(
        'conflict',
        `“${name}” was not destroyed: “${first.path}” ${first.message}${items.length > 1 ? `, and ${items.length - 1} more hinder it` : ''}.`,
        'Release or destroy what hinders it first.',
        items.slice(0, 100),
      );
    }
    if (!recursive && datasets + snapshots > 0) {
      throw fail(
        'conflict',
        `“${name}” was not destroyed: it has ${plural(datasets, 'dataset')} below it and ${plural(snapshots, 'snapshot')}.`,
        'Say that they are to be destroyed too.',
      );
    }
    audit.record(caller, 'dataset.destroy', name, { datasets, snapshots, bytes }, null);
    await this.#change(() => platform.datasets.destroy(name, recursive));
    this.#moved(name, null);
  }

  async mount(name: string, mounted: boolean, caller: Caller): Promise<DatasetDetail> {
    const { platform, tree, audit } = this.#parts;
    mustBeChangeable(name, platform);
    const known = await tree.get();
    mustBeKnown(known, name);
    if (!mounted) mustNotHoldTelemetry(known, name, 'unmounted');
    audit.record(caller, mounted ? 'dataset.mount' : 'dataset.unmount', name);
    await this.#change(() => platform.datasets.mount(name, mounted));
    return this.get(name);
  }

  async key(name: string, input: KeyChange, caller: Caller): Promise<DatasetDetail> {
    const { platform, tree, audit } = this.#parts;
    mustBeChangeable(name, platform);
    const known = await tree.now();
    const { encryptionRoot } = mustBeKnown(known, name);
    if (encryptionRoot !== name) {
      throw fail(
        'conflict',
        encryptionRoot === null
          ? `“${name}” is not encrypted; that is decided when a dataset is made.`
          : `“${name}” is encrypted with the key of “${encryptionRoot}”.`,
        encryptionRoot === null ? undefined : 'Do it there.',
      );
    }
    if (input.action === 'unload') mustNotHoldTelemetry(known, name, 'locked');
    audit.record(caller, `dataset.key.${input.action}`, name);
    await this.#change(() => platform.datasets.key({ name, ...input }));
    return this.get(name);
  }

  async estimate(name: string, bytes: number | undefined, caller: Caller): Promise<Job> {
    const { platform, tree, jobs, audit } = this.#parts;
    const found = mustBeKnown(await tree.get(), name);
    if (found.keyStatus === 'unavailable') {
      throw fail(
        'conflict',
        `The key of “${name}” is not loaded, so nothing of it can be read.`,
        'Load the key first.',
      );
    }
    if (jobs.isRunning('dataset.estimate')) {
      throw fail('conflict', 'Another estimate is under way.', 'Wait until it is done.');
    }
    jobs.allow(caller);
    audit.record(caller, 'dataset.estimate', name);
    const title = `Estimate how well “${name}” compresses`;
    return jobs.start({ kind: 'dataset.estimate', title, cancellable: false, caller }, async (job) => {
      job.step('Reading samples and compressing them with each level');
      return estimated(await platform.datasets.estimate(name, bytes ?? SAMPLE_BYTES));
    });
  }
}

function describeProperty({ name, value, source, from }: PlatformProperty, dataset: Dataset): Property {
  const known = PROPERTIES[name];
  return {
    name,
    value,
    source,
    from,
    settable: known !== undefined && !known.creation && !dataset.system,
    inheritable: known !== undefined && !known.own,
    explanation: known?.explanation ?? null,
  };
}

/** The answer before any detail. */
export function sentenceOf(dataset: Dataset): Pick<DatasetDetail, 'state' | 'sentence'> {
  const { quota, used, available, usedBySnapshots, compressRatio, compression } = dataset;
  if (dataset.keyStatus === 'unavailable') {
    return { state: 'warning', sentence: 'Locked. Its key is not loaded, so nothing of it can be read or written.' };
  }
  const snapshots =
    dataset.snapshots === 0
      ? 'There is no snapshot of it.'
      : `${plural(dataset.snapshots, 'snapshot')} ${dataset.snapshots === 1 ? 'holds' : 'hold'} ${size(usedBySnapshots)} that are not in it any more.`;
  if (quota !== null && quota.ratio >= NEARLY) {
    const sentence = `${quota.ratio >= 1 ? 'Full' : 'Nearly full'}. ${size(quota.used)} of its quota of ${size(quota.bytes)} are used (${percent(quota.ratio)}). ${snapshots}`;
    return { state: 'warning', sentence };
  }
  const compressed =
    compression === 'off'
      ? 'not compressed'
      : `compressed ${Math.round(compressRatio * 100) / 100} : 1 with ${compression === 'on' ? 'lz4' : compression}`;
  return { state: 'ok', sentence: `${size(used)} used, ${size(available)} left, ${compressed}. ${snapshots}` };
}

export function datasetRoutes(datasets: Datasets, platform: Platform): Handlers<typeof routes> {
  return {
    listDatasets: ({ query }) => datasets.list(query),
    createDataset: ({ body, caller }) => datasets.create(body, caller),
    getDataset: ({ params }) => datasets.get(params.name),
    updateDataset: ({ params, body, caller }) => datasets.update(params.name, body, caller),
    renameDataset: ({ params, body, caller }) => datasets.rename(params.name, body.to, caller),
    destroyDataset: async ({ params, body, caller }) => {
      await datasets.destroy(params.name, body, caller);
      return undefined;
    },
    previewDestroyDataset: ({ params }) => datasets.hindrances(params.name),
    mountDataset: ({ params, caller }) => datasets.mount(params.name, true, caller),
    unmountDataset: ({ params, caller }) => datasets.mount(params.name, false, caller),
    loadDatasetKey: ({ params, body, caller }) => datasets.key(params.name, { action: 'load', ...body }, caller),
    unloadDatasetKey: ({ params, caller }) => datasets.key(params.name, { action: 'unload' }, caller),
    changeDatasetKey: ({ params, body, caller }) => datasets.key(params.name, { action: 'change', ...body }, caller),
    listCompressions: () => ({ items: compressionChoices(platform.datasets.facts.compressions) }),
    estimateCompression: ({ params, body, caller }) => datasets.estimate(params.name, body.bytes, caller),
  };
}
