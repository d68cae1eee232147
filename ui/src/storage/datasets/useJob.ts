// A job that was started here, until it has ended.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';
import { jobsQuery } from '../../api/queries.ts';

export function useJob() {
  const [id, setId] = useState<string | null>(null);
  const jobs = useQuery({ ...jobsQuery, enabled: id !== null, refetchInterval: id === null ? false : 400 });
  const job: Schemas['Job'] | undefined = id === null ? undefined : jobs.data?.find((one) => one.id === id);
  const running = id !== null && (job === undefined || job.state === 'running');
  const error = job?.error
    ? new Failure(job.error)
    : job && !running && job.state !== 'done'
      ? new Error(`It was ${job.state}.`)
      : null;
  return { watch: setId, job, running, done: job?.state === 'done', error };
}
