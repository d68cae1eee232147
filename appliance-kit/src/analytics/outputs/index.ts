// Outputs: where samples are sent on.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { SealedFields } from '../../state/sealed-fields.ts';
import { alertClasses } from './alerts.ts';
import { outputRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { Outputs, SECRETS } from './outputs.ts';
import { routes } from './routes.ts';
import { outputsPart } from './settings-part.ts';
import { OutputRunner } from './storaged.ts';
import { outputWatch } from './watch.ts';

export const outputsDomain = domain({
  name: 'analytics/outputs',
  routes,
  topics: ['outputs'],
  alertClasses,
  migrations,
  create: ({ db, clock, seal, config, log, changes, audit, conditions }: Kernel & AuditDomain & AlertsDomain) => {
    const sealed = new SealedFields({ seal, log, kind: 'output', table: 'outputs', secrets: SECRETS });
    sealed.sealStored(db);
    const outputs = new Outputs(db, clock, sealed);
    const storaged = new Peer('storaged', join(config.run, 'storaged', 'http.sock'));
    const runner = new OutputRunner(storaged, () => outputs.list(), log);
    const routed = { db, outputs, runner, audit, changes };
    const handlers = outputRoutes(routed);
    return {
      handlers,
      settingsParts: [outputsPart({ ...routed, handlers })],
      watch: [outputWatch({ outputs, runner, conditions, clock, changes })],
    };
  },
});
