// Long work, visible from every page: what runs, how far it is, how it ended.
import { Button, Popover, Progress, Spinner } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ListIcon from '@patternfly/react-icons/dist/esm/icons/list-icon';
import { useQuery } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../api/client.ts';
import { jobsQuery } from '../api/queries.ts';
import { Ago } from '../words/Ago.tsx';
import { plural } from '../words/format.ts';

type Job = Schemas['Job'];
const MAX_SHOWN = 6;
const ended: Record<Exclude<Job['state'], 'running'>, string> = {
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
  interrupted: 'Interrupted by a restart',
};

function JobLine({ job }: { job: Job }) {
  if (job.state === 'running') {
    return (
      <li>
        <Progress
          title={job.title}
          value={job.percent ?? undefined}
          label={job.percent === null ? (job.step ?? 'running') : undefined}
          helperText={job.step}
          size="sm"
          aria-label={job.title}
        />
        {job.cancellable && (
          <Button
            variant="link"
            isInline
            onClick={() => void answerOf(client.POST('/api/jobs/{id}/cancel', { params: { path: { id: job.id } } }))}
          >
            Cancel
          </Button>
        )}
      </li>
    );
  }
  return (
    <li>
      <strong>{job.title}</strong>
      <div className={job.state === 'failed' ? 'cistern-bad' : 'cistern-quiet'}>
        {job.state === 'done' ? <CheckCircleIcon /> : job.state === 'failed' ? <ExclamationCircleIcon /> : null}{' '}
        {ended[job.state]} <Ago time={job.finishedAt} />
      </div>
      {job.error && <div>{job.error.detail}</div>}
    </li>
  );
}

export function Jobs() {
  const { data: jobs = [] } = useQuery(jobsQuery);
  const running = jobs.filter((job) => job.state === 'running').length;
  const label = running > 0 ? `${plural(running, 'job')} running` : 'Jobs';
  return (
    <Popover
      headerContent="Jobs"
      aria-label="Jobs"
      bodyContent={
        jobs.length === 0 ? (
          'Nothing has run yet. Long work, such as creating a pool, shows here.'
        ) : (
          <ul className="cistern-jobs">
            {jobs.slice(0, MAX_SHOWN).map((job) => (
              <JobLine key={job.id} job={job} />
            ))}
          </ul>
        )
      }
    >
      <Button
        variant="plain"
        aria-label={label}
        title={label}
        icon={running > 0 ? <Spinner size="md" /> : <ListIcon />}
      >
        {running > 0 ? running : null}
      </Button>
    </Popover>
  );
}
