// Inputs: the ways in for samples.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { inputRoutes } from './handlers.ts';
import { routes } from './routes.ts';
import { settings as declared, inputSettings } from './settings.ts';
import { InputRunner, revisionOf } from './storaged.ts';

export const inputsDomain = domain({
  name: 'analytics/inputs',
  routes,
  topics: ['inputs'],
  settings: declared,
  create: ({ db, config, log, settings, changes, audit }: Kernel & AuditDomain) => {
    const runner = new InputRunner(new Peer('storaged', join(config.run, 'storaged', 'http.sock')));
    return {
      handlers: inputRoutes({ db, settings, runner, audit, changes }),
      watch: [
        {
          // A store that was put back, or came with a pool of another machine, has other settings than this appliance.
          look: async () => {
            const { revision } = await runner.look();
            return () =>
              runner.inTurn(async () => {
                const wanted = settings.get(inputSettings) ?? {};
                if (revision === revisionOf(wanted) || revision !== (await runner.look()).revision) return;
                await runner.set(wanted).catch((error: Error) =>
                  log.warn('the settings of inputs could not be sent to storaged; it is tried again', {
                    error: error.message,
                  }),
                );
              });
          },
        },
      ],
    };
  },
});
