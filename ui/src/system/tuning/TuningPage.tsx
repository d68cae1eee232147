// How the operating system is tuned: what each tunable does, what holds, and the way back.
import { Alert, Button } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { MaintenanceTabs } from '../MaintenanceTabs.tsx';
import { type Draft, draftOf, inputOf, type Tunable, typedIn, valueWords } from './tunables.ts';

type Tuning = Schemas['Tuning'];

const tuningQuery = queryOptions({
  queryKey: ['tuning'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/tuning', { signal })),
});

function help(one: Tunable): string {
  const now = one.now === null ? '' : ` Now ${valueWords(one, one.now)}.`;
  const own = one.default === null ? '' : ` The system by itself: ${valueWords(one, one.default)}.`;
  return `${one.effect}${now}${own} From ${valueWords(one, one.least)} to ${valueWords(one, one.most)}.`;
}

function TuningForm({ tuning, mayNot }: { tuning: Tuning; mayNot: string | null }) {
  const { tunables } = tuning;
  // Null: nothing was typed, and what is seen is what is set.
  const [typed, setTyped] = useState<Draft | null>(null);
  const kept = draftOf(tuning);
  const draft = typed ?? kept;
  const queries = useQueryClient();
  const changed = tunables.some(({ name }) => (draft[name] ?? '').trim() !== (kept[name] ?? ''));
  const edit = useEdited({
    now: tuning,
    read: () => queries.fetchQuery({ ...tuningQuery, staleTime: 0 }),
    onLoad: (current, before) => setTyped((mine) => mine && keepTyped(mine, draftOf(before), draftOf(current))),
    editing: changed,
  });
  const save = useMutation({
    mutationFn: (sent: Draft) =>
      edit.guard(
        answerOf(
          client.PUT('/api/tuning', { params: { header: edit.header }, body: { values: inputOf(sent, tunables) } }),
        ),
      ),
    onSuccess: (after) => {
      edit.saved(after);
      queries.setQueryData(tuningQuery.queryKey, after);
      setTyped(null);
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const isUntouched = tunables.every(({ name }) => (draft[name] ?? '') === '');
  return (
    <FormShell
      submit="Save"
      name="Tuning"
      onSubmit={() => save.mutate(draft)}
      busy={save.isPending}
      error={save.error}
      fields={tunables.map(({ name }) => `/values/${name}`)}
      mayNot={mayNot ?? (changed ? null : 'Nothing was changed.')}
      more={
        <Explained why={mayNot ?? (isUntouched ? 'Nothing is set.' : null)}>
          <Button
            variant="secondary"
            isAriaDisabled={mayNot !== null || isUntouched}
            onClick={() => setTyped(Object.fromEntries(tunables.map(({ name }) => [name, ''])))}
          >
            All as the system has it
          </Button>
        </Explained>
      }
    >
      {tunables.map((one) => (
        <TextField
          key={one.name}
          label={`${one.title}${typedIn(one)}`}
          inputMode="numeric"
          value={draft[one.name] ?? ''}
          onChange={(text) => setTyped({ ...draft, [one.name]: text })}
          placeholder="as the system has it"
          help={help(one)}
          error={fieldMessage(problem, `/values/${one.name}`)}
          autoComplete="off"
        />
      ))}
    </FormShell>
  );
}

export default function TuningPage() {
  const mayNot = useMayNot('administrator');
  const reading = useQuery({ ...tuningQuery, enabled: mayNot === null });
  const { data, error, refetch } = reading;
  const tabs = <MaintenanceTabs active="tuning" />;
  const sentence = 'What of the operating system may be set otherwise. It is well as it is unless measurements say so.';
  if (mayNot !== null) {
    return (
      <PageShell title="Tuning" sentence={sentence} tabs={tabs}>
        <p>{mayNot}</p>
      </PageShell>
    );
  }
  if (data === undefined) return <Waiting on={reading} page />;
  return (
    <PageShell title="Tuning" sentence={sentence} tabs={tabs}>
      <div className="cistern-stack">
        {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
        {data.unreadable && (
          <Alert isInline component="p" variant="danger" title="What was set cannot be read any more.">
            Everything is as the system has it. Set it anew.
          </Alert>
        )}
        {data.atStart && <p>What is set holds from the next start of the system on.</p>}
        <TuningForm tuning={data} mayNot={mayNot} />
      </div>
    </PageShell>
  );
}
