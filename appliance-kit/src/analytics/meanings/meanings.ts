// What people say of metrics. storaged holds it, beside the blocks, so that it moves with the pool and every client of
// Prometheus sees it; akd says who may change it, and writes down who did.
import type { Audit } from '../../access/audit/index.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Peer } from '../../peers/peer.ts';
import type { routes } from './routes.ts';
import type { MetricMeaning } from './schema.ts';

const PATH = '/admin/meanings';
const DEADLINE_MS = 10_000;

interface Stored {
  readonly metrics: readonly { name: string; unit?: string; description?: string; limit?: number }[];
}

const shown = ({ name, unit = '', description = '', limit = null }: Partial<MetricMeaning> & { name: string }) => ({
  ...{ name, unit, description, limit },
});

export interface MeaningParts {
  readonly storaged: Peer;
  readonly audit: Audit;
  readonly changes: Changes;
}

export function meaningRoutes({ storaged, audit, changes }: MeaningParts): Handlers<typeof routes> {
  const ask = async (json?: Stored) => {
    const method = json === undefined ? 'GET' : 'PUT';
    const { metrics } = (await storaged.call({ method, path: PATH, json, deadlineMs: DEADLINE_MS })) as Stored;
    return metrics.map((one) => shown(one));
  };
  const of = (all: readonly ReturnType<typeof shown>[], name: string) =>
    all.find((one) => one.name === name) ?? shown({ name });
  return {
    listMetricMeanings: async () => ({ items: await ask() }),
    getMetricMeaning: async ({ params: { name } }) => of(await ask(), name),
    setMetricMeaning: async ({ params: { name }, body, caller }) => {
      const { unit, description, limit } = body;
      const before = of(await ask(), name);
      const after = of(await ask({ metrics: [{ name, unit, description, ...(limit !== null && { limit }) }] }), name);
      audit.record(caller, 'metric-meaning.set', name, before, after);
      changes.publish('metric-meanings', name);
      return after;
    },
    deleteMetricMeaning: async ({ params: { name }, caller }) => {
      const before = of(await ask(), name);
      await ask({ metrics: [{ name }] });
      audit.record(caller, 'metric-meaning.delete', name, before, null);
      changes.publish('metric-meanings', name);
    },
  };
}
