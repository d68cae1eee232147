// Where to send, what, and how much may wait; with a test that prints the receiver's answer.
import { Button, Radio } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { AddressFields, FileFields } from './AddressFields.tsx';
import { draftOfOutput, inputOfOutput, newOutput, type Output, type OutputDraft } from './output.ts';
import { RemoteWriteFields } from './RemoteWriteFields.tsx';

const kinds: readonly [Output['kind'], string][] = [
  ['remote-write', 'Remote write'],
  ['graphite', 'Graphite'],
  ['statsd', 'statsd'],
  ['file', 'Files'],
];

/** What is not there yet, in words; the appliance looks at the rest. */
function missingOf({ kind, url, address, folder }: OutputDraft): string | null {
  if (kind === 'remote-write') return url.trim() === '' ? 'Enter the address first.' : null;
  if (kind === 'file') return folder.trim() === '' ? 'Enter the folder first.' : null;
  return address.trim() === '' ? 'Enter the address first.' : null;
}

export function OutputForm(props: {
  existing?: Output | undefined;
  submit: string;
  onSaved: () => void;
  mayNot: string | null;
}) {
  const { existing, mayNot } = props;
  const [draft, setDraft] = useState<OutputDraft>(() =>
    existing ? draftOfOutput(existing) : newOutput('remote-write'),
  );
  const queries = useQueryClient();
  const set = (change: Partial<OutputDraft>) => setDraft((now) => ({ ...now, ...change }));
  const input = inputOfOutput(draft);
  const path = { id: existing?.id ?? '' };
  const edit = useEdited({
    now: existing,
    read: () => answerOf(client.GET('/api/outputs/{id}', { params: { path } })),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftOfOutput(before), draftOfOutput(current))),
  });
  const test = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/outputs/test', { body: { ...input, ...(existing && { id: existing.id }) } })),
  });
  const save = useMutation({
    mutationFn: () =>
      existing === undefined
        ? answerOf(client.POST('/api/outputs', { body: input }))
        : edit.guard(answerOf(client.PUT('/api/outputs/{id}', { params: { path, header: edit.header }, body: input }))),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['outputs'] });
      props.onSaved();
    },
  });
  const failure = save.error ?? test.error;
  const problem = failure ? asProblem(failure) : null;
  const at = (path: string) => fieldMessage(problem, path);
  const keepError = problem?.errors?.find(({ path }) => path.startsWith('/keep'));
  const missing = missingOf(draft);
  const fields = { draft, set, at, existing };
  return (
    <FormShell
      submit={props.submit}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={failure}
      fields={[
        ...['/name', '/labels', '/lagMiB', '/remoteWrite/url', '/remoteWrite/ca', '/file/folder'],
        ...(keepError ? [keepError.path] : []),
      ]}
      mayNot={mayNot ?? missing}
      cancel={props.onSaved}
      more={
        <Explained why={mayNot ?? missing}>
          <Button
            variant="secondary"
            isLoading={test.isPending}
            isAriaDisabled={mayNot !== null || missing !== null || test.isPending}
            onClick={() => test.mutate()}
          >
            Test
          </Button>
        </Explained>
      }
    >
      {existing === undefined && (
        <fieldset className="cistern-choices cistern-row">
          <legend>How</legend>
          {kinds.map(([kind, label]) => (
            <Radio
              key={kind}
              id={`kind-${kind}`}
              name="kind"
              label={label}
              isChecked={draft.kind === kind}
              onChange={() => set({ kind })}
            />
          ))}
        </fieldset>
      )}
      {draft.kind === 'remote-write' && <RemoteWriteFields {...fields} />}
      {(draft.kind === 'graphite' || draft.kind === 'statsd') && <AddressFields {...fields} />}
      {draft.kind === 'file' && <FileFields {...fields} />}
      <LinesField
        label="Series to send"
        help="PromQL selectors, one a line: a series that one of them matches is sent. Empty sends all."
        error={keepError && `Line ${Number(keepError.path.split('/')[2]) + 1} ${keepError.message}`}
        value={draft.keep}
        onChange={(keep) => set({ keep })}
      />
      <LinesField
        label="Labels to add"
        help="NAME=VALUE, one a line, as site=berlin: added to series that do not have them."
        error={at('/labels')}
        value={draft.labels}
        onChange={(labels) => set({ labels })}
      />
      {existing === undefined && (
        <SelectField
          label="Begin"
          value={draft.begin}
          onChange={(begin) => set({ begin })}
          options={[
            ['now', 'with what arrives from now on'],
            ['journal', 'with what the journal still holds, up to two hours'],
          ]}
        />
      )}
      <TextField
        label="May wait (MiB)"
        help="How much of the journal is kept for a receiver that does not take samples. Beyond it the oldest are skipped, counted, and an alert is raised."
        inputMode="numeric"
        value={draft.lagMiB}
        onChange={(lagMiB) => set({ lagMiB })}
        error={at('/lagMiB')}
        autoComplete="off"
      />
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => set({ name })}
        placeholder={input.name}
        error={at('/name')}
        autoComplete="off"
      />
      {test.data && (
        <section aria-label="Result of the test" aria-live="polite">
          <p className="cistern-sentence">
            <ConditionIcon state={test.data.ok ? 'ok' : 'critical'} />{' '}
            {test.data.ok ? 'The receiver can be reached.' : 'The receiver cannot be used so.'}
          </p>
          <p>{test.data.text}</p>
        </section>
      )}
    </FormShell>
  );
}
