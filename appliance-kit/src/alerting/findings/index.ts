// Findings: what is known around an alert, for its page.

import type { StatisticsDomain } from '../../analytics/statistics/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { LogsDomain } from '../../system/logs/index.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import type { ThresholdsDomain } from '../thresholds/index.ts';
import { Findings } from './findings.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';

export interface FindingsDomain {
  readonly findings: Findings;
}

export const findingsDomain = domain({
  name: 'alerting/findings',
  routes,
  migrations,
  create: (parts: Kernel & AlertsDomain & StatisticsDomain & ThresholdsDomain & LogsDomain) => {
    const findings = new Findings(parts);
    parts.alerts.onRaised((alert) => findings.raised(alert));
    return {
      provides: { findings } satisfies FindingsDomain,
      handlers: {
        getAlertFindings: ({ params, caller }) =>
          findings.get(params.id, caller.role === 'operator' || caller.role === 'administrator'),
      },
      periodic: [{ everyMs: 1_000, run: () => findings.tick() }],
      stop: () => findings.stop(),
    };
  },
});
