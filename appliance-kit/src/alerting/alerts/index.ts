// Alerts: raising, acknowledging and clearing them, and who is sent which class.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { SilencesDomain } from '../silences/index.ts';
import { Alerts } from './alerts.ts';
import { Conditions } from './conditions.ts';
import { alertRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Routing } from './routing.ts';
import { alertClassesPart } from './settings-part.ts';

export type { Alerts } from './alerts.ts';
export type { Conditions } from './conditions.ts';
export type { Groups } from './groups.ts';
export { AlertGroup } from './groups-schema.ts';
export { type AlertFacts, type Message, type MessageGroup, pageOf } from './message.ts';
export { Neighbours } from './neighbours.ts';
export { toDestinations, toWorksheets } from './settings-part.ts';
export { sharedWords } from './shared.ts';

export interface AlertsDomain {
  readonly alerts: Alerts;
  readonly conditions: Conditions;
  readonly routing: Routing;
}

export const alertsDomain = domain({
  name: 'alerting/alerts',
  routes,
  topics: ['alerts', 'alert-classes'],
  migrations,
  create: ({ db, clock, changes, alertClasses, hostName, audit, silences }: Kernel & AuditDomain & SilencesDomain) => {
    const routing = new Routing({ db, audit, changes, classes: alertClasses });
    const alerts = new Alerts({ db, clock, changes, hostName, routing, silences, classes: alertClasses });
    silences.actOn({ changed: () => alerts.release(), activeSubjects: () => alerts.activeSubjects() });
    return {
      provides: { alerts, routing, conditions: new Conditions(alerts, clock) } satisfies AlertsDomain,
      settingsParts: [alertClassesPart(routing)],
      handlers: alertRoutes({ alerts, routing, silences, clock, db, audit }),
      periodic: [{ everyMs: 1_000, run: () => alerts.tick() }],
    };
  },
});
