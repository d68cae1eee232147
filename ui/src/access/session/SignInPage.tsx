// Name and password, and a code where the user has a second factor.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem } from '../../api/problem.ts';
import { sessionQuery, setupQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { CodeField } from '../factors/CodeField.tsx';
import { givePasskey, whyNoPasskeys } from '../factors/passkeys.ts';
import { signInAt } from '../providers/atProvider.ts';
import { offeredProvidersQuery } from '../providers/queries.ts';
import { safePath } from './safePath.ts';

export default function SignInPage() {
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [provider, setProvider] = useState('');
  const [wantsCode, setWantsCode] = useState(false);
  const [query] = useSearchParams();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: setup } = useQuery(setupQuery);
  const { data: offered = [] } = useQuery(offeredProvidersQuery);
  const directories = offered.filter(({ kind }) => kind === 'ldap');
  const elsewhere = useMutation({ mutationFn: (id: string) => signInAt(id, query.get('to')) });
  useEffect(() => {
    document.title = 'Sign in · Cistern';
  }, []);
  const signedIn = async (session: Schemas['Session']) => {
    await nowKnown(queries, sessionQuery.queryKey, session);
    void navigate(safePath(query.get('to')), { replace: true });
  };
  const byPasskey = useMutation({
    mutationFn: async () => answerOf(client.POST('/api/session/use-passkey', { body: await givePasskey('sign-in') })),
    onSuccess: signedIn,
  });
  const signIn = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/session', {
          body: { user: user.trim(), password, ...(wantsCode && { code }), ...(provider !== '' && { provider }) },
        }),
      ),
    onSuccess: signedIn,
    onError: (error) => {
      const asked = ['second_factor_required', 'wrong_code'].includes(asProblem(error).code);
      setWantsCode(asked);
      setCode('');
      // With a code it is sent again.
      if (!asked) setPassword('');
    },
  });
  const back = () => {
    signIn.reset();
    setWantsCode(false);
    setPassword('');
  };
  const mayNot =
    user.trim() === ''
      ? 'Enter your name.'
      : password === ''
        ? 'Enter your password.'
        : wantsCode && code.trim() === ''
          ? 'Enter the code.'
          : null;
  const askedFor = signIn.error !== null && asProblem(signIn.error).code === 'second_factor_required';
  return (
    <main className="cistern-alone">
      <Card className="cistern-door">
        <CardTitle component="h1">
          <img src="/icon.svg" alt="" width="32" height="32" /> {setup?.hostName ?? 'Cistern'}
        </CardTitle>
        <CardBody>
          <FormShell
            submit="Sign in"
            onSubmit={() => {
              byPasskey.reset();
              elsewhere.reset();
              signIn.mutate();
            }}
            busy={signIn.isPending}
            error={askedFor ? null : (signIn.error ?? byPasskey.error ?? elsewhere.error)}
            mayNot={mayNot}
            {...(wantsCode && { cancel: back })}
            more={
              !wantsCode &&
              whyNoPasskeys() === null && (
                <Button
                  variant="link"
                  isLoading={byPasskey.isPending}
                  onClick={() => {
                    signIn.reset();
                    byPasskey.mutate();
                  }}
                >
                  Use a passkey
                </Button>
              )
            }
          >
            {wantsCode && <p>The password of {user.trim()} is right. A code is needed, too.</p>}
            {wantsCode && <CodeField value={code} onChange={setCode} autoFocus />}
            {!wantsCode && (
              <>
                {directories.length > 0 && (
                  <SelectField
                    label="Account"
                    value={provider}
                    onChange={setProvider}
                    options={[['', 'of this appliance'], ...directories.map(({ id, name }) => [id, name] as const)]}
                  />
                )}
                <TextField label="Name" value={user} onChange={setUser} autoComplete="username" autoFocus required />
                <TextField
                  label="Password"
                  type="password"
                  value={password}
                  onChange={setPassword}
                  autoComplete="current-password"
                  required
                />
              </>
            )}
          </FormShell>
          {!wantsCode && (
            <div className="cistern-buttons cistern-at-providers">
              {offered
                .filter(({ kind }) => kind === 'oidc')
                .map(({ id, name }) => (
                  <Button
                    key={id}
                    variant="secondary"
                    isLoading={elsewhere.isPending}
                    onClick={() => {
                      signIn.reset();
                      elsewhere.mutate(id);
                    }}
                  >
                    Go on with {name}
                  </Button>
                ))}
            </div>
          )}
        </CardBody>
      </Card>
    </main>
  );
}
