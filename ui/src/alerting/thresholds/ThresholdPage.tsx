// One rule, written as a sentence with fields in it; beside it the past hour with the limit drawn in.

import { Button, FormSelect, FormSelectOption, Switch, TextInput } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useId, useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { measureQuery, useMeasure } from '../../api/measure.ts';
import { asProblem, fieldMessage, type Problem } from '../../api/problem.ts';
import { thresholdsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { EditPage } from '../../shells/EditPage.tsx';
import { duration, parseQuantity, quantity } from '../../words/format.ts';
import { limitExample } from '../../words/units.ts';
import { ActionFields } from '../ActionFields.tsx';
import { ruleSentence, standing, type Threshold, wordsAmong } from '../alerts/words.ts';
import { EscalationFields, Recipients } from '../destinations/Recipients.tsx';
import { HoursFields, NoDataField } from './RuleMore.tsx';
import { RulePreview } from './RulePreview.tsx';
import { RuleWhat } from './RuleWhat.tsx';
import { type Draft, draftOf, inputOf, measuredBy, metricOf } from './rule.ts';

const times: [number, string][] = [0, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600].map((total) => [
  total,
  total === 0 ? 'a moment' : duration(total),
]);
const reposts: [number, string][] = [
  [0, 'never again'],
  ...[300, 900, 1800, 3600, 14_400, 86_400].map((total): [number, string] => [total, `every ${duration(total)}`]),
];

function Choice(props: {
  label: string;
  value: string | number;
  options: [string | number, string][];
  onChange: (value: string) => void;
}) {
  const known = props.options.some(([value]) => value === props.value);
  return (
    <FormSelect
      aria-label={props.label}
      value={props.value}
      onChange={(_event, value) => props.onChange(value)}
      className="cistern-inline"
    >
      {!known && <FormSelectOption value={props.value} label={duration(Number(props.value))} />}
      {props.options.map(([value, text]) => (
        <FormSelectOption key={value} value={value} label={text} />
      ))}
    </FormSelect>
  );
}

function Blank(props: {
  label: string;
  value: string;
  placeholder: string;
  error: string | undefined;
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <span className="cistern-blank">
      <TextInput
        aria-label={props.label}
        className="cistern-inline"
        value={props.value}
        placeholder={props.placeholder}
        validated={props.error ? 'error' : 'default'}
        aria-describedby={props.error ? id : undefined}
        onChange={(_event, value) => props.onChange(value)}
      />
      {props.error && (
        <small id={id} className="cistern-bad">
          {props.error}
        </small>
      )}
    </span>
  );
}

function Editor({ rule }: { rule: Threshold | undefined }) {
  const [query] = useSearchParams();
  const [draft, setDraft] = useState(() => draftOf(rule, query));
  const [tried, setTried] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  const watching = useDeferredValue(measuredBy(draft));
  const measure = useMeasure(watching);
  const input = inputOf(draft, measure.unit, useMeasure(metricOf(draft)).unit);
  const path = { id: rule?.id ?? '' };
  const edit = useEdited({
    now: rule,
    read: () => answerOf(client.GET('/api/thresholds/{id}', { params: { path } })),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftOf(before, query), draftOf(current, query))),
  });
  const save = useMutation({
    mutationFn: async (typed: Draft) => {
      // Limits are typed in the unit of what is watched: nothing is saved before that is known.
      const unitOf = async (expression: string) =>
        expression === '' ? 'count' : (await queries.fetchQuery(measureQuery(expression))).unit;
      const body = inputOf(typed, await unitOf(measuredBy(typed)), await unitOf(metricOf(typed)));
      if (typeof body === 'string') throw new Error(body);
      return rule === undefined
        ? answerOf(client.POST('/api/thresholds', { body }))
        : edit.guard(answerOf(client.PUT('/api/thresholds/{id}', { params: { path, header: edit.header }, body })));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['thresholds'] });
      void navigate('/alerts/thresholds');
    },
  });
  const forget = useMutation({
    mutationFn: (labels: Record<string, string>) =>
      answerOf(
        client.POST('/api/thresholds/{id}/forget-series', {
          params: { path: { id: rule?.id ?? '' } },
          body: { labels },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['thresholds'] }),
  });
  const problem: Problem | null = save.error ? asProblem(save.error) : null;
  const local = tried && typeof input === 'string' ? input : null;
  const number = (text: string) =>
    tried && parseQuantity(text, measure.unit) === undefined ? 'A number, as 1.5, 250 ms or 80 %' : undefined;
  const optional = (text: string) => (text.trim() === '' ? undefined : number(text));
  const band = draft.direction === 'outside';
  const words = wordsAmong(rule?.state.series ?? []);
  return (
    <div className="cistern-beside">
      <FormShell
        submit={rule === undefined ? 'Create the rule' : 'Save the rule'}
        mayNot={mayNot}
        busy={save.isPending}
        error={save.error ?? (local && !/number|Say what to watch\./.test(local) ? new Error(local) : null)}
        fields={[
          '/name',
          '/expression',
          '/raise',
          '/clear',
          '/raiseBelow',
          '/clearBelow',
          '/form/metric',
          '/form/to',
          '/form/slowerThan',
        ]}
        onSubmit={() => {
          setTried(true);
          if (typeof input !== 'string') save.mutate(draft);
        }}
        cancel="/alerts/thresholds"
      >
        <RuleWhat draft={draft} set={set} problem={problem} tried={tried} />
        <div className="cistern-rule">
          stays{' '}
          <Choice
            label="Above, below or outside"
            value={draft.direction}
            options={[
              ['above', 'above'],
              ['below', 'below'],
              ['outside', 'outside'],
            ]}
            onChange={(direction) => set({ direction: direction as Draft['direction'] })}
          />{' '}
          {band && (
            <>
              <Blank
                label="Lower limit"
                value={draft.raiseBelow}
                placeholder={limitExample(measure.unit)}
                error={fieldMessage(problem, '/raiseBelow') ?? number(draft.raiseBelow)}
                onChange={(raiseBelow) => set({ raiseBelow })}
              />{' '}
              to{' '}
            </>
          )}
          <Blank
            label={band ? 'Upper limit' : 'Limit'}
            value={draft.raise}
            placeholder={limitExample(measure.unit)}
            error={fieldMessage(problem, '/raise') ?? number(draft.raise)}
            onChange={(raise) => set({ raise })}
          />{' '}
          for{' '}
          <Choice
            label="For how long"
            value={draft.raiseForSeconds}
            options={times}
            onChange={(value) => set({ raiseForSeconds: Number(value) })}
          />
          , raise{' '}
          <Choice
            label="Severity"
            value={draft.severity}
            options={[
              ['critical', 'a critical alert'],
              ['warning', 'a warning'],
              ['info', 'a notice'],
            ]}
            onChange={(severity) => set({ severity: severity as Draft['severity'] })}
          />
          .
        </div>
        <div className="cistern-rule">
          Clear it when it stays {band ? 'between' : draft.direction === 'above' ? 'below' : 'above'}{' '}
          {band && (
            <>
              <Blank
                label="Lower limit for the all-clear"
                value={draft.clearBelow}
                placeholder={draft.raiseBelow || 'the same'}
                error={fieldMessage(problem, '/clearBelow') ?? optional(draft.clearBelow)}
                onChange={(clearBelow) => set({ clearBelow })}
              />{' '}
              and{' '}
            </>
          )}
          <Blank
            label={band ? 'Upper limit for the all-clear' : 'Limit for the all-clear'}
            value={draft.clear}
            placeholder={draft.raise || 'the same'}
            error={fieldMessage(problem, '/clear') ?? optional(draft.clear)}
            onChange={(clear) => set({ clear })}
          />{' '}
          for{' '}
          <Choice
            label="Clear for how long"
            value={draft.clearForSeconds}
            options={times}
            onChange={(value) => set({ clearForSeconds: Number(value) })}
          />
          . While it lasts, remind{' '}
          <Choice
            label="Remind"
            value={draft.repostSeconds}
            options={reposts}
            onChange={(value) => set({ repostSeconds: Number(value) })}
          />
          .
        </div>
        <Recipients
          all="The destinations of its class: all, unless the catalogue says otherwise"
          chosen={draft.destinations}
          onChange={(destinations) => set({ destinations })}
        />
        <EscalationFields
          none="as its class has it"
          value={draft.escalation}
          onChange={(escalation) => set({ escalation })}
        />
        <NoDataField draft={draft} set={set} problem={problem} />
        <HoursFields draft={draft} set={set} problem={problem} />
        <ActionFields actions={draft.actions} set={(actions) => set({ actions })} />
        <TextField
          label="Name of the rule"
          value={draft.name}
          onChange={(name) => set({ name })}
          placeholder={typeof input === 'string' ? '' : input.name}
          help="It is named in every message. Left empty, the rule is named after what it watches."
          error={fieldMessage(problem, '/name')}
          autoComplete="off"
        />
        <Switch label="The rule is on" isChecked={draft.enabled} onChange={(_event, enabled) => set({ enabled })} />
      </FormShell>
      <aside aria-label="Preview">
        {typeof input !== 'string' && (
          <p className="cistern-sentence">{ruleSentence(input, measure.unit + (measure.perSecond ? '/s' : ''))}</p>
        )}
        <RulePreview draft={draft} measure={measure} />
        {rule && rule.state.series.length > 0 && (
          <ul className="cistern-serieslist" aria-label="Series now">
            {rule.state.series.slice(0, 20).map((series) => {
              return (
                <li key={words(series.labels)}>
                  {words(series.labels) || rule.name}:{' '}
                  {series.value === null || series.state === 'no_data'
                    ? 'no data'
                    : quantity(series.value, rule.state.unit)}{' '}
                  {series.state === 'no_data' && mayNot === null && (
                    <Button
                      variant="link"
                      isInline
                      aria-label={`Forget ${words(series.labels) || rule.name}`}
                      onClick={() => forget.mutate(series.labels)}
                    >
                      Forget
                    </Button>
                  )}
                </li>
              );
            })}
          </ul>
        )}
      </aside>
    </div>
  );
}

export default function ThresholdPage() {
  const { id } = useParams();
  return (
    <EditPage
      id={id}
      list={useQuery(thresholdsQuery)}
      newTitle="New threshold rule"
      way={[['Threshold rules', '/alerts/thresholds']]}
      sentence={(rule) => (rule ? standing(rule).words : 'A rule is a sentence: fill in its blanks.')}
    >
      {(rule) => <Editor key={id} rule={rule} />}
    </EditPage>
  );
}
