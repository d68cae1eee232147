// What has changed in the machine, and the management controller's own log.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Hardware, hardwareEventsQuery } from './queries.ts';
import { Section, SHORT } from './Section.tsx';
import { states } from './words.ts';

/** The first rows of a list, and a button for all of it. */
function useFirst<T>(rows: readonly T[], what: string) {
  const [all, setAll] = useState(false);
  return {
    shown: all ? rows : rows.slice(0, SHORT),
    more: !all && rows.length > SHORT && (
      <Button variant="link" isInline className="cistern-past" onClick={() => setAll(true)}>
        Show all {rows.length} {what}
      </Button>
    ),
  };
}

export function Changes({ changes }: Pick<Hardware, 'changes'>) {
  const { shown, more } = useFirst(changes, 'changes');
  return (
    <Section id="changes" title="Changes">
      {changes.length === 0 ? (
        <p>No part was added, taken out or moved since the appliance looked for the first time.</p>
      ) : (
        <ListTable
          label="Changes"
          rows={shown}
          keyOf={({ at, text }) => `${at} ${text}`}
          columns={[
            { title: 'When', cell: ({ at }) => <Ago time={at} />, modifier: 'nowrap' },
            { title: 'Change', cell: ({ text }) => text, className: 'cistern-name' },
          ]}
        />
      )}
      {more}
    </Section>
  );
}

const eventColumns: readonly Column<Schemas['HardwareEvent']>[] = [
  {
    title: 'When',
    cell: ({ at }) => (at === null ? 'its clock was not set' : <Ago time={at} />),
    modifier: 'nowrap',
  },
  { title: 'Sensor', cell: ({ sensor }) => sensor, className: 'cistern-name' },
  {
    title: 'Event',
    cell: ({ text, over, state }) => (
      <span className="cistern-wrap">
        <ConditionIcon state={over || state === 'ok' || state === 'absent' ? 'info' : states[state][0]} /> {text}
        {over && <span className="cistern-quiet"> (over)</span>}
      </span>
    ),
  },
];

export function EventLog() {
  const { data, error, refetch } = useQuery(hardwareEventsQuery);
  const { shown, more } = useFirst(data?.items ?? [], 'events');
  return (
    <Section id="events" title="Event log of the management controller">
      {data === undefined ? (
        <Waiting on={{ error, refetch }} />
      ) : (
        <>
          {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
          {data.error !== null && (
            <p>
              <ConditionIcon state="warning" /> {data.error}
            </p>
          )}
          {data.items.length === 0 ? (
            data.error === null && <p>The log is empty.</p>
          ) : (
            <ListTable
              label="Event log"
              columns={eventColumns}
              rows={shown}
              keyOf={({ number, at }) => `${number} ${at}`}
            />
          )}
          {more}
        </>
      )}
    </Section>
  );
}
