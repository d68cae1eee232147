// The settings document: everything that an administrator can set, from the parts that the domains declare.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { SettingsPart } from '../../domain/settings-part.ts';
import { Age } from './age.ts';
import { alertClasses, settingsIncomplete, settingsTakenBack } from './alerts.ts';
import { Applier } from './applying.ts';
import { settingsRoutes } from './handlers.ts';
import { History } from './history.ts';
import { migrations } from './migrations.ts';
import { inOrder } from './order.ts';
import { Planner } from './plan.ts';
import { routes } from './routes.ts';
import { Box } from './sealed-box.ts';

const LOOK_EVERY_MS = 60_000;
const RECOVER_EVERY_MS = 5_000;

export const settingsDomain = domain({
  name: 'system/settings',
  routes,
  topics: ['settings'],
  alertClasses,
  migrations,
  create: (kernel: Kernel & AuditDomain & AlertsDomain) => {
    const { db, clock, log, config, seal, changes, audit, alerts, conditions, hostName } = kernel;
    let ordered: readonly SettingsPart[] | undefined;
    // Domains after this one may have parts, too.
    const parts = () => (ordered ??= inOrder(kernel.settingsParts()));
    let planner: Planner | undefined;
    const box = new Box(seal);
    const history = new History({ db, clock, log, changes, box, all: parts });
    const applier = new Applier({
      ...{ db, clock, log, audit, box, history, all: parts },
      tookBack: ({ name }, at, names) =>
        void alerts.raise({ kind: settingsTakenBack, args: { user: name, at, parts: names } }),
    });
    const covering = (route: string) => parts().filter(({ covers }) => covers.includes(route));
    return {
      handlers: settingsRoutes({
        ...{ parts, planner: () => (planner ??= new Planner(parts())), applier, history, audit, hostName },
        ...{ age: new Age(config.cistern), version: config.version },
      }),
      mayWrite: async (route) => {
        const changing = covering(route);
        if (changing.length === 0) return;
        applier.mustBeFree();
        // Of the first change of all there is something before, too.
        await history.begin(changing);
      },
      wrote: async (route, caller) => {
        const changed = covering(route);
        if (changed.length > 0) await history.note(changed, caller);
      },
      periodic: [
        {
          everyMs: RECOVER_EVERY_MS,
          run: async () => {
            await applier.recover();
            const stuck = applier.stuck();
            conditions.report(settingsIncomplete, stuck === null ? [] : [{ args: stuck }]);
          },
        },
        { everyMs: LOOK_EVERY_MS, run: () => history.look() },
      ],
    };
  },
});
