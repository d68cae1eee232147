// Reading the audit log, filtered and as a file, and how much of it is kept.
import { Places } from '../../http/gate/places.ts';
import { sendAll } from '../../http/gate/send.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from './audit.ts';
import { exported } from './export.ts';
import { newestFirst, pages } from './find.ts';
import type { Retention } from './retention.ts';
import type { routes } from './routes.ts';

export function auditRoutes(parts: { db: Database; audit: Audit; retention: Retention }): Handlers<typeof routes> {
  const { db, audit, retention } = parts;
  const places = new Places(4, 2, 'exports of the audit log are under way');
  return {
    listAudit: async ({ query: { limit = 100, before, ...filter } }) => ({
      items: await newestFirst(db, filter, limit, before),
    }),

    exportAudit: ({ query: { format, ...filter }, caller, reply }) =>
      places.during(caller, async () => {
        // What is recorded of this export is not in it.
        const range = { before: audit.lastGiven() + 1, order: 'oldest first' } as const;
        audit.record(caller, 'audit.export', format, null, Object.keys(filter).length === 0 ? null : filter);
        reply.hijack();
        reply.raw.writeHead(200, {
          'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
          'content-disposition': `attachment; filename="audit-log.${format}"`,
          'cache-control': 'no-store',
        });
        // The client going away ends it.
        await sendAll(exported(format, pages(db, filter, range)), reply.raw);
        return undefined;
      }),

    getAuditRetention: () => retention.get(),
    setAuditRetention: ({ body, caller }) => retention.set(body, caller),
  };
}
