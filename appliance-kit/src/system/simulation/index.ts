// Failures on demand, on the simulated machine only.
import { fail } from '../../base/problems/problem.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { DatasetsDomain } from '../../storage/datasets/index.ts';
import { routes } from './routes.ts';

export const simulationDomain = domain({
  name: 'system/simulation',
  routes,
  create: ({ platform, poller, tree, datasetConditions }: Kernel & DatasetsDomain) => ({
    handlers: {
      simulate: async ({ params, body }) => {
        if (platform.simulate === undefined) throw fail('not_found', 'This is not a simulation.');
        await platform.simulate(params.name, body);
        // Seen at once, by the pages and by the alerts.
        await poller.look();
        await tree.now();
        await datasetConditions.look();
        return undefined;
      },
    },
  }),
});
