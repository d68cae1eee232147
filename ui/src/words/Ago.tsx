// "4 minutes ago", kept up to date, with the exact time in the reader's zone on hover.
import { useEffect, useState } from 'react';
import { ago } from './format.ts';

/** The time, anew every `everyMs`. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

export function Ago({ time }: { time: string | number | null | undefined }) {
  const now = useNow(5000);
  if (time === null || time === undefined) return <>never</>;
  const date = new Date(time);
  return (
    <time dateTime={date.toISOString()} title={exact.format(date)}>
      {ago(date.getTime(), Math.max(now, Date.now()))}
    </time>
  );
}
