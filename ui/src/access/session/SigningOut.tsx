// In place of the pages while a session ends: what they would still ask would be refused.
import { Bullseye, Button, Spinner, Title } from '@patternfly/react-core';
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { sessionQuery } from '../../api/queries.ts';
import { forgetAnswers } from '../../api/unchanged.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

/** @returns whether the browser stays here; else it goes to the provider, who may ask whether to sign out there too. */
async function endSession(queries: QueryClient): Promise<boolean> {
  await queries.cancelQueries();
  const known = queries.getQueryData<Schemas['Session']>(sessionQuery.queryKey);
  if (known?.provider?.kind === 'oidc') {
    const { url } = await answerOf(client.POST('/api/providers/end'));
    if (url !== null) {
      window.location.assign(url);
      return false;
    }
  } else await answerOf(client.DELETE('/api/session'));
  // Nothing that one user read may be shown to the next.
  forgetAnswers();
  await nowKnown(queries, sessionQuery.queryKey, { user: null });
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' && queryKey[0] !== 'setup' });
  return true;
}

export function SigningOut({ done }: { done: () => void }) {
  const queries = useQueryClient();
  const { mutate, error } = useMutation({
    mutationFn: () => endSession(queries),
    onSuccess: (here) => {
      if (here) done();
    },
  });
  useEffect(() => {
    const soon = setTimeout(mutate, 0);
    return () => clearTimeout(soon);
  }, [mutate]);
  return (
    <Bullseye>
      {error ? (
        <main className="cistern-stack">
          <Title headingLevel="h1">Signing out failed</Title>
          <ProblemAlert error={error} retry={() => mutate()} />
          <div>
            <Button variant="link" isInline onClick={done}>
              Stay signed in
            </Button>
          </div>
        </main>
      ) : (
        <Spinner aria-label="Signing out" />
      )}
    </Bullseye>
  );
}
