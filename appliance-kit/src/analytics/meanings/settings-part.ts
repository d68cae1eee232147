// What people said of metrics, as a part of the settings document, by the metrics' names.
import { canonical } from '../../base/quantity.ts';
import { asked, manyPart } from '../../domain/settings-part.ts';
import { appliance } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { routes } from './routes.ts';
import { MetricMeaningInput } from './schema.ts';

export const meaningsPart = (handlers: Handlers<typeof routes>) => {
  const set = (name: string, body: MetricMeaningInput, caller: typeof appliance) =>
    asked(handlers.setMetricMeaning, { params: { name }, body, caller });
  return manyPart({
    ...{ name: 'metric-meanings', title: 'What metrics are measured in', version: 1, schema: MetricMeaningInput },
    covers: ['setMetricMeaning', 'deleteMetricMeaning'],
    // The store names a unit its own way.
    normalise: (meaning) => ({ ...meaning, unit: canonical(meaning.unit) }),
    read: async () => {
      const { items } = await asked(handlers.listMetricMeanings, { caller: appliance });
      return Object.fromEntries(
        items.map(({ name, unit, description, limit }) => [name, { unit, description, limit }]),
      );
    },
    create: set,
    update: set,
    remove: (name, caller) => asked(handlers.deleteMetricMeaning, { params: { name }, caller }),
  });
};
