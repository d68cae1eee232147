// What is in the machine: network ports, slots of enclosures, memory, processors, cards. Long lists are folded behind
// a sentence that says what is in them.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { disksQuery } from '../../api/queries.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { diskName } from '../../storage/disks/DiskTile.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, compact, exactBytes, plural } from '../../words/format.ts';
import type { Hardware, Slot } from './queries.ts';
import { Rows, Section, SHORT } from './Section.tsx';
import { isWrong, memoryWords, processorWords, states, worstFirst } from './words.ts';

type Port = Schemas['HardwarePort'];

export function Ports({ ports, cards }: Pick<Hardware, 'ports' | 'cards'>) {
  if (ports.length === 0) return null;
  const titleOf = (place: string | null) => cards.find((card) => card.place === place)?.title;
  const columns: readonly Column<Port>[] = [
    {
      title: 'Port',
      cell: ({ name, mac }) => (
        <div>
          {name}
          {mac && <div className="cistern-quiet">{mac}</div>}
        </div>
      ),
    },
    {
      title: 'Card',
      cell: ({ place }) => (
        <div className="cistern-wrap">
          {titleOf(place) ?? place ?? 'not known'}
          {titleOf(place) && <div className="cistern-quiet">{place}</div>}
        </div>
      ),
    },
    {
      title: 'Driver',
      cell: ({ driver, firmware }) => (
        <div className="cistern-wrap">
          {driver ?? 'none'}
          {firmware && <div className="cistern-quiet">firmware {firmware}</div>}
        </div>
      ),
    },
    {
      title: 'Packets',
      cell: ({ packets }) => <span title={packets.toLocaleString('en-US')}>{compact(packets)}</span>,
      modifier: 'nowrap',
    },
    { title: 'Errors', cell: ({ errors }) => errors.toLocaleString('en-US') },
  ];
  const erring = ports.filter(({ errors }) => errors > 0).length;
  const erringWords = erring === 0 ? 'none with errors' : `${erring} with errors`;
  return (
    <Section id="ports" title="Network ports">
      <Rows id="ports-list" count={ports.length} summary={`${plural(ports.length, 'port')}, ${erringWords}`}>
        <ListTable label="Network ports" columns={columns} rows={ports} keyOf={({ name }) => name} />
      </Rows>
    </Section>
  );
}

export function Slots({ slots }: Pick<Hardware, 'slots'>) {
  const { data: disks } = useQuery(disksQuery);
  if (slots.length === 0) return null;
  const nameOf = (id: string) => {
    const disk = disks?.items.find((one) => one.id === id);
    return disk === undefined ? id : diskName(disk);
  };
  const columns: readonly Column<Slot>[] = [
    { title: 'Slot', cell: ({ slot }) => slot },
    { title: 'Enclosure', cell: ({ enclosure }) => enclosure, className: 'cistern-name' },
    {
      title: 'Disk',
      cell: ({ disk, state }) =>
        disk === null ? (
          <span className="cistern-quiet">{state === 'absent' ? 'none' : 'none that the system sees'}</span>
        ) : (
          <Link to={`/storage/disks/${encodeURIComponent(disk)}`} className="cistern-wrap">
            {nameOf(disk)}
          </Link>
        ),
    },
    {
      title: 'State',
      cell: ({ state }) => (
        <span>
          <ConditionIcon state={states[state][0]} /> {state === 'absent' ? 'empty' : states[state][1]}
        </span>
      ),
    },
    { title: 'Light', cell: ({ lit }) => (lit ? <strong>on</strong> : 'off') },
  ];
  const wrong = slots.filter(isWrong).length;
  const lit = slots.filter((slot) => slot.lit).length;
  const shown = slots.filter((slot) => slot.disk !== null || slot.state !== 'absent' || slot.lit);
  const empty = slots.length - shown.length;
  const summary = [
    plural(slots.length, 'slot'),
    `${slots.filter(({ disk }) => disk !== null).length} with a disk`,
    ...(wrong > 0 ? [`${wrong} with a fault`] : []),
    ...(lit > 0 ? [`${lit} lit`] : []),
  ].join(', ');
  return (
    <Section id="slots" title="Slots of enclosures">
      {shown.length > 0 && (
        <Rows id="slots-list" count={shown.length} open={wrong > 0 || lit > 0} summary={summary}>
          <ListTable
            label="Slots"
            columns={columns}
            rows={worstFirst(shown)}
            keyOf={({ enclosure, slot }) => `${enclosure} ${slot}`}
          />
        </Rows>
      )}
      {empty > 0 && (
        <p className="cistern-past">
          {plural(empty, 'slot')} {empty === 1 ? 'is' : 'are'} empty.
        </p>
      )}
    </Section>
  );
}

