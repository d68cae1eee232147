// Under a live chart: since when nothing has come.
import { asOf } from '../words/format.ts';

/** @param since seconds; null: it goes on */
export function SilentNote({ since, of }: { since: number | null; of: 'data' | 'events' }) {
  if (since === null) return null;
  return (
    <p role="status" className="cistern-silent">
      No {of} since {asOf(since * 1000, Date.now())}
    </p>
  );
}
