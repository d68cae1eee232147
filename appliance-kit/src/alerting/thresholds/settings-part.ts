// The threshold rules as a part of the settings document, by their ids: names need not differ, and alerts say which rule by its id.
import type { Audit } from '../../access/audit/index.ts';
import type { Worksheets } from '../../analytics/worksheets/index.ts';
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import { toDestinations, toWorksheets } from '../alerts/index.ts';
import type { routes } from './routes.ts';
import { ThresholdInput } from './schema.ts';
import type { Thresholds } from './thresholds.ts';

export function thresholdsPart(parts: {
  db: Database;
  audit: Audit;
  thresholds: Thresholds;
  worksheets: Worksheets;
  handlers: Handlers<typeof routes>;
}) {
  const { db, audit, thresholds, worksheets, handlers } = parts;
  return manyPart({
    ...{ name: 'thresholds', title: 'Threshold rules', version: 1, schema: ThresholdInput },
    covers: ['watchHosts', 'createThreshold', 'updateThreshold', 'deleteThreshold'],
    after: ['destinations', 'worksheets'],
    normalise: (input) => thresholds.byItself(input),
    refersTo: ({ destinations, escalation, actions }) => [
      ...toDestinations(destinations, '/destinations'),
      ...toDestinations(escalation?.destinations ?? [], '/escalation/destinations'),
      ...toWorksheets(actions, (id) => worksheets.isReady(id)),
    ],
    read: () => Object.fromEntries([...thresholds.evaluated()].map(({ id, input }) => [id, input])),
    create: (id, input, by) =>
      db.transaction(() => {
        thresholds.create(input, id);
        audit.record(by, 'threshold.create', input.name, null, input);
      }),
    update: (id, body, caller) => asked(handlers.updateThreshold, { params: { id }, body, caller }),
    remove: (id, caller) => asked(handlers.deleteThreshold, { params: { id }, caller }),
  });
}
