// Replication: to other pools and machines, and from them to here.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { JobsDomain } from '../../jobs/index.ts';
import type { DatasetsDomain } from '../datasets/index.ts';
import { alertClasses, replicationFailed, replicationLate } from './alerts.ts';
import { migrations } from './migrations.ts';
import { Replications, replicationRoutes } from './replications.ts';
import { routes } from './routes.ts';
import { CISTERN_PORT } from './schema.ts';
import { ReplicationSenders } from './senders.ts';
import { replicationParts } from './settings-part.ts';

export interface ReplicationDomain {
  readonly replications: Replications;
  /** Where replications are taken in; null: nowhere. */
  readonly replicationPort: () => number | null;
  /** Called when that changes, which is answered once it has ended; what it throws is logged. */
  readonly onReplicationPort: (run: () => Promise<void>) => void;
}

export const replicationDomain = domain({
  name: 'storage/replication',
  routes,
  jobKinds: {
    replication: 'A dataset is replicated; its result says how many bytes were sent',
  },
  alertClasses,
  migrations,
  create: (parts: Kernel & AuditDomain & JobsDomain & AlertsDomain & DatasetsDomain) => {
    const { platform, config, log, datasets, datasetConditions, conditions } = parts;
    const senders = new ReplicationSenders(parts);
    const replications = new Replications({ ...parts, senders });
    datasets.onMoved((from, to) => replications.moved(from, to));
    datasetConditions.add(() => {
      conditions.report(
        replicationFailed,
        replications.failing().map((args) => ({ args })),
      );
      conditions.report(
        replicationLate,
        replications.late().map((args) => ({ args })),
      );
    });
    let retrying: NodeJS.Timeout | undefined;
    return {
      provides: {
        replications,
        replicationPort: () => (senders.all().length === 0 ? null : CISTERN_PORT),
        onReplicationPort: (run) => {
          senders.portChanged = () =>
            run().catch((error: unknown) =>
              logFailure(log, 'a change of the replication port was not followed', error),
            );
        },
      } satisfies ReplicationDomain,
      settingsParts: replicationParts(replications, senders),
      handlers: replicationRoutes({ replications, senders, platform }),
      start: () => {
        void replications.begin();
        retrying = setInterval(() => replications.retry(), config.pollMs);
      },
      stop: () => clearInterval(retrying),
    };
  },
});
