// Long work: started, watched, cancelled, and remembered.
import type { AuditDomain } from '../access/audit/index.ts';
import { domain, type Kernel } from '../domain/domain.ts';
import { Jobs, jobRoutes } from './jobs.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';

export { type JobHandle, type Jobs, MOST_OF_ONE } from './jobs.ts';
export { Job } from './schema.ts';

export interface JobsDomain {
  readonly jobs: Jobs;
}

export const jobsDomain = domain({
  name: 'jobs',
  routes,
  topics: ['jobs'],
  migrations,
  create: ({ db, clock, changes, log, jobKinds, audit }: Kernel & AuditDomain) => {
    const jobs = new Jobs({ db, clock, changes, log, kinds: jobKinds });
    return { provides: { jobs } satisfies JobsDomain, handlers: jobRoutes(jobs, audit) };
  },
});
