// Rules that fail, and results that are refused. A store that does not answer is the services' business: what was reported
// before stands.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Watch } from '../../poller/poller.ts';
import { recordingFailing, recordingRefused } from './alerts.ts';
import type { RecordingRules } from './recording-rules.ts';

export function recordingRuleWatch(parts: {
  recordingRules: Pick<RecordingRules, 'reconcile' | 'refused'>;
  conditions: Pick<Conditions, 'report'>;
}): Watch {
  const { recordingRules, conditions } = parts;
  return {
    look: async () => {
      const rules = (await recordingRules.reconcile()).filter(({ enabled }) => enabled);
      return () => {
        const failing = rules
          .filter(({ state }) => state.error !== '')
          .map(({ id, name, state }) => ({ ruleId: id, ruleName: name, error: state.error }));
        conditions.report(
          recordingFailing,
          [...failing, ...recordingRules.refused()].map((args) => ({ args })),
        );
        conditions.report(
          recordingRefused,
          rules.flatMap(({ id, name, state: { refused } }) =>
            refused === null
              ? []
              : [{ args: { ruleId: id, ruleName: name, samples: refused.samples, detail: refused.detail } }],
          ),
        );
      };
    },
  };
}
