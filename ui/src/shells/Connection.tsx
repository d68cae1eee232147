// One line at the top of every page when something does not answer: which part, since when, how old the page is.
import { Banner } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery, statusQuery } from '../api/queries.ts';
import { useReach } from '../api/reach.ts';
import { useNow } from '../words/Ago.tsx';
import { duration } from '../words/format.ts';

function Line({ since, children }: { since: number; children: string }) {
  const now = useNow();
  return (
    <Banner status="danger" role="alert" className="cistern-connection">
      {children} What you see is {duration(Math.max(1, (now - since) / 1000))} old.
    </Banner>
  );
}

/** `storeExpected` is false where there is no pool yet: the store then waits for one, and nothing is wrong. */
export function Connection({ storeExpected = true }: { storeExpected?: boolean }) {
  const reach = useReach();
  const refetchInterval = reach.unreachableSince === null ? 5_000 : 2_000;
  // Who has not signed in is told nothing but whether the appliance answers.
  const session = useQuery({
    ...sessionQuery,
    refetchInterval: (query) => (query.state.data?.user ? false : refetchInterval),
  });
  const signedIn = Boolean(session.data?.user);
  const status = useQuery({ ...statusQuery, enabled: signedIn, refetchInterval });
  if (reach.unreachableSince !== null) return <Line since={reach.lastAnswer}>The appliance does not answer.</Line>;
  if (reach.down.management !== null) {
    return (
      <Line since={reach.down.management}>
        Management is down; nothing can be changed. Measurements are still being taken in.
      </Line>
    );
  }
  const store = status.data?.ingest.available === false || reach.down.telemetry !== null;
  if (!store || !storeExpected) return null;
  return (
    <Banner status="danger" role="alert" className="cistern-connection">
      The telemetry store is down: no measurement is taken in, charts are empty and thresholds are not evaluated.
    </Banner>
  );
}
