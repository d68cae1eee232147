// The alerts of a group, a page at a time: however many there are, the browser holds those of one page.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { groupMembersQuery } from '../../api/queries.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { quantity } from '../../words/format.ts';
import { type AlertGroup, conditionOf } from './words.ts';

type Member = Schemas['GroupAlert'];

const PAGE = 50;

function stateWords({ state, acknowledgedBy, noData, clearedAt }: Member) {
  if (state === 'cleared') {
    return (
      <>
        cleared <Ago time={clearedAt} />
      </>
    );
  }
  const words = acknowledgedBy === null ? 'active' : `acknowledged by ${acknowledgedBy}`;
  return noData ? `${words}, no data` : words;
}

function columnsOf(group: AlertGroup, withValue: boolean): readonly Column<Member>[] {
  const value: Column<Member> = {
    title: 'Value',
    cell: (one) => (one.value === null ? '' : quantity(one.value, one.unit)),
  };
  // The name of the rule stands above: what differs is the series.
  const short = (title: string) =>
    group.ruleName !== null && title.startsWith(`${group.ruleName} (`) && title.endsWith(')')
      ? title.slice(group.ruleName.length + 2, -1)
      : title;
  return [
    {
      title: group.ruleName === null ? 'Alert' : 'Series',
      modifier: 'breakWord',
      cell: (one) => (
        <>
          <ConditionIcon state={one.state === 'active' ? conditionOf(one.severity) : 'ok'} />{' '}
          <Link to={`/alerts/${one.id}`}>{short(one.title)}</Link>
        </>
      ),
    },
    ...(withValue ? [value] : []),
    { title: 'State', cell: stateWords },
    { title: 'Raised', cell: (one) => <Ago time={one.raisedAt} /> },
  ];
}

export function Members(props: { group: AlertGroup; state: 'active' | 'all'; search: string }) {
  const { group, state, search } = props;
  const [offset, setOffset] = useState(0);
  const query = { state, limit: PAGE, offset, ...(search !== '' && { search }) };
  const { data, error, refetch } = useQuery(groupMembersQuery(group.id, query));
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const { items, total } = data;
  const last = Math.min(total, offset + items.length);
  return (
    <>
      <ListTable
        label={`Alerts of ${group.title}`}
        columns={columnsOf(
          group,
          items.some((one) => one.value !== null),
        )}
        rows={items}
        keyOf={(one) => one.id}
      />
      {total > PAGE && (
        <div className="cistern-row-actions">
          <Button
            variant="link"
            isInline
            isAriaDisabled={offset === 0}
            onClick={() => setOffset(Math.max(0, offset - PAGE))}
          >
            Before
          </Button>
          <span>
            {(offset + 1).toLocaleString()} to {last.toLocaleString()} of {total.toLocaleString()}
          </span>
          <Button variant="link" isInline isAriaDisabled={last >= total} onClick={() => setOffset(offset + PAGE)}>
            Next
          </Button>
        </div>
      )}
    </>
  );
}
