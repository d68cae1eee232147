// What is being read through just now, how far it is, and starting, pausing or stopping it.
import { Button, Progress } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, client } from '../api/client.ts';
import { Explained } from '../forms/Explained.tsx';
import { useMayNot } from '../frame/session.ts';
import { bytes, duration } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import type { Pool } from './queries.ts';

function remaining(scan: NonNullable<Pool['scan']>): string {
  const done = `${bytes(scan.bytesDone)} of ${bytes(scan.bytesTotal)}`;
  if (scan.paused) return `Paused. ${done}`;
  return scan.secondsLeft === null ? done : `${done}, about ${duration(scan.secondsLeft)} left`;
}

export function ScanControl({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const scrub = useMutation({
    mutationFn: (action: 'start' | 'pause' | 'stop') =>
      answerOf(client.POST('/api/pools/{name}/scrub', { params: { path: { name: pool.name } }, body: { action } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['pools'] }),
  });
  const scan = pool.scan;
  const running = scan?.state === 'scanning' ? scan : null;
  const button = (action: 'start' | 'pause' | 'stop', text: string) => {
    const why =
      mayNot ?? (pool.state === 'SUSPENDED' || pool.state === 'FAULTED' ? 'The pool cannot be read now.' : null);
    return (
      <Explained why={why} key={action}>
        <Button
          variant="secondary"
          isAriaDisabled={why !== null || scrub.isPending}
          onClick={() => (why === null ? scrub.mutate(action) : undefined)}
        >
          {text}
        </Button>
      </Explained>
    );
  };
  return (
    <div className="cistern-stack">
      {running && (
        <Progress
          value={running.percent ?? 0}
          title={running.sentence}
          helperText={remaining(running)}
          aria-label={running.kind === 'scrub' ? 'Scrub' : 'Resilver'}
        />
      )}
      {!running && <p>{scan?.sentence ?? 'It has not been scrubbed yet.'}</p>}
      <div className="cistern-actions">
        {running === null && button('start', 'Scrub now')}
        {running?.kind === 'scrub' && (running.paused ? button('start', 'Go on') : button('pause', 'Pause'))}
        {running?.kind === 'scrub' && button('stop', 'Stop')}
      </div>
      <ProblemAlert error={scrub.error} />
    </div>
  );
}
