// What a rule does besides sending a message.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { WorksheetsDomain } from '../../analytics/worksheets/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { SnapshotsDomain } from '../../storage/snapshots/index.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import { Actions } from './actions.ts';
import { migrations } from './migrations.ts';

export type { Actions } from './actions.ts';
export { RuleAction } from './schema.ts';

export interface ActionsDomain {
  readonly actions: Actions;
}

export const actionsDomain = domain({
  name: 'alerting/actions',
  migrations,
  create: (parts: Kernel & AuditDomain & AlertsDomain & WorksheetsDomain & SnapshotsDomain) => {
    const actions = new Actions(parts);
    return {
      provides: { actions } satisfies ActionsDomain,
      periodic: [{ everyMs: 1_000, run: () => actions.tick() }],
      stop: () => actions.settled(),
    };
  },
});
