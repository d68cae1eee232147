// What is shown after a sign-in with a one-time password, and nothing else until it is changed.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useEffect } from 'react';
import { PasswordForm } from './PasswordForm.tsx';

export default function NewPasswordPage({ user, signOut }: { user: string; signOut: () => void }) {
  useEffect(() => {
    document.title = 'New password · Cistern';
  }, []);
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">Choose a password, {user}</CardTitle>
        <CardBody>
          <div className="cistern-form">
            <p>You signed in with a one-time password. From now on the password is your own; nobody else knows it.</p>
            <PasswordForm current="the one-time password" />
            <div>
              <Button variant="link" isInline onClick={signOut}>
                Sign out
              </Button>
            </div>
          </div>
        </CardBody>
      </Card>
    </main>
  );
}
