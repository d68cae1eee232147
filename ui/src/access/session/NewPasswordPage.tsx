// What is shown after a sign-in with a one-time password, and nothing else until it is changed.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { sessionQuery } from '../../api/queries.ts';
import { PasswordForm } from './PasswordForm.tsx';

export default function NewPasswordPage({ user }: { user: string }) {
  const queries = useQueryClient();
  useEffect(() => {
    document.title = 'New password · Cistern';
  }, []);
  const signOut = async () => {
    await answerOf(client.DELETE('/api/session'));
    await nowKnown(queries, sessionQuery.queryKey, { user: null });
  };
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">Choose a password, {user}</CardTitle>
        <CardBody>
          <div className="cistern-form">
            <p>You signed in with a one-time password. From now on the password is your own; nobody else knows it.</p>
            <PasswordForm current="the one-time password" />
            <div>
              <Button variant="link" isInline onClick={() => void signOut()}>
                Sign out
              </Button>
            </div>
          </div>
        </CardBody>
      </Card>
    </main>
  );
}
