// What an alert does besides being sent.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { WorksheetsDomain } from '../../analytics/worksheets/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { SnapshotsDomain } from '../../storage/snapshots/index.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import { Actions } from './actions.ts';
import { migrations } from './migrations.ts';

export { RuleAction } from '../catalogue/rule-action.ts';
export type { Actions } from './actions.ts';

export interface ActionsDomain {
  readonly actions: Actions;
}

export const actionsDomain = domain({
  name: 'alerting/actions',
  migrations,
  create: (parts: Kernel & AuditDomain & AlertsDomain & WorksheetsDomain & SnapshotsDomain) => {
    const actions = new Actions(parts);
    const { alerts, routing, worksheets } = parts;
    routing.actionsBy({
      mustBePossible: (caller, wanted) => actions.mustBePossible(caller, wanted),
      comesWithTheAppliance: (id) => worksheets.isReady(id),
    });
    alerts.onChanged((id, name, on) => actions.queue(id, routing.actions(name), on));
    return {
      provides: { actions } satisfies ActionsDomain,
      periodic: [{ everyMs: 1_000, run: () => actions.tick() }],
      stop: () => actions.settled(),
    };
  },
});
