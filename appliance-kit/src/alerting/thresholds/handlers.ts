// Threshold rules: what there are, changing them, and trying one out.

import type { Audit } from '../../access/audit/index.ts';
import type { RecordingRules } from '../../analytics/recording-rules/index.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Actions } from '../actions/index.ts';
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
  actions: Pick<Actions, 'mustBePossible'>;
  recordingRules: Pick<RecordingRules, 'evaluated'>;
  intervalMs: number;
}): Handlers<typeof routes> {
  const { thresholds, alerts, db, audit, actions, recordingRules, intervalMs } = parts;
  const raisedAt = (id: string) => alerts.raisedAt(id);
  return {
    listThresholds: () => ({ items: thresholds.list() }),
    createThreshold: ({ body, caller }) => {
      actions.mustBePossible(caller, body.actions ?? []);
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
        actions.mustBePossible(caller, body.actions ?? []);
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
