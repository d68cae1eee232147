// A program without a browser asks to be signed in: who it says it is, and whether one wants it.
import { Button } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { use, useState } from 'react';
import { useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { SessionContext } from '../../api/session.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

function CodeForm({ onGiven }: { onGiven: (code: string) => void }) {
  const [code, setCode] = useState('');
  return (
    <FormShell
      submit="Go on"
      onSubmit={() => onGiven(code.trim())}
      mayNot={code.trim() === '' ? 'Enter the code that the program shows.' : null}
    >
      <TextField
        label="Code"
        value={code}
        onChange={setCode}
        help="Eight letters, as the program shows them."
        autoComplete="off"
        autoFocus
        required
      />
    </FormShell>
  );
}

function Decision({ code, onOther }: { code: string; onOther: () => void }) {
  const user = use(SessionContext);
  const request = useQuery({
    queryKey: ['sign-in-request', code],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/sign-in-requests/{code}', { params: { path: { code } }, signal })),
    retry: false,
    refetchOnWindowFocus: false,
  });
  const decide = useMutation({
    mutationFn: async (approved: boolean) => {
      const params = { path: { code } };
      if (approved) await answerOf(client.POST('/api/sign-in-requests/{code}/approve', { params }));
      else await answerOf(client.POST('/api/sign-in-requests/{code}/refuse', { params }));
      return approved;
    },
  });
  if (decide.data !== undefined) {
    return (
      <p role="status" className="cistern-sentence">
        {decide.data
          ? `Signed in as ${user.name}. You can close this page; your profile shows the session, and ends it.`
          : 'Refused. The program was told so. Nobody was signed in.'}
      </p>
    );
  }
  if (request.error) {
    return (
      <div className="cistern-stack">
        <ProblemAlert error={request.error} />
        <div>
          <Button variant="secondary" onClick={onOther}>
            Enter another code
          </Button>
        </div>
      </div>
    );
  }
  if (request.data === undefined) return <Waiting on={request} />;
  return (
    <div className="cistern-stack">
      <p className="cistern-sentence">
        It may do then whatever you may do as {user.name}, {user.role}. Sign it in only if you have started it yourself
        and it shows this code.
      </p>
      <Facts
        isHorizontal
        facts={[
          ['Code', <strong key="code">{request.data.code}</strong>],
          ['Program', request.data.program],
          ['Address', request.data.address],
          ['Asked', <Ago key="asked" time={request.data.startedAt} />],
        ]}
      />
      {decide.error && <ProblemAlert error={decide.error} />}
      <div className="cistern-buttons">
        <Button isLoading={decide.isPending} onClick={() => decide.mutate(true)}>
          Sign it in
        </Button>
        <Button variant="secondary" isDisabled={decide.isPending} onClick={() => decide.mutate(false)}>
          Refuse
        </Button>
      </div>
    </div>
  );
}

export default function SignInRequestPage() {
  const [query, setQuery] = useSearchParams();
  const code = query.get('code') ?? '';
  return (
    <PageShell
      title="Sign in a program"
      sentence="A program on a machine without a browser asks to be signed in as you."
    >
      {code === '' ? (
        <CodeForm onGiven={(given) => setQuery({ code: given })} />
      ) : (
        <Decision key={code} code={code} onOther={() => setQuery({})} />
      )}
    </PageShell>
  );
}
