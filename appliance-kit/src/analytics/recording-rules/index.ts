// Recording rules: results of expressions that are stored as metrics.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { alertClasses } from './alerts.ts';
import { recordingRuleRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { RecordingRules } from './recording-rules.ts';
import { routes } from './routes.ts';
import { recordingRulesPart } from './settings-part.ts';
import { StoredRules } from './store.ts';
import { recordingRuleWatch } from './watch.ts';

export type { RecordingRules } from './recording-rules.ts';
export type { EvaluatedRule as EvaluatedRecordingRule } from './store.ts';

export interface RecordingRulesDomain {
  readonly recordingRules: RecordingRules;
}

export const recordingRulesDomain = domain({
  name: 'analytics/recording-rules',
  routes,
  topics: ['recording-rules'],
  alertClasses,
  migrations,
  create: ({ config, db, clock, log, changes, audit, conditions }: Kernel & AuditDomain & AlertsDomain) => {
    const stored = new StoredRules(new Peer('storaged', join(config.run, 'storaged', 'http.sock')));
    const recordingRules = new RecordingRules({ db, clock, log, changes, audit, stored });
    return {
      provides: { recordingRules } satisfies RecordingRulesDomain,
      handlers: recordingRuleRoutes(recordingRules),
      settingsParts: [recordingRulesPart(recordingRules)],
      watch: [recordingRuleWatch({ recordingRules, conditions })],
    };
  },
});
