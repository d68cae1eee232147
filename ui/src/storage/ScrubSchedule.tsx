// When a pool is scrubbed by itself, and what its scrubs have found so far.
import { Button, Checkbox, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../api/client.ts';
import { Explained } from '../forms/Explained.tsx';
import { Field, TextField } from '../forms/Field.tsx';
import { FormShell } from '../forms/FormShell.tsx';
import { useMayNot } from '../frame/session.ts';
import { Ago } from '../words/Ago.tsx';
import { bytes } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { scansQuery, scrubScheduleQuery } from './queries.ts';

type Known = Schemas['ScrubSchedule'];
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function ScheduleForm({ pool, known, onClose }: { pool: string; known: Known; onClose: () => void }) {
  const queries = useQueryClient();
  const [enabled, setEnabled] = useState(known.enabled);
  const [every, setEvery] = useState<'week' | 'month'>(known.schedule.every === 'week' ? 'week' : 'month');
  const [weekday, setWeekday] = useState(String(known.schedule.weekday ?? 0));
  const [day, setDay] = useState(String(known.schedule.day ?? 1));
  const [at, setAt] = useState(known.schedule.at ?? '02:00');
  const save = useMutation({
    mutationFn: () =>
      answerOf(
        client.PUT('/api/pools/{name}/scrub-schedule', {
          params: { path: { name: pool } },
          body: {
            enabled,
            schedule: every === 'week' ? { every, at, weekday: Number(weekday) } : { every, at, day: Number(day) },
          },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['pools'] });
      onClose();
    },
  });
  const why = !/^([01]\d|2[0-3]):[0-5]\d$/.test(at)
    ? 'Write the time as HH:MM.'
    : every === 'month' && !(Number.isInteger(Number(day)) && Number(day) >= 1 && Number(day) <= 31)
      ? 'The day is a number from 1 to 31.'
      : null;
  return (
    <FormShell
      submit="Save"
      busy={save.isPending}
      error={save.error}
      mayNot={why}
      onSubmit={() => save.mutate()}
      more={
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      }
    >
      <Checkbox
        id="scrub-enabled"
        label="Scrub this pool by itself"
        description="Without it rot is found only when the data is read, which may be too late."
        isChecked={enabled}
        onChange={(_event, checked) => setEnabled(checked)}
      />
      <Field label="How often">
        {(id) => (
          <FormSelect id={id} value={every} onChange={(_event, value) => setEvery(value as 'week' | 'month')}>
            <FormSelectOption value="month" label="Every month" />
            <FormSelectOption value="week" label="Every week" />
          </FormSelect>
        )}
      </Field>
      {every === 'week' ? (
        <Field label="Day of the week">
          {(id) => (
            <FormSelect id={id} value={weekday} onChange={(_event, value) => setWeekday(value)}>
              {weekdays.map((name, index) => (
                <FormSelectOption key={name} value={String(index)} label={name} />
              ))}
            </FormSelect>
          )}
        </Field>
      ) : (
        <TextField label="Day of the month" value={day} onChange={setDay} inputMode="numeric" />
      )}
      <TextField label="Time" value={at} onChange={setAt} help="HH:MM, in the appliance's time zone." />
    </FormShell>
  );
}

export function ScrubSchedule({ pool }: { pool: string }) {
  const mayNot = useMayNot('operator');
  const schedule = useQuery(scrubScheduleQuery(pool));
  const scans = useQuery(scansQuery(pool));
  const [editing, setEditing] = useState(false);
  return (
    <div className="cistern-stack">
      <ProblemAlert error={schedule.error ?? scans.error} />
      {schedule.data && !editing && (
        <p>
          {schedule.data.enabled ? `It is scrubbed ${schedule.data.words}` : 'It is never scrubbed by itself'}
          {schedule.data.nextRun && (
            <>
              , next on <time dateTime={schedule.data.nextRun}>{moment.format(new Date(schedule.data.nextRun))}</time>
            </>
          )}
          .{' '}
          <Explained why={mayNot}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={mayNot !== null}
              onClick={() => (mayNot === null ? setEditing(true) : undefined)}
            >
              Change
            </Button>
          </Explained>
        </p>
      )}
      {schedule.data && editing && <ScheduleForm pool={pool} known={schedule.data} onClose={() => setEditing(false)} />}
      {scans.data && scans.data.length > 0 && (
        <Table aria-label="Scrubs so far" variant="compact" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>When</Th>
              <Th>Kind</Th>
              <Th>Read</Th>
              <Th>What it found</Th>
            </Tr>
          </Thead>
          <Tbody>
            {scans.data.map((scan) => (
              <Tr key={scan.startedAt}>
                <Td dataLabel="When">
                  <Ago time={scan.startedAt} />
                </Td>
                <Td dataLabel="Kind">{scan.kind}</Td>
                <Td dataLabel="Read">{bytes(scan.bytes)}</Td>
                <Td dataLabel="What it found">{scan.sentence}</Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      )}
    </div>
  );
}
