// In place of the pages while a session ends: what they would still ask would be refused.
import { Bullseye, Button, Card, CardBody, CardTitle, Spinner } from '@patternfly/react-core';
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem } from '../../api/problem.ts';
import { sessionQuery } from '../../api/queries.ts';
import { forgetAnswers } from '../../api/unchanged.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

/** @returns where to sign out at the provider; null: the browser stays here */
async function endSession(queries: QueryClient): Promise<string | null> {
  await queries.cancelQueries();
  const known = queries.getQueryData<Schemas['Session']>(sessionQuery.queryKey);
  const elsewhere = known?.provider?.kind === 'oidc' ? await endAtProvider() : null;
  if (elsewhere === null) await answerOf(client.DELETE('/api/session'));
  // Nothing that one user read may be shown to the next.
  forgetAnswers();
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' && queryKey[0] !== 'setup' });
  await nowKnown(queries, sessionQuery.queryKey, { user: null });
  return elsewhere;
}

async function endAtProvider(): Promise<string | null> {
  try {
    return (await answerOf(client.POST('/api/providers/end'))).url;
  } catch (error) {
    // It has ended already: of itself, or by a request whose answer was lost.
    if (asProblem(error).status === 401) return null;
    throw error;
  }
}

export function SigningOut({ done }: { done: () => void }) {
  const queries = useQueryClient();
  const { mutate, error } = useMutation({
    mutationFn: () => endSession(queries),
    onSuccess: (elsewhere) => {
      if (elsewhere === null) return done();
      // Whoever comes back from there by the browser's own button finds this page as it was left.
      window.addEventListener('pageshow', done, { once: true });
      window.location.assign(elsewhere);
    },
  });
  useEffect(() => {
    const soon = setTimeout(mutate, 0);
    return () => clearTimeout(soon);
  }, [mutate]);
  if (!error) {
    return (
      <Bullseye>
        <Spinner aria-label="Signing out" />
      </Bullseye>
    );
  }
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">Signing out failed</CardTitle>
        <CardBody>
          <div className="cistern-form">
            <ProblemAlert error={error} retry={() => mutate()} />
            <div>
              <Button variant="link" isInline onClick={done}>
                Stay signed in
              </Button>
            </div>
          </div>
        </CardBody>
      </Card>
    </main>
  );
}
