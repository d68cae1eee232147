// How long alerts took: until somebody was told, until somebody took charge, until it was over. A burst counts once.
import { EmptyState, EmptyStateBody, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { alertTimesQuery } from '../../api/queries.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { duration } from '../../words/format.ts';

type Row = Schemas['AlertTimes'];

const nameOf = (month: string) =>
  new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

const brief = (seconds: number) => (seconds < 1 ? 'at once' : duration(Math.round(seconds)));

/** "2 min; nine of ten within 14 min; 3 never". */
function Took({ took, of, never }: { took: Row['told']; of: number; never: string }) {
  const { count, medianSeconds, p90Seconds } = took;
  const rest = of - count;
  if (medianSeconds === null || p90Seconds === null) return <span className="cistern-quiet">{never}</span>;
  return (
    <div>
      {brief(medianSeconds)}
      <div className="cistern-quiet">
        {count > 1 && `nine of ten within ${brief(p90Seconds)}`}
        {count > 1 && rest > 0 && '; '}
        {rest > 0 && `${rest.toLocaleString()} ${never}`}
      </div>
    </div>
  );
}

function columns(first: Column<Row>): readonly Column<Row>[] {
  return [
    first,
    {
      title: 'How often',
      cell: ({ bursts, alerts }) => (
        <div>
          {bursts.toLocaleString()}
          {alerts > bursts && <div className="cistern-quiet">{alerts.toLocaleString()} alerts</div>}
        </div>
      ),
    },
    { title: 'Sent after', cell: (row) => <Took took={row.told} of={row.bursts} never="not sent" /> },
    {
      title: 'Acknowledged after',
      cell: (row) => <Took took={row.acknowledged} of={row.bursts} never="not acknowledged" />,
    },
    { title: 'Over after', cell: (row) => <Took took={row.cleared} of={row.bursts} never="not over" /> },
  ];
}

export function Times() {
  const [query, setQuery] = useSearchParams();
  const { data, error, refetch } = useQuery(alertTimesQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const months = data.filter((row) => row.class === null);
  const newest = months[0];
  if (newest === undefined) {
    return (
      <EmptyState headingLevel="h2" titleText="There has been no alert">
        <EmptyStateBody>How long alerts took is shown here by month and class.</EmptyStateBody>
      </EmptyState>
    );
  }
  const asked = query.get('month');
  const month = months.some((row) => row.month === asked) ? (asked as string) : newest.month;
  return (
    <div className="cistern-stack">
      <p>
        The first figure is the median: half took no longer. Alerts that were raised together count once, from the first
        of them on; they are over when the last one is. Months are those of UTC.
      </p>
      <ListTable
        label="Times by month"
        rows={months}
        keyOf={(row) => row.month}
        columns={columns({ title: 'Month', cell: (row) => nameOf(row.month) })}
      />
      <div className="cistern-filters">
        <FormSelect
          aria-label="Month"
          value={month}
          onChange={(_event, value) => setQuery({ month: value }, { replace: true })}
        >
          {months.map((row) => (
            <FormSelectOption key={row.month} value={row.month} label={nameOf(row.month)} />
          ))}
        </FormSelect>
      </div>
      <ListTable
        label={`Times by class, ${nameOf(month)}`}
        rows={data.filter((row) => row.month === month && row.class !== null)}
        keyOf={(row) => row.class ?? ''}
        columns={columns({
          title: 'Class',
          cell: (row) => <Link to={`/alerts/log?class=${encodeURIComponent(row.class ?? '')}`}>{row.class}</Link>,
        })}
      />
    </div>
  );
}
