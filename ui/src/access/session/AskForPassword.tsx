// Asks for the password again, or for a code of the authenticator app, before something that destroys data, changes who gets in, or reads a secret.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { whoAsks } from '../../api/confirmation.ts';
import { sessionQuery } from '../../api/queries.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { TextField } from '../../forms/Field.tsx';

interface Question {
  readonly why: string;
  readonly answer: (given: boolean) => void;
}

export function AskForPassword() {
  const [question, setQuestion] = useState<Question | null>(null);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [byCode, setByCode] = useState(false);
  const hasFactor = useQuery(sessionQuery).data?.secondFactor === true;
  useEffect(() => {
    whoAsks((why) => new Promise((answer) => setQuestion({ why, answer })));
    return () => whoAsks(null);
  }, []);
  if (question === null) return null;
  const close = (given: boolean) => {
    setPassword('');
    setCode('');
    setQuestion(null);
    question.answer(given);
  };
  const given = byCode ? code.trim() : password;
  return (
    <ConfirmDialog
      title={byCode ? 'Give a code of your app' : 'Give your password again'}
      action="Confirm"
      mayNot={given === '' ? (byCode ? 'Enter the code.' : 'Enter your password.') : null}
      onConfirm={async () => {
        await answerOf(client.POST('/api/session/confirm', { body: byCode ? { code } : { password } }));
        question.answer(true);
      }}
      onClose={() => close(false)}
    >
      {(confirm) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            confirm();
          }}
        >
          <p>{question.why} It is good for five minutes.</p>
          {byCode ? (
            <TextField
              key="code"
              label="Code of the app"
              value={code}
              onChange={setCode}
              autoComplete="one-time-code"
              inputMode="numeric"
              autoFocus
              required
            />
          ) : (
            <TextField
              key="password"
              label="Password"
              type="password"
              value={password}
              onChange={setPassword}
              autoComplete="current-password"
              autoFocus
              required
            />
          )}
          {hasFactor && (
            <Button variant="link" isInline onClick={() => setByCode(!byCode)}>
              {byCode ? 'Give the password instead' : 'Give a code of the app instead'}
            </Button>
          )}
        </form>
      )}
    </ConfirmDialog>
  );
}
