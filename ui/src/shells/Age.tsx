// Says how old the page is when something on it could not be read again, and nothing otherwise.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Renewal, shownOf } from '../api/renewal.ts';
import { useNow } from '../words/Ago.tsx';
import { asOf, duration } from '../words/format.ts';

const LOOK_MS = 1_000;

function Words({ readAt }: { readAt: number }) {
  const now = Math.max(useNow(), readAt);
  return (
    <p role="status" className="cistern-age">
      As of <time dateTime={new Date(readAt).toISOString()}>{asOf(readAt, now)}</time>
      {/* Every second another one: not to be read out. */}
      <span aria-hidden>, {duration(Math.floor((now - readAt) / 1000))} ago</span>
    </p>
  );
}

export function Age() {
  const queries = useQueryClient();
  const [readAt, setReadAt] = useState<number | null>(null);
  useEffect(() => {
    const renewal = new Renewal();
    const timer = setInterval(() => setReadAt(renewal.look(Date.now(), shownOf(queries))), LOOK_MS);
    return () => clearInterval(timer);
  }, [queries]);
  return readAt === null ? null : <Words readAt={readAt} />;
}