const moduleColumns: readonly Column<Schemas['HardwareMemoryModule']>[] = [
  { title: 'Slot', cell: ({ slot }) => slot, className: 'cistern-name' },
  {
    title: 'Size',
    cell: ({ bytes: size }) =>
      size === null ? (
        <span className="cistern-quiet">empty</span>
      ) : (
        <span title={exactBytes(size)}>{bytes(size)}</span>
      ),
  },
  {
    title: 'Kind',
    cell: ({ kind, megatransfers }) =>
      [kind, megatransfers === null ? null : `${megatransfers} MT/s`].filter(Boolean).join(', ') || '–',
  },
  { title: 'Maker', cell: ({ maker }) => maker ?? '–', className: 'cistern-name' },
  { title: 'Part number', cell: ({ part }) => part ?? '–', className: 'cistern-name' },
  { title: 'Serial number', cell: ({ serial }) => serial ?? '–', className: 'cistern-name' },
];

export function Memory({ memory, memoryBytes }: Pick<Hardware, 'memory' | 'memoryBytes'>) {
  if (memory.length === 0) return null;
  const words = memoryWords({ memory, memoryBytes });
  return (
    <Section id="memory" title="Memory modules">
      {memory.length <= SHORT && <p>{words}</p>}
      <Rows id="memory-list" count={memory.length} summary={words}>
        <ListTable
          label="Memory modules"
          columns={moduleColumns}
          rows={memory}
          keyOf={({ slot }, at) => `${slot} ${at}`}
        />
      </Rows>
    </Section>
  );
}

export function Processors({ processors }: Pick<Hardware, 'processors'>) {
  if (processors.length === 0) return null;
  return (
    <Section id="processors" title="Processors">
      <p className="cistern-wrap">{processorWords(processors)}</p>
    </Section>
  );
}

const cardColumns: readonly Column<Schemas['HardwareCard']>[] = [
  {
    title: 'Card',
    cell: ({ title, kind }) => (
      <div className="cistern-wrap">
        {title}
        <div className="cistern-quiet">{kind}</div>
      </div>
    ),
  },
  {
    title: 'Place',
    cell: ({ place, slot }) => (
      <div className="cistern-wrap">
        {place}
        {slot && <div className="cistern-quiet">slot {slot}</div>}
      </div>
    ),
  },
  {
    title: 'Driver',
    cell: ({ driver }) => driver ?? <span className="cistern-quiet">none: the system cannot use it</span>,
  },
];

export function Cards({ cards }: Pick<Hardware, 'cards'>) {
  if (cards.length === 0) return null;
  const idle = cards.filter(({ driver }) => driver === null).length;
  const summary = `${plural(cards.length, 'card')}${idle > 0 ? `, ${idle} without a driver` : ''}`;
  return (
    <Section id="cards" title="Cards">
      <Rows id="cards-list" count={cards.length} summary={summary}>
        <ListTable label="Cards" columns={cardColumns} rows={cards} keyOf={({ place }) => place} />
      </Rows>
    </Section>
  );
}
