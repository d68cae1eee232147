// One rule, written as a sentence with fields in it; beside it the past hour with the limit drawn in.
import {
  Breadcrumb,
  BreadcrumbItem,
  Button,
  FormSelect,
  FormSelectOption,
  PageSection,
  Switch,
  TextArea,
  TextInput,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useDeferredValue, useId, useState } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { aligned, timesOf, useSeries } from '../analytics/useWindow.ts';
import { answerOf, client } from '../api/client.ts';
import { asProblem, fieldMessage, type Problem } from '../api/problem.ts';
import { thresholdsQuery } from '../api/queries.ts';
import { LineChart } from '../charts/LineChart.tsx';
import { Field, TextField } from '../forms/Field.tsx';
import { FormShell } from '../forms/FormShell.tsx';
import NoSuchPage from '../frame/NoSuchPage.tsx';
import { PageLoading } from '../frame/PageLoading.tsx';
import { useMayNot } from '../frame/session.ts';
import { duration, parseQuantity, plural, quantity } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { PageHead } from '../words/Sentence.tsx';
import { Tell } from './Tell.tsx';
import { labelWords, ruleSentence, standing, type Threshold, type ThresholdInput, unitOfExpression } from './words.ts';

/** What is in the fields: numbers stay as typed until the rule is saved. */
interface Draft extends Omit<ThresholdInput, 'raise' | 'clear'> {
  raise: string;
  clear: string;
}

const times: [number, string][] = [0, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600].map((total) => [
  total,
  total === 0 ? 'a moment' : duration(total),
]);
const reposts: [number, string][] = [
  [0, 'never again'],
  ...[300, 900, 1800, 3600, 14_400, 86_400].map((total): [number, string] => [total, `every ${duration(total)}`]),
];

/** What a limit looks like, by the unit of what is watched. */
const examples = { seconds: '1.5 s', bytes: '2 GiB', ratio: '80 %', plain: '100' } as const;

function draftOf(rule: Threshold | undefined, query: URLSearchParams): Draft {
  if (rule !== undefined) {
    const { id: _id, state: _state, ...input } = rule;
    return { ...input, raise: String(rule.raise), clear: String(rule.clear) };
  }
  const from = query.get('expression') ?? '';
  const type = query.get('type');
  const expression =
    from === ''
      ? ''
      : type === 'counter'
        ? `rate(${from}[1m])`
        : type === 'histogram'
          ? `histogram_quantile(0.99, ${from})`
          : from;
  return {
    name: '',
    expression,
    direction: 'above',
    raise: '',
    clear: '',
    raiseForSeconds: 60,
    clearForSeconds: 60,
    repostSeconds: 3600,
    severity: 'warning',
    enabled: true,
    destinations: [],
  };
}

function inputOf(draft: Draft): ThresholdInput | string {
  const raise = parseQuantity(draft.raise);
  const clear = draft.clear.trim() === '' ? raise : parseQuantity(draft.clear);
  if (draft.expression.trim() === '') return 'Say what to watch.';
  if (raise === undefined) return 'Give the limit as a number, for instance 1.5, 250 ms or 80 %.';
  if (clear === undefined) return 'Give the limit for the all-clear as a number.';
  const name = draft.name.trim() || `${draft.expression.trim().slice(0, 80)} ${draft.direction} ${draft.raise.trim()}`;
  return { ...draft, name, expression: draft.expression.trim(), raise, clear };
}

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

