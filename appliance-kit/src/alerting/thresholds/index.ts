// Threshold rules, and their evaluation.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { RecordingRulesDomain } from '../../analytics/recording-rules/index.ts';
import type { WorksheetsDomain } from '../../analytics/worksheets/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { ActionsDomain } from '../actions/index.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import type { DestinationsDomain } from '../destinations/index.ts';
import { alertClasses } from './alerts.ts';
import { EvaluationLoop } from './evaluation-loop.ts';
import { thresholdRoutes } from './handlers.ts';
import { Hints } from './hints.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { thresholdsPart } from './settings-part.ts';
import { Thresholds } from './thresholds.ts';
import { thresholdWatch } from './watch.ts';

export type { RuleChart } from './chart.ts';
export { selectorOf, selectorsOf } from './selectors.ts';
export type { Thresholds } from './thresholds.ts';

export interface ThresholdsDomain {
  readonly thresholds: Thresholds;
}

export const thresholdsDomain = domain({
  name: 'alerting/thresholds',
  routes,
  topics: ['thresholds'],
  alertClasses,
  migrations,
  create: (
    parts: Kernel &
      AuditDomain &
      AlertsDomain &
      DestinationsDomain &
      WorksheetsDomain &
      RecordingRulesDomain &
      ActionsDomain,
  ) => {
    const { db, clock, config, log, changes, storaged } = parts;
    const { audit, alerts, conditions, routing, senders, worksheets, recordingRules, actions } = parts;
    const thresholds: Thresholds = new Thresholds({
      ...{ db, clock, changes, alerts, storaged, log, intervalMs: config.evaluateMs },
      actions: () => actions,
      audience: routing,
      rulesChanged: () => hints.changed(),
    });
    const hints: Hints = new Hints({ rules: thresholds, storaged, log });
    alerts.groups.ofPopulation((ruleId) => {
      const rule = [...thresholds.evaluated()].find(({ id }) => id === ruleId);
      // Of one that was only read back after a restart the series that are well are not known yet.
      return rule === undefined || rule.evaluatedAt === null
        ? null
        : [...rule.series.values()].map(({ labels }) => labels);
    });
    senders.drawWith((message) => thresholds.lastHour(message.alert));
    const loop = new EvaluationLoop(() => thresholds.evaluate(), config.evaluateMs, log);
    const intervalMs = config.evaluateMs;
    const handlers = thresholdRoutes({ thresholds, alerts, db, audit, actions, recordingRules, intervalMs });
    return {
      provides: { thresholds } satisfies ThresholdsDomain,
      handlers,
      settingsParts: [thresholdsPart({ db, audit, thresholds, worksheets, handlers })],
      watch: [thresholdWatch({ thresholds, conditions })],
      start: () => {
        loop.start();
        hints.start();
      },
      stop: async () => {
        loop.stop();
        hints.stop();
        await thresholds.stop();
      },
    };
  },
});
