// Applications as a table: each of its kinds is a row.
import { Link } from 'react-router';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { type Application, failedShare, failedWords, KINDS, pathOf, rateWords, timeWords } from './application.ts';

export type Row = Application['parts'][number] & { readonly name: string };

export const rowsOf = (applications: readonly Application[]): Row[] =>
  applications.flatMap(({ name, parts }) => parts.map((part) => ({ name, ...part })));

/** From so much on a failure is not one of those that there always are. */
const MANY = 0.01;

export const failing = (row: Row) => (failedShare(row) ?? 0) >= MANY;

const columns: readonly Column<Row>[] = [
  {
    title: 'Application',
    head: { width: 30 },
    cell: ({ name, kind, source }) => (
      <div>
        <Link to={pathOf(name)} className="cistern-name">
          {name}
        </Link>
        <div className="cistern-quiet" title={source}>
          {KINDS[kind]}
        </div>
      </div>
    ),
  },
  { title: 'Operations', modifier: 'nowrap', cell: ({ rate }) => rateWords(rate) },
  {
    title: 'Failed',
    modifier: 'nowrap',
    cell: (row) => (
      <span>
        {failing(row) && <ConditionIcon state="warning" />} {failedWords(row)}
      </span>
    ),
  },
  { title: 'Half within', modifier: 'nowrap', cell: ({ median }) => timeWords(median) },
  { title: '99 of 100 within', modifier: 'nowrap', cell: ({ p99 }) => timeWords(p99) },
];

export function ApplicationsTable({ rows }: { rows: readonly Row[] }) {
  return (
    <ListTable
      label="Applications"
      columns={columns}
      rows={rows}
      keyOf={({ name, kind, source }) => `${name} ${kind} ${source}`}
    />
  );
}