/** The past hour of what is watched, with the limit in it; and what the rule would say now. */
function Preview({ draft }: { draft: Draft }) {
  const expression = useDeferredValue(draft.expression.trim());
  const limit = parseQuantity(draft.raise);
  const frame = { range: 3600, end: null, step: 10 };
  const { data, error } = useSeries(expression, frame, expression !== '');
  const now = useQuery({
    queryKey: ['telemetry', 'preview', expression, draft.direction, limit],
    queryFn: ({ signal }) =>
      answerOf(
        client.POST('/api/thresholds/preview', {
          body: {
            expression,
            direction: draft.direction,
            raise: limit ?? 0,
            clear: parseQuantity(draft.clear) ?? limit ?? 0,
          },
          signal,
        }),
      ),
    enabled: expression !== '' && limit !== undefined,
    refetchInterval: 5_000,
    retry: false,
  });
  if (expression === '') return <p className="cistern-quiet">The past hour of what is watched is drawn here.</p>;
  if (error && data === undefined) return <ProblemAlert error={error} />;
  const { unit, perSecond } = unitOfExpression(expression);
  const lines = (data?.series ?? []).slice(0, 20).map((series, index) => ({
    label: labelWords(series.metric) || `series ${index + 1}`,
    values: data ? aligned(data.window, series.values) : [],
  }));
  const beyond = now.data?.series.filter((series) => series.wouldBe === 'active') ?? [];
  let verdict: ReactNode = null;
  if (now.data?.error) verdict = <span className="cistern-bad">{now.data.error}</span>;
  else if (now.data && now.data.series.length === 0) verdict = 'No series matches at the moment.';
  else if (now.data) {
    verdict =
      beyond.length === 0
        ? `Right now ${now.data.series.length === 1 ? 'it is' : `all ${now.data.series.length} series are`} within the limit.`
        : `Right now ${beyond.length} of ${plural(now.data.series.length, 'series', 'series')} ${beyond.length === 1 ? 'is' : 'are'} beyond the limit.`;
  }
  return (
    <>
      {data && (
        <LineChart
          label={`The past hour of ${expression}`}
          times={timesOf(data.window)}
          lines={lines}
          unit={unit}
          perSecond={perSecond}
          start={data.window.start}
          end={data.window.end}
          limit={limit}
        />
      )}
      <p aria-live="polite">{verdict}</p>
    </>
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
  const input = inputOf(draft);
  const save = useMutation({
    mutationFn: (body: ThresholdInput) =>
      rule === undefined
        ? answerOf(client.POST('/api/thresholds', { body }))
        : answerOf(client.PUT('/api/thresholds/{id}', { params: { path: { id: rule.id } }, body })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['thresholds'] });
      void navigate('/alerts/thresholds');
    },
  });
  const problem: Problem | null = save.error ? asProblem(save.error) : null;
  const local = tried && typeof input === 'string' ? input : null;
  const number = (text: string) =>
    tried && parseQuantity(text) === undefined ? 'A number, as 1.5, 250 ms or 80 %' : undefined;
  return (
    <div className="cistern-beside">
      <FormShell
        submit={rule === undefined ? 'Create the rule' : 'Save the rule'}
        mayNot={mayNot}
        busy={save.isPending}
        error={save.error ?? (local && !/number|watch/.test(local) ? new Error(local) : null)}
        fields={['/name', '/expression', '/raise', '/clear']}
        onSubmit={() => {
          setTried(true);
          if (typeof input !== 'string') save.mutate(input);
        }}
        more={
          <Button variant="link" onClick={() => void navigate('/alerts/thresholds')}>
            Cancel
          </Button>
        }
      >
        <Field
          label="When"
          help="A metric's name, or any PromQL expression."
          error={
            fieldMessage(problem, '/expression') ??
            (tried && draft.expression.trim() === '' ? 'Say what to watch.' : undefined)
          }
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
        <div className="cistern-rule">
          stays{' '}
          <Choice
            label="Above or below"
            value={draft.direction}
            options={[
              ['above', 'above'],
              ['below', 'below'],
            ]}
            onChange={(direction) => set({ direction: direction as Draft['direction'] })}
          />{' '}
          <Blank
            label="Limit"
            value={draft.raise}
            placeholder={examples[unitOfExpression(draft.expression).unit]}
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
          Clear it when it stays {draft.direction === 'above' ? 'below' : 'above'}{' '}
          <Blank
            label="Limit for the all-clear"
            value={draft.clear}
            placeholder={draft.raise || 'the same'}
            error={fieldMessage(problem, '/clear') ?? (draft.clear.trim() === '' ? undefined : number(draft.clear))}
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
        <Tell
          everybody="Whoever its class goes to; every destination, unless the catalogue says otherwise"
          chosen={draft.destinations}
          onChange={(destinations) => set({ destinations })}
        />
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
        {typeof input !== 'string' && <p className="cistern-sentence">{ruleSentence(input)}</p>}
        <Preview draft={draft} />
        {rule && rule.state.series.length > 0 && (
          <ul className="cistern-serieslist" aria-label="Series now">
            {rule.state.series.slice(0, 20).map((series) => {
              const { unit, perSecond } = unitOfExpression(rule.expression);
              return (
                <li key={labelWords(series.labels)}>
                  {labelWords(series.labels) || rule.name}:{' '}
                  {series.value === null ? 'no data' : quantity(series.value, unit, perSecond)}
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
  const { data, error } = useQuery(thresholdsQuery);
  const rule = data?.find((one) => one.id === id);
  if (id !== 'new' && data === undefined) {
    return error ? (
      <PageSection>
        <ProblemAlert error={error} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  if (id !== 'new' && rule === undefined) return <NoSuchPage />;
  return (
    <>
      <PageHead
        title={rule?.name ?? 'New threshold rule'}
        sentence={rule ? standing(rule).words : 'A rule is a sentence: fill in its blanks.'}
      />
      <PageSection>
        <Breadcrumb className="cistern-crumbs">
          <BreadcrumbItem>
            <Link to="/alerts/thresholds">Threshold rules</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{rule?.name ?? 'New'}</BreadcrumbItem>
        </Breadcrumb>
        <Editor key={id} rule={rule} />
      </PageSection>
    </>
  );
}
