// Asks for the password again, for a code of the authenticator app, or for a passkey, before something that destroys data, changes who gets in, or reads a secret.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { whoAsks } from '../../api/confirmation.ts';
import { sessionQuery } from '../../api/queries.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { TextField } from '../../forms/Field.tsx';
import { givePasskey, whyNoPasskeys } from '../factors/passkeys.ts';
import { confirmAt } from '../providers/atProvider.ts';

interface Question {
  readonly why: string;
  readonly answer: (given: boolean) => void;
}

const WAYS = {
  provider: { title: 'Sign in at your provider again', instead: 'Sign in at the provider instead' },
  password: { title: 'Give your password again', instead: 'Give the password instead' },
  code: { title: 'Give a code of your app', instead: 'Give a code of the app instead' },
  passkey: { title: 'Give your passkey', instead: 'Give the passkey instead' },
} as const;
type Way = keyof typeof WAYS;

export function AskForPassword() {
  const [question, setQuestion] = useState<Question | null>(null);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [chosen, setBy] = useState<Way | null>(null);
  const { app = false, passkey = false, provider } = useQuery(sessionQuery).data ?? {};
  const atProvider = provider?.kind === 'oidc';
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
  const by = chosen ?? (atProvider ? 'provider' : 'password');
  const may: Record<Way, boolean> = {
    provider: atProvider,
    password: !atProvider,
    code: app,
    passkey: passkey && whyNoPasskeys() === null,
  };
  const mayNot =
    by === 'code' && code.trim() === ''
      ? 'Enter the code.'
      : by === 'password' && password === ''
        ? 'Enter your password.'
        : null;
  const body = async () =>
    by === 'code' ? { code } : by === 'password' ? { password } : { passkey: await givePasskey('confirmation') };
  return (
    <ConfirmDialog
      title={WAYS[by].title}
      action="Confirm"
      mayNot={mayNot}
      onConfirm={async () => {
        if (by === 'provider') await confirmAt(provider?.id ?? '');
        else await answerOf(client.POST('/api/session/confirm', { body: await body() }));
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
          {by === 'code' && (
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
          )}
          {by === 'password' && (
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
          {by === 'passkey' && <p>The browser asks for it.</p>}
          {by === 'provider' && <p>It opens in a window of its own. What you have typed here stays.</p>}
          <div className="cistern-buttons">
            {(Object.keys(WAYS) as Way[])
              .filter((way) => way !== by && may[way])
              .map((way) => (
                <Button key={way} variant="link" isInline onClick={() => setBy(way)}>
                  {WAYS[way].instead}
                </Button>
              ))}
          </div>
        </form>
      )}
    </ConfirmDialog>
  );
}
