// What is one's own: the password, the second factor, the sessions, the API tokens.
import { Button, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, use, useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import { SessionContext } from '../../api/session.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { SecondFactor } from '../factors/SecondFactor.tsx';
import { OwnKeys } from '../ssh/OwnKeys.tsx';
import { Tokens } from '../tokens/Tokens.tsx';
import { PasswordForm } from './PasswordForm.tsx';
import { Sessions } from './Sessions.tsx';

function Part({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section aria-labelledby={id}>
      <Title headingLevel="h2" id={id}>
        {title}
      </Title>
      {children}
    </section>
  );
}

function Password() {
  const [state, setState] = useState<'shown' | 'changing' | 'changed'>('shown');
  if (state === 'changing') {
    return (
      <PasswordForm
        current="your present password"
        onDone={() => setState('changed')}
        cancel={() => setState('shown')}
      />
    );
  }
  return (
    <div className="cistern-stack">
      {state === 'changed' && <p role="status">The password was changed. Your other sessions have ended.</p>}
      <div>
        <Button variant="secondary" onClick={() => setState('changing')}>
          Change the password
        </Button>
      </div>
    </div>
  );
}

function OwnSessions() {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => answerOf(client.POST('/api/sessions/end', { body: {} })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['users', 'sessions'] }),
  });
  return (
    <div className="cistern-stack">
      <Sessions everyone={false} />
      {end.error && <ProblemAlert error={end.error} />}
      <div>
        <Button variant="secondary" isLoading={end.isPending} onClick={() => end.mutate()}>
          End all others
        </Button>
      </div>
    </div>
  );
}

export default function ProfilePage() {
  const user = use(SessionContext);
  const provider = useQuery(sessionQuery).data?.provider;
  return (
    <PageShell
      title={user.name}
      sentence={`You are signed in as ${user.role}${provider === undefined ? '' : ', by an identity provider'}.`}
    >
      <div className="cistern-stack">
        {provider === undefined && (
          <Part id="password" title="Password">
            <Password />
          </Part>
        )}
        <Part id="second-factor" title="Second factor">
          <SecondFactor />
        </Part>
        <Part id="sessions" title="Your sessions">
          <OwnSessions />
        </Part>
        <Part id="command-line" title="Command line">
          <p>
            <Link to="/profile/command-line">Download the command cistern</Link> for your own machine.
          </p>
        </Part>
        <Part id="tokens" title="Your API tokens">
          <Tokens own />
        </Part>
        <Part id="ssh" title="Your keys for ssh">
          <OwnKeys />
        </Part>
      </div>
    </PageShell>
  );
}
