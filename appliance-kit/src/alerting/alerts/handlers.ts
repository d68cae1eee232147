// Alerts and what is decided about them: acknowledging, silences, where each class goes, the log as a file.

import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { Places } from '../../http/gate/places.ts';
import { sendAll } from '../../http/gate/send.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Silences } from '../silences/index.ts';
import type { Alerts } from './alerts.ts';
import { exported } from './export.ts';
import type { routes } from './routes.ts';
import type { Routing } from './routing.ts';
import { Times } from './times.ts';

export function alertRoutes(parts: {
  alerts: Alerts;
  routing: Routing;
  silences: Silences;
  clock: Clock;
  db: Database;
  audit: Audit;
}): Handlers<typeof routes> {
  const { alerts, routing, silences, clock, db, audit } = parts;
  const { groups } = alerts;
  const times = new Times(db, clock);
  const places = new Places(4, 2, 'exports of alerts are under way');
  return {
    listAlerts: ({ query }) => ({ items: alerts.list(query) }),
    exportAlerts: ({ query, caller, reply }) =>
      places.during(caller, async () => {
        const { format, ...filter } = query;
        const pages = alerts.pages({ state: 'all', ...filter });
        const first = pages.next();
        reply.hijack();
        reply.raw.writeHead(200, {
          'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
          'content-disposition': `attachment; filename="alerts.${format}"`,
          'cache-control': 'no-store',
        });
        // The client going away ends it.
        await sendAll(exported(format, first, pages), reply.raw);
        return undefined;
      }),
    getAlert: ({ params }) => alerts.get(params.id),
    acknowledgeAlert: ({ params, body, caller }) =>
      db.transaction(() => {
        const alert = alerts.acknowledge(params.id, caller.name, body.note);
        audit.record(caller, 'alert.acknowledge', alert.title, null, body);
        return alert;
      }),
    withdrawAcknowledgement: ({ params, caller }) =>
      db.transaction(() => {
        const alert = alerts.withdraw(params.id, caller.name);
        audit.record(caller, 'alert.withdraw-acknowledgement', alert.title);
        return alert;
      }),
    getAlertSummary: () => groups.summary(),
    listAlertTimes: () => ({ items: times.list() }),
    listAlertGroups: ({ query }) => ({ items: groups.list(query) }),
    getAlertGroup: ({ params }) => groups.get(params.id),
    listAlertsOfGroup: ({ params, query }) => groups.members(params.id, query),
    acknowledgeAlertGroup: ({ params, body, caller }) =>
      db.transaction(() => {
        const group = groups.acknowledge(params.id, caller.name, body.note);
        audit.record(caller, 'alert-group.acknowledge', group.title, null, body);
        return group;
      }),
    withdrawGroupAcknowledgement: ({ params, caller }) =>
      db.transaction(() => {
        const group = groups.withdraw(params.id, caller.name);
        audit.record(caller, 'alert-group.withdraw-acknowledgement', group.title);
        return group;
      }),
    silenceAlertGroup: ({ params, body, caller }) =>
      silences.create(
        { ...body, ...groups.silenceOf(params.id), start: Math.floor(clock.now() / 1000), severities: [] },
        caller,
      ),
    listAlertClasses: () => ({ items: routing.list() }),
    getAlertClass: ({ params }) => routing.get(params.name),
    routeAlertClass: ({ params, body, caller }) => routing.set(params.name, body, caller),
  };
}
