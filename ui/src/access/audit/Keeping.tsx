// How long and how many entries of the audit log are kept.
import { Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { auditRetentionQuery } from './queries.ts';

function Form({ kept }: { kept: Schemas['AuditRetention'] }) {
  const [days, setDays] = useState(String(kept.days));
  const [entries, setEntries] = useState(String(kept.entries));
  const queries = useQueryClient();
  const edited = useEdited({
    now: kept,
    read: () => queries.fetchQuery({ ...auditRetentionQuery, staleTime: 0 }),
    onLoad: (current) => {
      setDays(String(current.days));
      setEntries(String(current.entries));
    },
    editing: days !== String(kept.days) || entries !== String(kept.entries),
  });
  const save = useMutation({
    mutationFn: () =>
      edited.guard(
        answerOf(
          client.PUT('/api/audit-retention', {
            params: { header: edited.header },
            body: { days: Number(days), entries: Number(entries) },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['audit'] }),
  });
  const problem = save.error ? asProblem(save.error) : null;
  return (
    <FormShell
      submit="Save what is kept"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={['/days', '/entries']}
      mayNot={/^\d+$/.test(days) && /^\d+$/.test(entries) ? null : 'Enter whole numbers.'}
    >
      <TextField
        label="Entries are dropped after (days)"
        type="number"
        value={days}
        onChange={setDays}
        help="At least 30."
        error={fieldMessage(problem, '/days')}
      />
      <TextField
        label="So many of the newest are kept"
        type="number"
        value={entries}
        onChange={setEntries}
        help="10,000 to 1,000,000."
        error={fieldMessage(problem, '/entries')}
      />
    </FormShell>
  );
}

export function Keeping() {
  const { data, ...reading } = useQuery(auditRetentionQuery);
  return (
    <section aria-label="What is kept">
      <Title headingLevel="h2" size="lg">
        What is kept
      </Title>
      {data === undefined ? <Waiting on={reading} /> : <Form kept={data} />}
    </section>
  );
}
