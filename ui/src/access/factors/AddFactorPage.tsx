// What an administrator sees who needs a second factor and has none, and nothing else until one is added.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { sessionQuery } from '../../api/queries.ts';
import { AddApp } from './AddApp.tsx';
import { AddPasskey } from './AddPasskey.tsx';
import { whyNoPasskeys } from './passkeys.ts';
import { RecoveryCodes } from './RecoveryCodes.tsx';

/** `hold`: whether the page stays although the session needs nothing more. */
export default function AddFactorPage(props: { user: string; hold: (stay: boolean) => void; signOut: () => void }) {
  const { user, hold, signOut } = props;
  const queries = useQueryClient();
  const [byPasskey, setByPasskey] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  useEffect(() => {
    document.title = 'Second factor · Cistern';
  }, []);
  useEffect(() => () => hold(false), [hold]);
  const added = (recoveryCodes: readonly string[] | null) => {
    hold(true);
    setCodes(recoveryCodes ?? []);
  };
  const done = async () => {
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    hold(false);
  };
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">Add a second factor, {user}</CardTitle>
        <CardBody>
          <div className="cistern-form">
            {codes === null ? (
              <>
                <p>
                  Administrators of this appliance need one: an authenticator app, whose code is asked for from now on,
                  or a passkey.
                </p>
                {byPasskey ? (
                  <AddPasskey
                    cancel={() => setByPasskey(false)}
                    onAdded={({ recoveryCodes }) => added(recoveryCodes)}
                  />
                ) : (
                  <AddApp onAdded={({ recoveryCodes }) => added(recoveryCodes)} />
                )}
                <div className="cistern-buttons">
                  {!byPasskey && whyNoPasskeys() === null && (
                    <Button variant="link" isInline onClick={() => setByPasskey(true)}>
                      Add a passkey instead
                    </Button>
                  )}
                  <Button variant="link" isInline onClick={signOut}>
                    Sign out
                  </Button>
                </div>
              </>
            ) : (
              <RecoveryCodes user={user} codes={codes} onDone={() => void done()} />
            )}
          </div>
        </CardBody>
      </Card>
    </main>
  );
}
