// One recording rule; beside it what it would record, over the past hour and now.
import { FormSelect, FormSelectOption, Switch, TextArea } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { recordingRulesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { EditPage } from '../../shells/EditPage.tsx';
import { duration } from '../../words/format.ts';
import { RecordingPreview } from './RecordingPreview.tsx';
import {
  draftOf,
  inputOf,
  isMissing,
  type Missing,
  type RecordingRule,
  type RecordingRuleInput,
  standing,
} from './rule.ts';

const LIST = '/analytics/recording-rules';
const intervals = [1, 5, 10, 15, 30, 60, 300, 600, 1800, 3600];
const FIELDS = ['/name', '/expression', '/labels', '/group', '/description', '/intervalSeconds'];

function Editor({ rule }: { rule: RecordingRule | undefined }) {
  const [query] = useSearchParams();
  const [draft, setDraft] = useState(() => draftOf(rule, query));
  const [tried, setTried] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const set = (change: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...change }));
  const input = inputOf(draft);
  const path = { id: rule?.id ?? '' };
  const edit = useEdited({
    now: rule,
    read: () => answerOf(client.GET('/api/recording-rules/{id}', { params: { path } })),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftOf(before, query), draftOf(current, query))),
  });
  const save = useMutation({
    mutationFn: (body: RecordingRuleInput) =>
      rule === undefined
        ? answerOf(client.POST('/api/recording-rules', { body }))
        : edit.guard(
            answerOf(client.PUT('/api/recording-rules/{id}', { params: { path, header: edit.header }, body })),
          ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['recording-rules'] });
      void navigate(LIST);
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const wrong = (field: Missing['field']) =>
    tried && isMissing(input) && input.field === field ? input.words : fieldMessage(problem, `/${field}`);
  const known = intervals.includes(draft.intervalSeconds)
    ? intervals
    : [...intervals, draft.intervalSeconds].sort((a, b) => a - b);
  return (
    <div className="cistern-beside">
      <FormShell
        submit={rule === undefined ? 'Create the rule' : 'Save the rule'}
        mayNot={mayNot ?? (rule?.fromFile ? 'This rule comes from a rule file, and is changed there.' : null)}
        busy={save.isPending}
        error={save.error}
        fields={FIELDS}
        onSubmit={() => {
          setTried(true);
          if (!isMissing(input)) save.mutate(input);
        }}
        cancel={LIST}
      >
        <TextField
          label="Name of the result"
          value={draft.name}
          onChange={(name) => set({ name })}
          placeholder="job:requests:rate5m"
          help="The metric that the result becomes. By custom: what it is apart by, the metric, and what was done to it."
          error={wrong('name')}
          autoComplete="off"
          required
        />
        <Field
          label="Expression"
          help="PromQL. A result may be numbers or histograms."
          error={wrong('expression')}
          required
        >
          {(id, described) => (
            <TextArea
              id={id}
              value={draft.expression}
              aria-describedby={described}
              resizeOrientation="vertical"
              autoResize
              rows={2}
              spellCheck={false}
              className="cistern-code"
              onChange={(_event, expression) => set({ expression })}
            />
          )}
        </Field>
        <Field label="Every">
          {(id) => (
            <FormSelect
              id={id}
              value={draft.intervalSeconds}
              onChange={(_event, value) => set({ intervalSeconds: Number(value) })}
            >
              {known.map((one) => (
                <FormSelectOption key={one} value={one} label={duration(one)} />
              ))}
            </FormSelect>
          )}
        </Field>
        <TextField
          label="Added labels"
          value={draft.labels}
          onChange={(labels) => set({ labels })}
          placeholder="site=north, team=web"
          help="Added to every series of the result. An empty value, as in host=, removes a label."
          error={wrong('labels')}
          autoComplete="off"
        />
        <TextField
          label="Group"
          value={draft.group}
          onChange={(group) => set({ group })}
          help="Rules of a group are evaluated one after the other: one may read the result of an earlier one."
          error={wrong('group')}
          autoComplete="off"
        />
        <TextField
          label="Description"
          value={draft.description}
          onChange={(description) => set({ description })}
          error={fieldMessage(problem, '/description')}
          autoComplete="off"
        />
        <Switch label="The rule is on" isChecked={draft.enabled} onChange={(_event, enabled) => set({ enabled })} />
      </FormShell>
      <aside aria-label="Preview">
        <RecordingPreview draft={draft} id={rule?.id} mayNot={mayNot} />
      </aside>
    </div>
  );
}

export default function RecordingRulePage() {
  const { id } = useParams();
  return (
    <EditPage
      id={id}
      list={useQuery(recordingRulesQuery)}
      newTitle="New recording rule"
      way={[['Recording rules', LIST]]}
      sentence={(rule) => (rule ? standing(rule).words : 'An expression whose result is stored as a metric.')}
    >
      {(rule) => <Editor key={id} rule={rule} />}
    </EditPage>
  );
}
