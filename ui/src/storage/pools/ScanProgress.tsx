// A scrub or a resilver as it goes, with an honest word on when it ends; or what the last one found.
import { Progress } from '@patternfly/react-core';
import { Ago } from '../../words/Ago.tsx';
import { bytes, duration } from '../../words/format.ts';
import type { Scan } from './queries.ts';

/** It is an estimate, so it is not shown to the second. */
export function timeLeft(scan: Pick<Scan, 'paused' | 'secondsLeft'>): string {
  if (scan.paused) return 'It does not go on until it is resumed.';
  if (scan.secondsLeft === null) return 'How long it takes is not known yet.';
  if (scan.secondsLeft < 60) return 'Less than a minute left.';
  const minutes = Math.ceil(scan.secondsLeft / 60);
  return `About ${duration(minutes < 90 ? minutes * 60 : Math.ceil(minutes / 60) * 3600)} left.`;
}

export function scanWords(scan: Scan): string {
  if (!scan.paused) return scan.sentence;
  return `The ${scan.kind} is paused, ${Math.floor(scan.percent ?? 0)} % done.`;
}

export function ScanProgress({ scan }: { scan: Scan }) {
  if (scan.state !== 'scanning') return <p>{scan.sentence}</p>;
  return (
    <Progress
      value={scan.percent ?? undefined}
      title={scanWords(scan)}
      aria-label={scan.kind === 'resilver' ? 'Resilver' : 'Scrub'}
      variant={scan.paused ? 'warning' : undefined}
      helperText={
        <>
          {timeLeft(scan)} {bytes(scan.bytesDone)} of {bytes(scan.bytesTotal)} read, begun <Ago time={scan.startedAt} />
          .
        </>
      }
    />
  );
}
