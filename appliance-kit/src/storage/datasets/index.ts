// Datasets: file systems and volumes.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { JobsDomain } from '../../jobs/index.ts';
import { alertClasses } from './alerts.ts';
import { DatasetConditions } from './conditions.ts';
import { Datasets, datasetRoutes } from './datasets.ts';
import { routes } from './routes.ts';
import { CompressionEstimate } from './schema.ts';
import { Tree } from './tree.ts';

export { Datasets, isTelemetry, mustBeChangeable, mustBeKnown, page, pageFacts } from './datasets.ts';
export {
  datasetNameProblem,
  isSystem,
  mustBeNamed,
  parentOf,
  partProblem,
  poolOf,
  snapshotNameProblem,
  within,
} from './names.ts';
export { mustBeProperties } from './properties.ts';
export { DatasetName, Page, Paging } from './schema.ts';
export type { Known, Tree } from './tree.ts';

export interface DatasetsDomain {
  readonly tree: Tree;
  readonly datasets: Datasets;
  readonly datasetConditions: DatasetConditions;
}

export const datasetsDomain = domain({
  name: 'storage/datasets',
  routes,
  topics: ['datasets'],
  jobKinds: {
    'dataset.estimate': 'Samples of a dataset are compressed in each way; its result is a CompressionEstimate',
  },
  // The result of a job, which has no schema of its own.
  schemas: [CompressionEstimate],
  alertClasses,
  create: (parts: Kernel & AuditDomain & JobsDomain & AlertsDomain) => {
    const { platform, clock, changes, config, audit, jobs, conditions } = parts;
    const tree = new Tree(platform.datasets, clock, () => changes.publish('datasets'));
    const datasets = new Datasets({ platform, tree, jobs, audit });
    const datasetConditions = new DatasetConditions(tree, conditions);
    return {
      provides: { tree, datasets, datasetConditions } satisfies DatasetsDomain,
      handlers: datasetRoutes(datasets, platform),
      periodic: [{ everyMs: config.pollMs, run: () => datasetConditions.look() }],
    };
  },
});
