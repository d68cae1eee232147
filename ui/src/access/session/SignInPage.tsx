// Name and password, and a code where the user has a second factor.
import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem } from '../../api/problem.ts';
import { sessionQuery, setupQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { CodeField } from '../factors/CodeField.tsx';
import { safePath } from './safePath.ts';

export default function SignInPage() {
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [wantsCode, setWantsCode] = useState(false);
  const [query] = useSearchParams();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: setup } = useQuery(setupQuery);
  useEffect(() => {
    document.title = 'Sign in · Cistern';
  }, []);
  const signIn = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/session', { body: { user: user.trim(), password, ...(wantsCode && { code }) } })),
    onSuccess: async (session) => {
      await nowKnown(queries, sessionQuery.queryKey, session);
      void navigate(safePath(query.get('to')), { replace: true });
    },
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
            onSubmit={() => signIn.mutate()}
            busy={signIn.isPending}
            error={askedFor ? null : signIn.error}
            mayNot={mayNot}
            {...(wantsCode && { cancel: back })}
          >
            {wantsCode && <p>The password of {user.trim()} is right. A code is needed, too.</p>}
            {wantsCode && <CodeField value={code} onChange={setCode} autoFocus />}
            {!wantsCode && (
              <>
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
        </CardBody>
      </Card>
    </main>
  );
}
