// One silence: what it is for, from when to when, and which alerts it suppresses.
import { Button, Checkbox, FormSelect, FormSelectOption, Label, LabelGroup, TextInput } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { hostOf } from '../../analytics/hosts/words.ts';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { activeAlertsQuery, alertClassesQuery, silencesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { EditPage } from '../../shells/EditPage.tsx';
import { useNow } from '../../words/Ago.tsx';
import { plural } from '../../words/format.ts';
import { type Alert, labelWords } from '../alerts/words.ts';
import {
  draftOfSilence,
  inputOfSilence,
  local,
  moment,
  type Silence,
  type SilenceDraft,
  type SilenceInput,
  silenceWords,
} from './silence.ts';

const lengths: readonly [number, string][] = [
  [3600, '1 hour'],
  [4 * 3600, '4 hours'],
  [24 * 3600, '1 day'],
  [7 * 24 * 3600, '1 week'],
];
const severities = [
  ['critical', 'Critical'],
  ['warning', 'Warnings'],
  ['info', 'For information'],
] as const;

/** As the appliance matches, but for the key, which is not shown: for the preview only. */
function fits(input: SilenceInput, alert: Alert): boolean {
  const { classes, severities: wanted, text, hosts = [] } = input;
  if (hosts.length > 0 && !hosts.includes(hostOf(alert.labels) ?? '')) return false;
  if (wanted.length > 0 && !wanted.includes(alert.severity)) return false;
  const named = (one: string) => (one.endsWith('*') ? alert.class.startsWith(one.slice(0, -1)) : one === alert.class);
  if (classes.length > 0 && !classes.some(named)) return false;
  const all = [alert.class, alert.title, ...labelWords(alert.labels).split(', ')].join('\n').toLowerCase();
  return all.includes(text.toLowerCase());
}

function Classes({ draft, set }: { draft: SilenceDraft; set: (change: Partial<SilenceDraft>) => void }) {
  const { data = [] } = useQuery(alertClassesQuery);
  const groups = [...new Set(data.map((kind) => `${kind.class.split('.', 1)[0]}.*`))];
  const left = [...groups, ...data.map((kind) => kind.class)].filter((one) => !draft.classes.includes(one));
  return (
    <Field label="Classes" help="None chosen: all of them.">
      {(id, described) => (
        <>
          {draft.classes.length > 0 && (
            <LabelGroup numLabels={20} aria-label="Chosen classes">
              {draft.classes.map((one) => (
                <Label
                  key={one}
                  closeBtnAriaLabel={`Not ${one}`}
                  onClose={() => set({ classes: draft.classes.filter((other) => other !== one) })}
                >
                  {one}
                </Label>
              ))}
            </LabelGroup>
          )}
          <FormSelect
            id={id}
            aria-describedby={described}
            value=""
            onChange={(_event, value) => value !== '' && set({ classes: [...draft.classes, value] })}
          >
            <FormSelectOption value="" label={draft.classes.length === 0 ? 'All classes' : 'Also …'} />
            {left.map((one) => (
              <FormSelectOption key={one} value={one} label={one} />
            ))}
          </FormSelect>
        </>
      )}
    </Field>
  );
}

function Editor({ existing }: { existing: Silence | undefined }) {
  const [query] = useSearchParams();
  const now = useNow(10_000) / 1000;
  const [draft, setDraft] = useState(() => draftOfSilence(existing, query, Date.now() / 1000));
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const { data: alerts = [] } = useQuery(activeAlertsQuery);
  const set = (change: Partial<SilenceDraft>) => setDraft((before) => ({ ...before, ...change }));
  const input = inputOfSilence(draft, now);
  const path = { id: existing?.id ?? '' };
  const draftFrom = (one: Silence) => draftOfSilence(one, query, now);
  const edit = useEdited({
    now: existing,
    read: () => answerOf(client.GET('/api/silences/{id}', { params: { path } })),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftFrom(before), draftFrom(current))),
  });
  const back = () => void navigate('/alerts/silences');
  const save = useMutation({
    mutationFn: (body: SilenceInput) =>
      existing === undefined
        ? answerOf(client.POST('/api/silences', { body }))
        : edit.guard(answerOf(client.PUT('/api/silences/{id}', { params: { path, header: edit.header }, body }))),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['silences'] });
      back();
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const suppressed = typeof input === 'string' ? [] : alerts.filter((one) => fits(input, one));
  const from = draft.start === '' ? now : new Date(draft.start).getTime() / 1000;
  return (
    <FormShell
      submit={existing ? 'Save' : 'Begin the silence'}
      busy={save.isPending}
      error={save.error}
      fields={['/name', '/start', '/end']}
      mayNot={mayNot ?? (typeof input === 'string' ? input : null)}
      onSubmit={() => {
        if (typeof input !== 'string') save.mutate(input);
      }}
      cancel={back}
    >
      <TextField
        label="What it is for"
        value={draft.name}
        onChange={(name) => set({ name })}
        placeholder="New disks for the shelf"
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        required
      />
      <Field label="From" help="Left empty: from now on." error={fieldMessage(problem, '/start')}>
        {(id) => (
          <TextInput id={id} type="datetime-local" value={draft.start} onChange={(_event, start) => set({ start })} />
        )}
      </Field>
      <Field label="To" help="There is always an end." error={fieldMessage(problem, '/end')} required>
        {(id) => <TextInput id={id} type="datetime-local" value={draft.end} onChange={(_event, end) => set({ end })} />}
      </Field>
      <div className="cistern-row-actions">
        {lengths.map(([seconds, words]) => (
          <Button key={seconds} variant="link" isInline onClick={() => set({ end: local(from + seconds) })}>
            {words}
          </Button>
        ))}
      </div>
      <Classes draft={draft} set={set} />
      <fieldset className="cistern-choices">
        <legend>Severities</legend>
        {severities.map(([value, words]) => (
          <Checkbox
            key={value}
            id={`severity-${value}`}
            label={words}
            isChecked={draft.severities.length === 0 || draft.severities.includes(value)}
            onChange={(_event, chosen) => {
              const before = draft.severities.length === 0 ? severities.map(([one]) => one) : draft.severities;
              const after = chosen ? [...before, value] : before.filter((one) => one !== value);
              // All of them are the same as none named.
              set({ severities: after.length === severities.length ? [] : after });
            }}
          />
        ))}
      </fieldset>
      <TextField
        label="With the text"
        value={draft.text}
        onChange={(text) => set({ text })}
        placeholder="tank"
        help="In the title, the key or a label, as pool=tank. Left empty: any."
        autoComplete="off"
      />
      {typeof input !== 'string' && (
        <p aria-live="polite">
          {silenceWords(input)}, until {moment(input.end)}. {plural(suppressed.length, 'alert')}{' '}
          {suppressed.length === 1 ? 'is' : 'are'} active now that it matches
          {suppressed.length > 0 &&
            `: ${suppressed
              .slice(0, 5)
              .map(({ title }) => title)
              .join('; ')}`}
          .
        </p>
      )}
    </FormShell>
  );
}

export default function SilencePage() {
  const { id } = useParams();
  return (
    <EditPage
      id={id}
      list={useQuery(silencesQuery)}
      newTitle="New silence"
      way={[['Silences', '/alerts/silences']]}
      sentence="Alerts that match are logged and not sent. What is still active when it ends is sent then."
    >
      {(existing) => <Editor key={id} existing={existing} />}
    </EditPage>
  );
}
