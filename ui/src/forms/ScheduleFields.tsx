// When something is repeated: the same fields for a snapshot, a scrub and a replication.
import { FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { Field, TextField } from './Field.tsx';

type Schedule = Schemas['SnapshotSchedule']['schedule'];
type Every = Schedule['every'];

const everies: readonly [Every, string][] = [
  ['minutes', 'Every few minutes'],
  ['hour', 'Every hour'],
  ['day', 'Every day'],
  ['week', 'Every week'],
  ['month', 'Every month'],
];
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const minuteSteps = [1, 2, 3, 5, 10, 15, 20, 30];

export interface ScheduleState {
  readonly value: Schedule;
  /** What is wrong with it, or null. */
  readonly why: string | null;
  readonly at: string;
  readonly day: string;
  readonly set: (change: { every?: Every; at?: string; minutes?: number; weekday?: number; day?: string }) => void;
}

/** What is typed, kept also while it is no schedule yet. */
export function useSchedule(was: Schedule): ScheduleState {
  const [typed, setTyped] = useState({
    every: was.every,
    at: was.at ?? '00:00',
    minutes: was.minutes ?? 15,
    weekday: was.weekday ?? 0,
    day: String(was.day ?? 1),
  });
  const { every, at, minutes, weekday, day } = typed;
  const value: Schedule =
    every === 'minutes'
      ? { every, minutes }
      : every === 'week'
        ? { every, at, weekday }
        : every === 'month'
          ? { every, at, day: Number(day) }
          : { every, at };
  const why =
    every !== 'minutes' && !/^([01]\d|2[0-3]):[0-5]\d$/.test(at)
      ? 'Write the time as HH:MM.'
      : every === 'month' && !(Number.isInteger(Number(day)) && Number(day) >= 1 && Number(day) <= 31)
        ? 'The day is a number from 1 to 31.'
        : null;
  return { value, why, at, day, set: (change) => setTyped((before) => ({ ...before, ...change })) };
}

export function ScheduleFields(props: {
  schedule: ScheduleState;
  /** Those that make sense for it; all when left out. */
  offered?: readonly Every[];
  help?: string;
}) {
  const { schedule, offered } = props;
  const { every, minutes, weekday } = schedule.value;
  return (
    <>
      <Field label="When" {...(props.help !== undefined && { help: props.help })}>
        {(id, described) => (
          <FormSelect
            id={id}
            value={every}
            aria-describedby={described}
            onChange={(_event, value) => schedule.set({ every: value as Every })}
          >
            {everies
              .filter(([value]) => offered === undefined || offered.includes(value))
              .map(([value, label]) => (
                <FormSelectOption key={value} value={value} label={label} />
              ))}
          </FormSelect>
        )}
      </Field>
      {every === 'minutes' && (
        <Field label="Minutes between two">
          {(id) => (
            <FormSelect id={id} value={minutes} onChange={(_event, value) => schedule.set({ minutes: Number(value) })}>
              {minuteSteps.map((value) => (
                <FormSelectOption key={value} value={value} label={String(value)} />
              ))}
            </FormSelect>
          )}
        </Field>
      )}
      {every === 'week' && (
        <Field label="Day of the week">
          {(id) => (
            <FormSelect id={id} value={weekday} onChange={(_event, value) => schedule.set({ weekday: Number(value) })}>
              {weekdays.map((name, value) => (
                <FormSelectOption key={name} value={value} label={name} />
              ))}
            </FormSelect>
          )}
        </Field>
      )}
      {every === 'month' && (
        <TextField
          label="Day of the month"
          value={schedule.day}
          onChange={(day) => schedule.set({ day })}
          inputMode="numeric"
          help="In a shorter month its last day."
        />
      )}
      {every !== 'minutes' && (
        <TextField
          label="At"
          value={schedule.at}
          onChange={(at) => schedule.set({ at })}
          help={
            every === 'hour'
              ? 'Of HH:MM only the minutes count.'
              : "HH:MM, in the appliance's time zone. When the clocks change it still happens once."
          }
        />
      )}
    </>
  );
}
