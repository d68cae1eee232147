// Threshold rules: what there are, changing them, and trying one out.

import type { Audit } from '../../access/audit/index.ts';
import type { RecordingRules } from '../../analytics/recording-rules/index.ts';
import type { Worksheets } from '../../analytics/worksheets/index.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Alerts } from '../alerts/index.ts';
import { prometheusAlerts, prometheusRules } from './prometheus.ts';
import type { routes } from './routes.ts';
import type { Threshold, ThresholdInput } from './schema.ts';
import type { Thresholds } from './thresholds.ts';

const rule = ({ id: _, state: __, ...input }: Threshold): ThresholdInput => input;

export function thresholdRoutes(parts: {
  thresholds: Thresholds;
  alerts: Pick<Alerts, 'raisedAt'>;
  db: Database;
  audit: Audit;
  worksheets: Worksheets;
  recordingRules: Pick<RecordingRules, 'evaluated'>;
  intervalMs: number;
}): Handlers<typeof routes> {
  const { thresholds, alerts, db, audit, worksheets, recordingRules, intervalMs } = parts;
  const raisedAt = (id: string) => alerts.raisedAt(id);
  /** A rule switches worksheets for the appliance: whoever makes it may only name those they can see. */
  const mustSee = (caller: Caller, actions: ThresholdInput['actions']) => {
    actions?.forEach(({ kind, target }, at) => {
      const path = `/actions/${at}/target`;
      const wrong = (message: string) =>
        fail('invalid_request', `The rule was refused: ${path} ${message}.`, undefined, [{ path, message }]);
      if (kind !== 'bundle' && target === '') throw wrong('is missing');
      if (!kind.endsWith('-worksheet')) return;
      try {
        worksheets.get(caller, target);
      } catch {
        throw wrong('is no worksheet that you can see');
      }
    });
  };
  return {
    listThresholds: () => ({ items: thresholds.list() }),
    createThreshold: ({ body, caller }) => {
      mustSee(caller, body.actions);
      const made = db.transaction(() => {
        const threshold = thresholds.create(body);
        audit.record(caller, 'threshold.create', body.name, null, body);
        return threshold;
      });
      // The next round would do; but whoever made the rule is looking at it now.
      void thresholds.evaluate();
      return made;
    },
    getThreshold: ({ params }) => thresholds.get(params.id),
    updateThreshold: ({ params, body, caller }) =>
      db.transaction(() => {
        mustSee(caller, body.actions);
        const before = rule(thresholds.get(params.id));
        const after = thresholds.update(params.id, body);
        audit.record(caller, 'threshold.update', body.name, before, body);
        return after;
      }),
    deleteThreshold: ({ params, caller }) =>
      db.transaction(() => {
        const gone = thresholds.remove(params.id);
        audit.record(caller, 'threshold.delete', gone.name, gone, null);
        return undefined;
      }),
    forgetSeries: ({ params, body, caller }) =>
      db.transaction(() => {
        const after = thresholds.forget(params.id, body.labels);
        audit.record(caller, 'threshold.forget-series', after.name, null, body.labels);
        return after;
      }),
    previewThreshold: ({ body }) => thresholds.preview(body),
    prometheusRules: async ({ query }) => {
      const recording = (await recordingRules.evaluated()) ?? [];
      return prometheusRules(thresholds.evaluated(), recording, query, intervalMs, raisedAt);
    },
    prometheusAlerts: () => prometheusAlerts(thresholds.evaluated(), raisedAt),
  };
}
