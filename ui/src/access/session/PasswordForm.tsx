// Choosing a password of one's own.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { sessionQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { CodeField } from '../factors/CodeField.tsx';
import { givePasskey, whyNoPasskeys } from '../factors/passkeys.ts';

export function PasswordForm(props: {
  /** What the present password is called. */
  current: string;
  onDone?: (session: Schemas['Session']) => void;
  cancel?: () => void;
}) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const [code, setCode] = useState('');
  const session = useQuery(sessionQuery).data;
  const hasPasskey = session?.passkey === true && whyNoPasskeys() === null;
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async (byPasskey: boolean) =>
      answerOf(
        client.POST('/api/session/change-password', {
          body: {
            ...{ currentPassword: current, newPassword: next },
            ...(code !== '' && { code }),
            ...(byPasskey && { passkey: await givePasskey('confirmation') }),
          },
        }),
      ),
    onSuccess: async (session) => {
      await nowKnown(queries, sessionQuery.queryKey, session);
      await queries.invalidateQueries({ queryKey: ['users'] });
      props.onDone?.(session);
    },
  });
  const problem = change.error ? asProblem(change.error) : null;
  // Who has just signed in by a one-time password and a code is not asked for another one, unless that is long ago.
  const wantsCode =
    (session?.secondFactor === true && session.mustChangePassword !== true) ||
    problem?.code === 'second_factor_required' ||
    code !== '';
  const mayNot =
    current === ''
      ? `Enter ${props.current}.`
      : next === ''
        ? 'Enter a new password.'
        : again !== next
          ? 'Enter the new password twice.'
          : wantsCode && code === '' && !hasPasskey
            ? 'Enter the code of your authenticator app.'
            : null;
  return (
    <FormShell
      submit="Change the password"
      onSubmit={() => change.mutate(wantsCode && code === '' && hasPasskey)}
      busy={change.isPending}
      error={change.error}
      fields={['/newPassword']}
      mayNot={mayNot}
      {...(props.cancel && { cancel: props.cancel })}
    >
      <TextField
        label={props.current.charAt(0).toUpperCase() + props.current.slice(1)}
        type="password"
        value={current}
        onChange={setCurrent}
        autoComplete="current-password"
        autoFocus
        required
      />
      <TextField
        label="New password"
        type="password"
        value={next}
        onChange={setNext}
        help="At least ten characters. Several words that do not belong together are easy to remember and hard to guess."
        error={fieldMessage(problem, '/newPassword')}
        autoComplete="new-password"
        required
      />
      <TextField
        label="New password again"
        type="password"
        value={again}
        onChange={setAgain}
        error={again !== '' && next !== '' && !next.startsWith(again) ? 'This is another password.' : undefined}
        live
        autoComplete="new-password"
        required
      />
      {wantsCode && hasPasskey && <p>The browser asks for your passkey, unless you enter a code.</p>}
      {wantsCode && <CodeField value={code} onChange={setCode} required={!hasPasskey} />}
    </FormShell>
  );
}
