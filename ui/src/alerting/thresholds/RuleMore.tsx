// What most rules leave as it is: missing data, days and hours.
import { Checkbox, FormSelect, FormSelectOption, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { fieldMessage, type Problem } from '../../api/problem.ts';
import { timeZonesQuery } from '../../api/queries.ts';
import { Field } from '../../forms/Field.tsx';
import { duration } from '../../words/format.ts';
import type { Draft } from './rule.ts';

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
