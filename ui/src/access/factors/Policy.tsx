// From when on administrators need a second factor.
import { Checkbox, TextInput } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { sessionQuery } from '../../api/queries.ts';
import { Field } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';

type Read = Schemas['SecondFactorPolicyRead'];

const policyQuery = queryOptions({
  queryKey: ['users', 'second-factor-policy'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/second-factor-policy', { signal })),
});

/** A day in the reader's time zone, as a `date` field has it. */
function dayOf(time: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}
const dayIn = ({ requiredFrom }: Read) => (requiredFrom === null ? '' : dayOf(new Date(requiredFrom)));
/** When the day begins; null: no day. A day that was not changed keeps its moment. */
function momentOf(day: string, read: Read): string | null {
  if (day === '') return null;
  return day === dayIn(read) ? read.requiredFrom : new Date(`${day}T00:00:00`).toISOString();
}

function PolicyForm({ policy, hasOne }: { policy: Read; hasOne: boolean }) {
  const [day, setDay] = useState(dayIn(policy));
  const [needed, setNeeded] = useState(policy.requiredFrom !== null);
  const queries = useQueryClient();
  const wanted = momentOf(needed ? day : '', policy);
  const edited = useEdited({
    now: policy,
    read: () => queries.fetchQuery({ ...policyQuery, staleTime: 0 }),
    onLoad: (current) => {
      setDay(dayIn(current));
      setNeeded(current.requiredFrom !== null);
    },
    editing: wanted !== policy.requiredFrom,
  });
  const save = useMutation({
    mutationFn: () =>
      edited.guard(
        answerOf(
          client.PUT('/api/second-factor-policy', {
            params: { header: edited.header },
            body: { requiredFrom: wanted },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: policyQuery.queryKey }),
  });
  const problem = save.error ? asProblem(save.error) : null;
  const without = policy.administratorsWithout;
  const mayNot =
    needed && day === ''
      ? 'Choose a day.'
      : wanted === policy.requiredFrom
        ? 'Nothing was changed.'
        : wanted !== null && !hasOne
          ? 'Add a second factor of your own first, in your profile.'
          : null;
  return (
    <FormShell
      name="Second factor of administrators"
      submit="Save"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={['/requiredFrom']}
      mayNot={mayNot}
    >
      <Checkbox
        id="second-factor-needed"
        label="Administrators need a second factor"
        description="From that day on an administrator without one can do nothing but add one. API tokens are exempt."
        isChecked={needed}
        onChange={(_event, checked) => {
          setNeeded(checked);
          if (checked && day === '') setDay(dayOf(new Date()));
        }}
      />
      {needed && (
        <Field label="From" error={fieldMessage(problem, '/requiredFrom')} required>
          {(id) => <TextInput id={id} type="date" value={day} onChange={(_event, value) => setDay(value)} />}
        </Field>
      )}
      <p className="cistern-sentence">
        {without.length === 0 ? 'Every administrator has one.' : `Still without one: ${without.join(', ')}.`}
      </p>
    </FormShell>
  );
}

export function Policy() {
  const policy = useQuery(policyQuery);
  const session = useQuery(sessionQuery);
  if (policy.data === undefined) return <Waiting on={policy} />;
  return <PolicyForm policy={policy.data} hasOne={session.data?.secondFactor === true} />;
}
