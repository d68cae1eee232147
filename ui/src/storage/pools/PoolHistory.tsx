// What was done to a pool: by ZFS' own account, and by ours, which knows who asked.
import { Label } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { PageLoading } from '../../shells/PageLoading.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { poolHistoryQuery } from './queries.ts';

const MOST = 300;

export default function PoolHistory({ pool }: { pool: string }) {
  const { data, error, refetch } = useQuery(poolHistoryQuery(pool));
  if (data === undefined) return error ? <ProblemAlert error={error} retry={() => void refetch()} /> : <PageLoading />;
  if (data.length === 0) return <p>Nothing is known of what was done to it.</p>;
  return (
    <>
      <Table aria-label="History" variant="compact" gridBreakPoint="grid-md">
        <Thead>
          <Tr>
            <Th>When</Th>
            <Th>What</Th>
            <Th>Who</Th>
          </Tr>
        </Thead>
        <Tbody>
          {data.slice(0, MOST).map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two lines of one second can be alike
            <Tr key={`${line.time} ${line.text} ${at}`}>
              <Td dataLabel="When">
                <Ago time={line.time} />
              </Td>
              <Td dataLabel="What">
                <div>
                  <code className="cistern-name">{line.text}</code>{' '}
                  {line.source === 'cistern' && <Label isCompact>appliance</Label>}
                </div>
              </Td>
              <Td dataLabel="Who">{line.by ?? ''}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      {data.length > MOST && (
        <p className="cistern-quiet">
          The newest {MOST} of {data.length}.
        </p>
      )}
    </>
  );
}
