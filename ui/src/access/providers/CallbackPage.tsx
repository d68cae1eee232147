// Where an identity provider sends the browser back to: what it brings is handed to the appliance, once.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { sessionQuery } from '../../api/queries.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { safePath } from '../session/safePath.ts';
import { broughtBack } from './atProvider.ts';

export default function CallbackPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>(null);
  const sent = useRef(false);
  useEffect(() => {
    document.title = 'Sign in · Cistern';
    // The code is good once, and effects may run twice.
    if (sent.current) return;
    sent.current = true;
    const query = window.location.search.slice(1);
    // It stands in no history, and in no address that is copied.
    window.history.replaceState(null, '', window.location.pathname);
    answerOf(client.POST('/api/providers/finish', { body: { query } })).then(
      async (session) => {
        const { confirming, to } = broughtBack();
        if (confirming) {
          window.close();
          return;
        }
        await nowKnown(queries, sessionQuery.queryKey, session);
        void navigate(safePath(to), { replace: true });
      },
      (failure: unknown) => setError(failure),
    );
  }, [queries, navigate]);
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">{error === null ? 'Signing in …' : 'You were not signed in'}</CardTitle>
        <CardBody>
          {error === null ? (
            <p role="status">The appliance asks the provider who you are.</p>
          ) : (
            <div className="cistern-form">
              <ProblemAlert error={error} />
              <div>
                <Button onClick={() => void navigate('/sign-in', { replace: true })}>Back to sign-in</Button>
              </div>
            </div>
          )}
        </CardBody>
      </Card>
    </main>
  );
}
