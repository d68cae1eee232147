// Where the page is opened at an address that is being tried: that it could be opened keeps the change.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useEffect, useRef, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem } from '../../api/problem.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

const AGAIN_MS = 2_000;
/** Whether another machine has an address takes some seconds to find out. */
const PATIENCE_MS = 30_000;

export default function ConfirmPage() {
  const [error, setError] = useState<unknown>(null);
  const [isKept, setIsKept] = useState(false);
  const token = useRef<string | null>(null);
  useEffect(() => {
    document.title = 'Keep the network · Cistern';
    const ending = new AbortController();
    if (token.current === null) {
      token.current = window.location.hash.slice(1);
      // It stands in no history.
      window.history.replaceState(null, '', window.location.pathname);
    }
    const began = Date.now();
    const keep = async () => {
      while (!ending.signal.aborted) {
        try {
          await answerOf(
            client.POST('/api/network/confirm', { body: { token: token.current ?? '' }, signal: ending.signal }),
          );
          setIsKept(true);
          return;
        } catch (failure) {
          if (ending.signal.aborted) return;
          const isEarly = asProblem(failure).detail?.includes('does not hold yet') ?? false;
          if (!isEarly || Date.now() - began > PATIENCE_MS) {
            setError(failure);
            return;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void keep();
    return () => ending.abort();
  }, []);
  const title = isKept
    ? 'The network is kept as it is now'
    : error === null
      ? 'Keeping the network …'
      : 'The network was not kept';
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">{title}</CardTitle>
        <CardBody>
          <div className="cistern-form">
            {error !== null && <ProblemAlert error={error} />}
            {error === null && !isKept && <p role="status">The appliance looks whether all of it is there.</p>}
            {isKept && <p role="status">From now on the page is at this address: {window.location.host}.</p>}
            {(isKept || error !== null) && (
              <div>
                <Button component="a" href="/settings/network">
                  Open the page
                </Button>
              </div>
            )}
          </div>
        </CardBody>
      </Card>
    </main>
  );
}
