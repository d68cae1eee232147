// The management controller's sensors by kind. Of a machine with many, a kind is opened when something in it is wrong.
import { Button, SearchInput } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import type { Sensor } from './queries.ts';
import { Fold, Section } from './Section.tsx';
import { chartOf, groupWords, isWrong, limitsOf, reading, sensorKinds, states, worstFirst } from './words.ts';

/** As many are shown at once, and need no search. */
const FEW = 24;

const kinds = new Map(sensorKinds);

/** `kind`: where sensors of several kinds are in one table. */
const columnsOf = (kind: boolean): readonly Column<Sensor>[] => [
  {
    title: 'Sensor',
    cell: (sensor) => (
      <Link to={chartOf(sensor)} aria-label={`Chart of ${sensor.name}`} className="cistern-name">
        {sensor.name}
      </Link>
    ),
    head: { width: 35 },
  },
  ...(kind ? [{ title: 'Kind', cell: (sensor: Sensor) => kinds.get(sensor.kind) }] : []),
  {
    title: 'Reading',
    cell: ({ state, value, unit, reports }) => (
      <span className="cistern-wrap">
        <ConditionIcon state={states[state][0]} />{' '}
        {[
          ...(value === null ? [] : [reading(value, unit)]),
          ...(value === null || state !== 'ok' ? [states[state][1]] : []),
          ...reports,
        ].join(', ')}
      </span>
    ),
    head: { width: 35 },
  },
  { title: 'Limits', cell: limitsOf },
];

const worstOf = (sensors: readonly Sensor[]): Condition => {
  const [first] = worstFirst(sensors);
  return first !== undefined && isWrong(first) ? states[first.state][0] : 'ok';
};

function SensorTable(props: { label: string; sensors: readonly Sensor[]; kind?: boolean }) {
  const { label, sensors, kind = false } = props;
  return <ListTable label={label} columns={columnsOf(kind)} rows={worstFirst(sensors)} keyOf={({ name }) => name} />;
}

/** Of one kind: as long as some have a fault, only these at first. */
function KindTable({ title, sensors }: { title: string; sensors: readonly Sensor[] }) {
  const [all, setAll] = useState(false);
  const wrong = sensors.filter(isWrong);
  const less = !all && wrong.length > 0 && wrong.length < sensors.length;
  return (
    <>
      <SensorTable label={title} sensors={less ? wrong : sensors} />
      {less && (
        <Button variant="link" isInline className="cistern-past" onClick={() => setAll(true)}>
          Show all {sensors.length}
          <span className="pf-v6-screen-reader"> {title.toLowerCase()}</span>
        </Button>
      )}
    </>
  );
}

export function Sensors({ sensors }: { sensors: readonly Sensor[] }) {
  const [search, setSearch] = useState('');
  if (sensors.length === 0) return null;
  const many = sensors.length > FEW;
  const wanted = search.trim().toLowerCase();
  const found = sensors.filter(({ name }) => name.toLowerCase().includes(wanted));
  const groups = sensorKinds
    .map(([kind, title]) => ({ kind, title, mine: sensors.filter((one) => one.kind === kind) }))
    .filter(({ mine }) => mine.length > 0);
  return (
    <Section id="sensors" title="Sensors">
      {many && (
        <SearchInput
          aria-label="Search sensors"
          placeholder="A part of the name"
          value={search}
          onChange={(_event, value) => setSearch(value)}
          onClear={() => setSearch('')}
          className="cistern-find"
        />
      )}
      <p className="cistern-quiet">The name of a sensor leads to its chart.</p>
      {!many ? (
        <SensorTable label="Sensors" sensors={groups.flatMap(({ mine }) => mine)} kind />
      ) : wanted !== '' ? (
        <>
          <p aria-live="polite">{found.length === 0 ? 'No sensor is called that.' : plural(found.length, 'sensor')}</p>
          {found.length > 0 && <SensorTable label="Sensors that were found" sensors={found} kind />}
        </>
      ) : (
        groups.map(({ kind, title, mine }) => (
          <Fold
            key={kind}
            id={`sensors-${kind}`}
            heading="h3"
            open={mine.some(isWrong)}
            summary={
              <>
                <ConditionIcon state={worstOf(mine)} /> <strong>{title}</strong>: {groupWords(mine)}
              </>
            }
          >
            <KindTable title={title} sensors={mine} />
          </Fold>
        ))
      )}
    </Section>
  );
}
