// What most rules leave as it is: missing data, days and hours, and the actions besides notifications.
import { Button, Checkbox, FormSelect, FormSelectOption, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { worksheetsQuery } from '../../analytics/worksheets/queries.ts';
import { fieldMessage, type Problem } from '../../api/problem.ts';
import { timeZonesQuery } from '../../api/queries.ts';
import { Field } from '../../forms/Field.tsx';
import { duration } from '../../words/format.ts';
import type { Draft, RuleAction } from './rule.ts';

type Part = { draft: Draft; set: (change: Partial<Draft>) => void; problem: Problem | null };

const absences = [60, 120, 300, 600, 1800, 3600, 86_400];

export function NoDataField({ draft, set }: Part) {
  const all =
    draft.noDataSeconds === 0 || absences.includes(draft.noDataSeconds) ? absences : [...absences, draft.noDataSeconds];
  return (
    <Field label="Missing data" help="A series that stops is marked in any case.">
      {(id, described) => (
        <FormSelect
          id={id}
          aria-describedby={described}
          value={draft.noDataSeconds}
          onChange={(_event, value) => set({ noDataSeconds: Number(value) })}
        >
          <FormSelectOption value={0} label="no alert of its own" />
          {all.map((seconds) => (
            <FormSelectOption key={seconds} value={seconds} label={`none for ${duration(seconds)}: raise an alert`} />
          ))}
        </FormSelect>
      )}
    </Field>
  );
}

const days: readonly [number, string][] = [
  [1, 'Mon'],
  [2, 'Tue'],
  [3, 'Wed'],
  [4, 'Thu'],
  [5, 'Fri'],
  [6, 'Sat'],
  [0, 'Sun'],
];

export function HoursFields({ draft, set, problem }: Part) {
  const { data: zones = [] } = useQuery(timeZonesQuery);
  const { hours } = draft;
  const change = (part: Partial<NonNullable<Draft['hours']>>) => hours && set({ hours: { ...hours, ...part } });
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <fieldset className="cistern-choices">
      <legend>Days and hours</legend>
      <Checkbox
        id="always"
        label="At any time"
        isChecked={hours === null}
        onChange={(_event, always) =>
          set({ hours: always ? null : { days: [1, 2, 3, 4, 5], from: '08:00', to: '18:00', timeZone: own } })
        }
      />
      {hours && (
        <>
          <div className="cistern-row-actions">
            {days.map(([day, words]) => (
              <Checkbox
                key={day}
                id={`day-${day}`}
                label={words}
                isChecked={hours.days.includes(day)}
                onChange={(_event, on) =>
                  change({ days: on ? [...hours.days, day].sort() : hours.days.filter((one) => one !== day) })
                }
              />
            ))}
          </div>
          <div className="cistern-fromto">
            <span>from</span>
            <TextInput type="time" aria-label="From" value={hours.from} onChange={(_event, from) => change({ from })} />
            <span>to</span>
            <TextInput
              type="time"
              aria-label="To"
              value={hours.to}
              validated={fieldMessage(problem, '/hours/to') ? 'error' : 'default'}
              onChange={(_event, to) => change({ to })}
            />
          </div>
          <FormSelect
            aria-label="Time zone"
            value={hours.timeZone}
            onChange={(_event, timeZone) => change({ timeZone })}
          >
            {!zones.includes(hours.timeZone) && <FormSelectOption value={hours.timeZone} label={hours.timeZone} />}
            {zones.map((zone) => (
              <FormSelectOption key={zone} value={zone} label={zone} />
            ))}
          </FormSelect>
          <p className="cistern-quiet">
            Nothing is raised at other times; what is active clears at any time.
            {hours.to < hours.from && ' It ends on the next day.'}
          </p>
        </>
      )}
    </fieldset>
  );
}

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

export function ActionFields({ draft, set }: Part) {
  const { actions } = draft;
  const { data: worksheets = [] } = useQuery({
    ...worksheetsQuery,
    enabled: actions.some(({ kind }) => kind.endsWith('-worksheet')),
  });
  const change = (at: number, part: Partial<RuleAction>) =>
    set({ actions: actions.map((one, index) => (index === at ? { ...one, ...part } : one)) });
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
              <FormSelectOption value="clear" label="when it clears" />
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
                {expiries.map(([seconds, words]) => (
                  <FormSelectOption key={seconds} value={seconds} label={words} />
                ))}
              </FormSelect>
            )}
            <Button
              variant="link"
              isInline
              aria-label={`Remove action ${number}`}
              onClick={() => set({ actions: actions.filter((_one, index) => index !== at) })}
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
          onClick={() =>
            set({ actions: [...actions, { on: 'raise', kind: 'resume-statistic', target: '', forSeconds: 900 }] })
          }
        >
          Add an action
        </Button>
      </div>
    </fieldset>
  );
}
