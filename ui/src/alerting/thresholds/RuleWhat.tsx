// What a rule watches: any PromQL, or one of the ready forms that are clumsy to write.
import { FormSelect, FormSelectOption, TextArea } from '@patternfly/react-core';
import { fieldMessage, type Problem } from '../../api/problem.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { duration } from '../../words/format.ts';
import type { Draft, What } from './rule.ts';

const kinds: readonly [What, string][] = [
  ['expression', 'a metric, or any PromQL expression'],
  ['rate', 'how quickly a counter grows'],
  ['ratio', 'the ratio of two rates'],
  ['change', 'how much a value changes'],
  ['over-limit', 'how many were slower than a limit'],
];
const helps: Record<What, string> = {
  expression: "A metric's name, or any PromQL expression.",
  rate: 'A counter; the value is its growth a second.',
  ratio: 'A counter; the value is its rate divided by that of the other.',
  change: 'A metric that goes up and down; the value is by how much it changed in that time.',
  'over-limit': 'A metric of latencies (a statsd timer, a histogram); the value is how many of them were slower.',
};
const times = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 14_400, 86_400];

export function RuleWhat(props: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  problem: Problem | null;
  tried: boolean;
}) {
  const { draft, set, problem, tried } = props;
  const missing = (text: string) => (tried && text.trim() === '' ? 'Enter what to watch.' : undefined);
  const over = times.includes(draft.overSeconds) ? times : [...times, draft.overSeconds].sort((a, b) => a - b);
  return (
    <>
      <SelectField label="Watch" value={draft.what} onChange={(value) => set({ what: value })} options={kinds} />
      {draft.what === 'expression' ? (
        <Field
          label="When"
          help={helps.expression}
          error={fieldMessage(problem, '/expression') ?? missing(draft.expression)}
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
      ) : (
        <>
          <TextField
            label="Metric"
            value={draft.metric}
            onChange={(metric) => set({ metric })}
            placeholder={draft.what === 'over-limit' ? '{"checkout.time"}' : 'requests_total{site="north"}'}
            help={helps[draft.what]}
            error={fieldMessage(problem, '/form/metric') ?? missing(draft.metric)}
            autoComplete="off"
            required
          />
          {draft.what === 'ratio' && (
            <TextField
              label="Divided by the rate of"
              value={draft.to}
              onChange={(to) => set({ to })}
              placeholder="ingress_total"
              error={fieldMessage(problem, '/form/to') ?? missing(draft.to)}
              autoComplete="off"
              required
            />
          )}
          {draft.what === 'over-limit' && (
            <TextField
              label="Slower than"
              value={draft.slowerThan}
              onChange={(slowerThan) => set({ slowerThan })}
              placeholder="1.5 s"
              error={fieldMessage(problem, '/form/slowerThan')}
              autoComplete="off"
              required
            />
          )}
          <div className="cistern-pair">
            <TextField
              label="Apart by"
              value={draft.by}
              onChange={(by) => set({ by })}
              placeholder="host, site"
              help={
                draft.what === 'rate' || draft.what === 'change'
                  ? 'Names of labels. Left empty: each series for itself.'
                  : 'Names of labels. Left empty: all of them together.'
              }
              error={problem?.errors?.find(({ path }) => path.startsWith('/form/by'))?.message}
              autoComplete="off"
            />
            <Field label="Within">
              {(id) => (
                <FormSelect
                  id={id}
                  value={draft.overSeconds}
                  onChange={(_event, value) => set({ overSeconds: Number(value) })}
                >
                  {over.map((seconds) => (
                    <FormSelectOption key={seconds} value={seconds} label={duration(seconds)} />
                  ))}
                </FormSelect>
              )}
            </Field>
          </div>
        </>
      )}
    </>
  );
}
