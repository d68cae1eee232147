// Gets every message to every destination it is meant for.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { MachineDomain } from '../../system/machine/index.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import type { DestinationsDomain } from '../destinations/index.ts';
import { alertClasses, deliveryRefused } from './alerts.ts';
import { Digest, digestPart, digestRoutes, digestSetting } from './digest.ts';
import { Journal } from './journal.ts';
import { migrations } from './migrations.ts';
import { Outbox } from './outbox.ts';
import { routes } from './routes.ts';
import { deliveryWatch } from './watch.ts';

export interface OutboxDomain {
  readonly outbox: Outbox;
  readonly journal: Journal;
}

export const outboxDomain = domain({
  name: 'alerting/outbox',
  routes,
  alertClasses,
  settings: [digestSetting],
  migrations,
  create: (parts: Kernel & AuditDomain & AlertsDomain & DestinationsDomain & MachineDomain) => {
    const { db, clock, config, log, settings, changes, timetable, deliveryTiming } = parts;
    const { audit, alerts, conditions, destinations, deliveries, senders, machine } = parts;
    const journal = new Journal(config.cistern, join(config.state, 'outbox'), log);
    const digest = new Digest(settings, clock);
    const outbox = new Outbox({
      ...{ digest, about: alerts.groups, db, clock, journal, destinations, changes, log, ...deliveryTiming },
      send: (destination, message) => senders.send(destination, message),
      refused: ({ id, name }, { eventId, alert: { class: of, title } }, error) => {
        // Nor is an alert raised when a message about a refusal was refused.
        if (of === deliveryRefused.class) return;
        const args = { destinationId: id, destinationName: name, eventId, title, error };
        alerts.raise({ kind: deliveryRefused, args });
      },
    });
    alerts.onWritten(() => outbox.written());
    deliveries.doneBy(outbox);
    machine.onLinkUp(() => outbox.tryAgain());
    timetable.add(() => digest.entries(outbox));
    const handlers = digestRoutes({ digest, outbox, audit, changes });
    return {
      provides: { outbox, journal } satisfies OutboxDomain,
      handlers,
      settingsParts: [digestPart(digest, handlers)],
      watch: [deliveryWatch({ destinations, machine, conditions })],
      start: () => outbox.start(),
      stop: async () => {
        await outbox.stop();
        await journal.close();
      },
    };
  },
});
