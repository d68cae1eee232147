// Asks for the password again before something that destroys data, changes who gets in, or reads a secret.
import { useEffect, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { whoAsks } from '../../api/confirmation.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { TextField } from '../../forms/Field.tsx';

interface Question {
  readonly why: string;
  readonly answer: (given: boolean) => void;
}

export function AskForPassword() {
  const [question, setQuestion] = useState<Question | null>(null);
  const [password, setPassword] = useState('');
  useEffect(() => {
    whoAsks((why) => new Promise((answer) => setQuestion({ why, answer })));
    return () => whoAsks(null);
  }, []);
  if (question === null) return null;
  const close = (given: boolean) => {
    setPassword('');
    setQuestion(null);
    question.answer(given);
  };
  return (
    <ConfirmDialog
      title="Give your password again"
      action="Confirm"
      mayNot={password === '' ? 'Enter your password.' : null}
      onConfirm={async () => {
        await answerOf(client.POST('/api/session/confirm', { body: { password } }));
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
          <TextField
            label="Password"
            type="password"
            value={password}
            onChange={setPassword}
            autoComplete="current-password"
            autoFocus
            required
          />
        </form>
      )}
    </ConfirmDialog>
  );
}
