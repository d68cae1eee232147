// Statistics of the machine itself. tracerd measures them; here is who may ask it for what, and the record of it.

import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Statistic } from '../../peers/statistics.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { MarksSource } from './marks.ts';
import type { routes } from './routes.ts';
import type { MeasuredDataset } from './schema.ts';

/** The catalogue changes only when tracerd is another one. */
const CATALOGUE_MS = 30_000;
const STACK_SECONDS = 60;

export interface AnalyticsParts {
  readonly tracerd: Tracerd;
  readonly storaged: Storaged;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly clock: Clock;
}

export class Analytics {
  readonly #parts: AnalyticsParts;
  #catalogue: { at: number; items: readonly Statistic[] } | null = null;

  constructor(parts: AnalyticsParts) {
    this.#parts = parts;
  }

  async #costs(name: string): Promise<Statistic['cost'] | undefined> {
    const now = this.#parts.clock.now();
    if (this.#catalogue === null || now - this.#catalogue.at > CATALOGUE_MS) {
      this.#catalogue = { at: now, items: await this.#parts.tracerd.statistics() };
    }
    const statistic = name.split('[', 1)[0];
    return this.#catalogue.items.find((one) => one.name === statistic)?.cost;
  }

  /**
   * Throws unless the caller may have it measured: an operator anything, a viewer what costs nothing or is being recorded
   * anyway. Without it nothing is lost: tracerd then reports what there is.
   */
  async mayWatch(caller: Caller, name: string): Promise<void> {
    if (atLeast(caller.role, 'operator')) return;
    const cost = await this.#costs(name);
    if (cost === undefined || cost === 'none') return;
    const recorded = (await this.#parts.tracerd.datasets()).some((one) => one.recorded && one.name === name);
    if (recorded) return;
    throw fail(
      'forbidden',
      `${caller.name} is ${caller.role}; measuring ${name} costs something, and it is not being recorded.`,
      'Ask an operator to record it; then everyone can view it.',
    );
  }

  /** What is being measured, and what there is stored of each. */
  async datasets(): Promise<MeasuredDataset[]> {
    const { tracerd, storaged } = this.#parts;
    // Without storaged there is still something to say.
    const [datasets, sizes] = await Promise.all([tracerd.datasets(), storaged.sizes('dataset').catch(() => null)]);
    const byName = new Map(sizes?.map((size) => [size.value, size]));
    return datasets.map((dataset) => {
      if (sizes === null) return { ...dataset, size: null };
      const { samples = 0, diskBytes = 0, memoryBytes = 0 } = byName.get(dataset.name) ?? {};
      const measured = dataset.state === 'recording' ? dataset.seriesNow : 0;
      const bytesPerHour = samples === 0 ? null : (diskBytes / samples) * 3600 * measured;
      return { ...dataset, size: { diskBytes, memoryBytes, bytesPerHour } };
    });
  }

  /** A change that is written down: who had what measured, and when it was given up. */
  async change<T>(caller: Caller, action: string, name: string, work: () => Promise<T>): Promise<T> {
    const result = await work();
    this.#parts.audit.record(caller, `statistic.${action}`, name);
    this.#parts.changes.publish('analytics', name);
    return result;
  }
}

export function analyticsRoutes(parts: {
  analytics: Analytics;
  tracerd: Tracerd;
  marks: MarksSource;
}): Handlers<typeof routes> {
  const { analytics, tracerd, marks } = parts;
  return {
    listStatistics: async () => ({ items: await tracerd.statistics() }),
    listStatisticDatasets: async () => ({ items: await analytics.datasets() }),
    getStatisticDataset: ({ params }) => tracerd.dataset(params.name),
    watchStatistic: async ({ params: { name }, caller }) => {
      await analytics.mayWatch(caller, name);
      return tracerd.watch(name);
    },
    recordStatistic: ({ params: { name }, caller }) =>
      analytics.change(caller, 'record', name, () => tracerd.record(name, true)),
    stopRecordingStatistic: ({ params: { name }, caller }) =>
      analytics.change(caller, 'stop-recording', name, () => tracerd.record(name, false)),
    suspendStatistic: ({ params: { name }, caller }) =>
      analytics.change(caller, 'suspend', name, () => tracerd.suspend(name)),
    resumeStatistic: ({ params: { name }, caller }) =>
      analytics.change(caller, 'resume', name, () => tracerd.resume(name)),
    destroyStatistic: ({ params: { name }, caller }) =>
      analytics.change(caller, 'destroy', name, async () => {
        await tracerd.destroy(name);
        return undefined;
      }),
    getStacks: async ({ params: { name }, query, caller }) => {
      await analytics.mayWatch(caller, name);
      return tracerd.stacks(name, query.seconds ?? STACK_SECONDS);
    },
    listMarks: ({ query }) => marks.between(query.from * 1000, query.to * 1000),
  };
}
