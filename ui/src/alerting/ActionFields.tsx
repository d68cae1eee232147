// What a rule or a class of alerts does besides notifications.
import { Button, FormSelect, FormSelectOption, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { worksheetsQuery } from '../analytics/worksheets/queries.ts';
import type { Schemas } from '../api/client.ts';
import { duration } from '../words/format.ts';

type RuleAction = Schemas['RuleAction'];

const kinds: readonly [RuleAction['kind'], string, string][] = [
  ['resume-statistic', 'measure the statistic', 'io.ops[disk]'],
  ['suspend-statistic', 'suspend the statistic', 'io.ops[disk]'],
  ['resume-worksheet', 'resume the worksheet', 'ws-…'],
  ['suspend-worksheet', 'suspend the worksheet', 'ws-…'],
  ['snapshot', 'take a snapshot of the dataset', 'tank/home'],
  ['bundle', 'make a support bundle', ''],
];
const expiries: readonly [number, string][] = [
  [0, 'until it clears'],
  [300, 'for 5 minutes'],
  [900, 'for 15 minutes'],
  [3600, 'for 1 hour'],
  [14_400, 'for 4 hours'],
];

export function ActionFields(props: {
  actions: readonly RuleAction[];
  set: (actions: RuleAction[]) => void;
  /** It does not last: nothing is done when it clears, and what is resumed has an end of its own. */
  transient?: boolean;
}) {
  const { actions, set, transient = false } = props;
  const { data: worksheets = [] } = useQuery({
    ...worksheetsQuery,
    enabled: actions.some(({ kind }) => kind.endsWith('-worksheet')),
  });
  const change = (at: number, part: Partial<RuleAction>) =>
    set(actions.map((one, index) => (index === at ? { ...one, ...part } : one)));
  return (
    <fieldset className="cistern-choices">
      <legend>Also do</legend>
      {actions.map((action, at) => {
        const number = at + 1;
        const expires = action.kind.startsWith('resume');
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and their order is theirs
          <div key={at} className="cistern-action">
            <FormSelect
              aria-label={`Action ${number}: when`}
              value={action.on}
              onChange={(_event, on) => change(at, { on: on as RuleAction['on'] })}
            >
              <FormSelectOption value="raise" label="when it is raised" />
              {!transient && <FormSelectOption value="clear" label="when it clears" />}
            </FormSelect>
            <FormSelect
              aria-label={`Action ${number}: what`}
              value={action.kind}
              onChange={(_event, kind) => change(at, { kind: kind as RuleAction['kind'], target: '' })}
            >
              {kinds.map(([kind, words]) => (
                <FormSelectOption key={kind} value={kind} label={words} />
              ))}
            </FormSelect>
            {action.kind.endsWith('-worksheet') && (
              <FormSelect
                aria-label={`Action ${number}: which`}
                value={action.target}
                onChange={(_event, target) => change(at, { target })}
              >
                <FormSelectOption value="" label="Choose one" />
                {worksheets.map((one) => (
                  <FormSelectOption key={one.id} value={one.id} label={one.name} />
                ))}
              </FormSelect>
            )}
            {action.kind !== 'bundle' && !action.kind.endsWith('-worksheet') && (
              <TextInput
                aria-label={`Action ${number}: which`}
                value={action.target}
                placeholder={kinds.find(([kind]) => kind === action.kind)?.[2] ?? ''}
                onChange={(_event, target) => change(at, { target })}
              />
            )}
            {expires && (
              <FormSelect
                aria-label={`Action ${number}: how long`}
                value={action.forSeconds}
                onChange={(_event, value) => change(at, { forSeconds: Number(value) })}
              >
                {!expiries.some(([seconds]) => seconds === action.forSeconds) && (
                  <FormSelectOption value={action.forSeconds} label={`for ${duration(action.forSeconds)}`} />
                )}
                {expiries.slice(transient ? 1 : 0).map(([seconds, words]) => (
                  <FormSelectOption key={seconds} value={seconds} label={words} />
                ))}
              </FormSelect>
            )}
            <Button
              variant="link"
              isInline
              aria-label={`Remove action ${number}`}
              onClick={() => set(actions.filter((_one, index) => index !== at))}
            >
              Remove
            </Button>
          </div>
        );
      })}
      <div>
        <Button
          variant="link"
          isInline
          onClick={() => set([...actions, { on: 'raise', kind: 'resume-statistic', target: '', forSeconds: 900 }])}
        >
          Add an action
        </Button>
      </div>
    </fieldset>
  );
}
