// Which part of a name is the application, where metrics have no labels that say it.
import { Button, ExpandableSection, TextInput } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Field } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { type Rule, type Rules, rulesInput, rulesQuery } from './application.ts';

const MOST = 20;
const PATHS = Array.from({ length: MOST }, (_, at) => [`/rules/${at}/durations`, `/rules/${at}/failures`]).flat();
const EMPTY: Rule = { durations: '', failures: '' };
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function RuleRow(props: {
  rule: Rule;
  place: number;
  errors: { readonly durations: string | undefined; readonly failures: string | undefined };
  onChange: (rule: Rule) => void;
  onRemove: () => void;
}) {
  const { rule, place, errors, onChange, onRemove } = props;
  const field = (name: keyof Rule, label: string, placeholder: string) => (
    <Field label={`${label} ${place}`} error={errors[name]}>
      {(id, described, complaint) => (
        <TextInput
          id={id}
          value={rule[name]}
          placeholder={placeholder}
          validated={complaint ? 'error' : 'default'}
          aria-describedby={complaint ? described : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(_event, value) => onChange({ ...rule, [name]: value })}
        />
      )}
    </Field>
  );
  return (
    <div className="cistern-namerule">
      {field('durations', 'Names of durations', '{application}.{operation}.time')}
      {field('failures', 'Names of failures', '{application}.{operation}.errors')}
      <Button variant="link" isInline aria-label={`Remove rule ${place}`} onClick={onRemove}>
        Remove
      </Button>
    </div>
  );
}

function RulesForm({ now }: { now: Rules }) {
  const mayNot = useMayNot('operator');
  // Null: nothing was typed, and what is seen is what holds.
  const [typed, setTyped] = useState<{ rules: Rule[] } | null>(null);
  const rules = typed?.rules ?? now.rules;
  const set = (next: Rule[]) => setTyped({ rules: next });
  const queries = useQueryClient();
  const changed = !same(rulesInput(rules), now.rules);
  const edit = useEdited({
    now,
    read: () => queries.fetchQuery({ ...rulesQuery, staleTime: 0 }),
    onLoad: (current, before) =>
      setTyped((mine) => mine && keepTyped(mine, { rules: before.rules }, { rules: current.rules })),
    editing: changed,
  });
  const save = useMutation({
    mutationFn: (sent: readonly Rule[]) =>
      edit.guard(
        answerOf(
          client.PUT('/api/application-naming', { params: { header: edit.header }, body: { rules: rulesInput(sent) } }),
        ),
      ),
    onSuccess: async (after, sent) => {
      edit.saved(after);
      setTyped((mine) => (mine === null || same(mine.rules, sent) ? null : mine));
      await queries.invalidateQueries({ queryKey: ['applications'] });
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  // The appliance counts the rows that were sent.
  const errorOf = (at: number, name: keyof Rule) => {
    if (rulesInput([rules[at] ?? EMPTY]).length === 0) return undefined;
    return fieldMessage(problem, `/rules/${rulesInput(rules.slice(0, at)).length}/${name}`);
  };
  return (
    <FormShell
      name="Applications by name"
      submit="Save the rules"
      onSubmit={() => save.mutate(rules)}
      busy={save.isPending}
      error={save.error}
      fields={PATHS}
      mayNot={mayNot ?? (changed ? null : 'Nothing was changed.')}
    >
      <p className="cistern-quiet">
        {'{application} stands for the part of a name between two dots that is the application, {operation} for one part or several, * for any part. ' +
          'Durations are timers of statsd or other histograms; failures, if anything counts them, counters.'}
      </p>
      {rules.map((rule, at) => (
        <RuleRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place in the list
          key={at}
          {...{ rule, place: at + 1 }}
          errors={{ durations: errorOf(at, 'durations'), failures: errorOf(at, 'failures') }}
          onChange={(one) => set(rules.with(at, one))}
          onRemove={() => set(rules.toSpliced(at, 1))}
        />
      ))}
      <div>
        <Button
          variant="secondary"
          isAriaDisabled={mayNot !== null || rules.length >= MOST}
          onClick={() => mayNot === null && rules.length < MOST && set([...rules, EMPTY])}
        >
          Add a rule
        </Button>
      </div>
    </FormShell>
  );
}

export function NameRules() {
  const rules = useQuery(rulesQuery);
  const [open, setOpen] = useState(false);
  const count = rules.data?.rules.length ?? 0;
  return (
    <ExpandableSection
      toggleText={`Applications by name${count > 0 ? ` (${plural(count, 'rule')})` : ''}`}
      isExpanded={open}
      onToggle={(_event, expanded) => setOpen(expanded)}
    >
      {rules.data === undefined ? <Waiting on={rules} /> : <RulesForm now={rules.data} />}
    </ExpandableSection>
  );
}
