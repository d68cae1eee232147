// What was done to a pool: by ZFS' own account, and by ours, which knows who asked.
import { Label } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { poolHistoryQuery } from './queries.ts';

const MAX_SHOWN = 300;

export default function PoolHistory({ pool }: { pool: string }) {
  const { data, error, refetch } = useQuery(poolHistoryQuery(pool));
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  if (data.length === 0) return <p>Nothing is known of what was done to it.</p>;
  return (
    <>
      <ListTable
        label="History"
        rows={data.slice(0, MAX_SHOWN)}
        keyOf={(line, at) => `${line.time} ${line.text} ${at}`}
        columns={[
          { title: 'When', cell: (line) => <Ago time={line.time} /> },
          {
            title: 'What',
            cell: (line) => (
              <div>
                <code className="cistern-name">{line.text}</code>{' '}
                {line.source === 'cistern' && <Label isCompact>appliance</Label>}
              </div>
            ),
          },
          { title: 'Who', cell: (line) => line.by ?? '' },
        ]}
      />
      {data.length > MAX_SHOWN && (
        <p className="cistern-quiet">
          The newest {MAX_SHOWN} of {data.length}.
        </p>
      )}
    </>
  );
}
