// Snapshots, by hand and by schedule.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { JobsDomain } from '../../jobs/index.ts';
import type { DatasetsDomain } from '../datasets/index.ts';
import { alertClasses, snapshotsFailed } from './alerts.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { SnapshotSchedules, scheduleRoutes } from './schedules.ts';
import { snapshotSchedulesPart } from './settings-part.ts';
import { Snapshots, snapshotRoutes } from './snapshots.ts';

export { OURS } from './retention.ts';
export { stamp } from './schedules.ts';
export type { Snapshots } from './snapshots.ts';

export interface SnapshotsDomain {
  readonly snapshots: Snapshots;
}

export const snapshotsDomain = domain({
  name: 'storage/snapshots',
  routes,
  jobKinds: {
    'snapshot.rollback': 'A dataset goes back to a snapshot',
  },
  alertClasses,
  migrations,
  create: (parts: Kernel & AuditDomain & JobsDomain & AlertsDomain & DatasetsDomain) => {
    const { datasets, datasetConditions, conditions } = parts;
    const schedules = new SnapshotSchedules(parts);
    const snapshots = new Snapshots(parts);
    datasets.onMoved((from, to) => schedules.moved(from, to));
    datasetConditions.add(() =>
      conditions.report(
        snapshotsFailed,
        schedules.failing().map((args) => ({ args })),
      ),
    );
    return {
      provides: { snapshots } satisfies SnapshotsDomain,
      settingsParts: [snapshotSchedulesPart(schedules)],
      handlers: { ...snapshotRoutes(snapshots), ...scheduleRoutes(schedules) },
    };
  },
});
