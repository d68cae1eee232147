// Parts that have reported errors; those that have none are a sentence.
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ClearErrors } from './ClearErrors.tsx';
import type { PartErrors } from './queries.ts';
import { Section } from './Section.tsx';
import { countsOf, errorFreeWords, hasErrors, states, worstFirst } from './words.ts';

const columns: readonly Column<PartErrors>[] = [
  { title: 'Part', cell: ({ title }) => title, className: 'cistern-name' },
  {
    title: 'State',
    cell: ({ state }) => (
      <span>
        <ConditionIcon state={states[state][0]} /> {state === 'ok' ? 'too few to matter' : states[state][1]}
      </span>
    ),
  },
  {
    title: 'Errors',
    cell: (part) => (
      <div className="cistern-wrap">
        {countsOf(part)}
        {part.detail !== '' && <div className="cistern-quiet">{part.detail}</div>}
      </div>
    ),
  },
  {
    title: 'Counted since',
    cell: ({ clearedAt }) => (clearedAt === null ? 'the start of the machine' : <Ago time={clearedAt} />),
  },
  { title: 'Actions', control: 'actions', cell: (part) => <ClearErrors part={part} /> },
];

export function Errors({ errors }: { errors: readonly PartErrors[] }) {
  if (errors.length === 0) return null;
  const found = errors.filter(hasErrors);
  const free = errors.filter((one) => !hasErrors(one));
  return (
    <Section id="errors" title="Errors">
      {found.length > 0 && (
        <ListTable label="Errors" columns={columns} rows={worstFirst(found)} keyOf={({ part }) => part} />
      )}
      {free.length > 0 && <p className="cistern-past">{errorFreeWords(free, found.length > 0)}</p>}
    </Section>
  );
}
