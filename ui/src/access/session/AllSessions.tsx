// The sessions of all users, how long sessions last, and what administrators need to begin one.
import { Title } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Policy } from '../factors/Policy.tsx';
import { Sessions } from './Sessions.tsx';

type Limits = Schemas['SessionLifetimeRead'];

const limitsQuery = queryOptions({
  queryKey: ['users', 'session-lifetime'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/session-lifetime', { signal })),
});

function LimitsForm({ limits }: { limits: Limits }) {
  const [idle, setIdle] = useState(String(limits.idleMinutes));
  const [longest, setLongest] = useState(String(limits.longestHours));
  const queries = useQueryClient();
  const edited = useEdited({
    now: limits,
    read: () => queries.fetchQuery({ ...limitsQuery, staleTime: 0 }),
    onLoad: (current) => {
      setIdle(String(current.idleMinutes));
      setLongest(String(current.longestHours));
    },
    editing: idle !== String(limits.idleMinutes) || longest !== String(limits.longestHours),
  });
  const save = useMutation({
    mutationFn: () =>
      edited.guard(
        answerOf(
          client.PUT('/api/session-lifetime', {
            params: { header: edited.header },
            body: { idleMinutes: Number(idle), longestHours: Number(longest) },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: limitsQuery.queryKey }),
  });
  const problem = save.error ? asProblem(save.error) : null;
  return (
    <FormShell
      submit="Save"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={['/idleMinutes', '/longestHours']}
      mayNot={/^\d+$/.test(idle) && /^\d+$/.test(longest) ? null : 'Enter whole numbers.'}
    >
      <TextField
        label="Ends when it was not used for (minutes)"
        type="number"
        value={idle}
        onChange={setIdle}
        error={fieldMessage(problem, '/idleMinutes')}
        required
      />
      <TextField
        label="Ends after its sign-in in any case (hours)"
        type="number"
        value={longest}
        onChange={setLongest}
        error={fieldMessage(problem, '/longestHours')}
        required
      />
    </FormShell>
  );
}

export function AllSessions() {
  const limits = useQuery(limitsQuery);
  return (
    <div className="cistern-stack">
      <Sessions everyone />
      <section aria-labelledby="session-lifetime">
        <Title headingLevel="h2" id="session-lifetime">
          How long sessions last
        </Title>
        {limits.data === undefined ? <Waiting on={limits} /> : <LimitsForm limits={limits.data} />}
      </section>
      <section aria-labelledby="second-factor-policy">
        <Title headingLevel="h2" id="second-factor-policy">
          Second factor
        </Title>
        <Policy />
      </section>
    </div>
  );
}
