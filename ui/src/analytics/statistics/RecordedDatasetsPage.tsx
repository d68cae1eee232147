// What is being measured: since when, whether it goes on when nobody looks, and what it costs.
import { Button, EmptyState, EmptyStateBody, Label, PageSection } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, compact, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { RetentionForm } from '../retention/RetentionForm.tsx';
import { statisticLink } from '../worksheets/sheet.ts';

const STATES = {
  starting: ['Starting…', 'blue'],
  recording: ['Measuring', 'green'],
  suspended: ['Suspended', 'yellow'],
  failed: ['Failed', 'red'],
  stopped: ['Stopped', 'grey'],
} as const;

function sentenceOf(datasets: readonly Schemas['MeasuredDataset'][]): string {
  if (datasets.length === 0) return 'Nothing is being recorded.';
  const recorded = datasets.filter((one) => one.recorded).length;
  const cost = datasets.reduce((sum, one) => sum + one.cpuRatio, 0);
  const failed = datasets.filter((one) => one.state === 'failed').length;
  return `${plural(datasets.length, 'dataset')}, ${recorded} of them recorded; together they take ${percent(cost)} of one processor core.${
    failed > 0 ? ` ${failed} failed.` : ''
  }`;
}

export default function RecordedDatasetsPage() {
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [destroying, setDestroying] = useState<string | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['analytics', 'datasets'],
    queryFn: async ({ signal }) => (await answerOf(client.GET('/api/statistic-datasets', { signal }))).items,
    refetchInterval: 5_000,
    retry: false,
  });
  const act = useMutation({
    mutationFn: async ({
      name,
      what,
    }: {
      name: string;
      what: 'suspend' | 'resume' | 'record' | 'forget' | 'destroy';
    }) => {
      const one = { params: { path: { name } } };
      if (what === 'destroy') await answerOf(client.DELETE('/api/statistic-datasets/{name}', one));
      else {
        const verb = what === 'forget' ? 'stop-recording' : what;
        await answerOf(client.POST(`/api/statistic-datasets/{name}/${verb}`, one));
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['analytics'] }),
  });
  const button = (name: string, what: Parameters<typeof act.mutate>[0]['what'], text: string) => (
    <Button
      variant="link"
      isInline
      isAriaDisabled={mayNot !== null}
      {...(mayNot !== null && { title: mayNot })}
      aria-label={`${text} ${name}`}
      onClick={() => (what === 'destroy' ? setDestroying(name) : act.mutate({ name, what }))}
    >
      {text}
    </Button>
  );
  return (
    <>
      <PageHead title="Analytics" sentence={data && sentenceOf(data)} />
      <AnalyticsTabs active="datasets" />
      <PageSection>
        <ProblemAlert error={error} stale={data !== undefined} retry={() => void refetch()} />
        <ProblemAlert error={act.error} />
        {data?.length === 0 && (
          <EmptyState titleText="Nothing is being recorded" headingLevel="h2" variant="sm">
            <EmptyStateBody>
              A <Link to="/analytics/statistics">statistic</Link> that is looked at is measured as long as somebody
              looks; one that is recorded goes on, also after a restart.
            </EmptyStateBody>
          </EmptyState>
        )}
        {data && data.length > 0 && (
          <Table aria-label="Recorded datasets" variant="compact" gridBreakPoint="grid-lg">
            <Thead>
              <Tr>
                <Th width={20}>Dataset</Th>
                <Th modifier="fitContent">State</Th>
                <Th modifier="fitContent">Since</Th>
                <Th modifier="fitContent">Series now</Th>
                <Th modifier="fitContent">Stored</Th>
                <Th modifier="fitContent">An hour</Th>
                <Th modifier="fitContent">Lost</Th>
                <Th modifier="fitContent">Cost</Th>
                <Th screenReaderText="Actions" />
              </Tr>
            </Thead>
            <Tbody>
              {data.map((one) => {
                const [words, colour] = STATES[one.state];
                return (
                  <Tr key={one.name}>
                    <Td dataLabel="Dataset" className="cistern-datasetname">
                      <Link to={statisticLink(one.name)} className="cistern-name">
                        {one.name}
                      </Link>
                    </Td>
                    <Td dataLabel="State">
                      <Label isCompact color={colour} {...(one.reason !== null && { title: one.reason })}>
                        {words}
                      </Label>
                      {(one.recorded || one.watched || one.state !== 'stopped') && (
                        <div className="cistern-quiet">
                          {one.recorded ? 'recorded' : one.watched ? 'looked at' : 'always'}
                        </div>
                      )}
                      {one.reason !== null && <div className="cistern-quiet">{one.reason}</div>}
                    </Td>
                    <Td dataLabel="Since" modifier="nowrap">
                      <Ago time={one.since} />
                    </Td>
                    <Td dataLabel="Series now">{compact(one.seriesNow)}</Td>
                    <Td dataLabel="Stored" modifier="nowrap">
                      {one.size === null ? (
                        <span title="The telemetry store does not answer">–</span>
                      ) : (
                        <span title={`${bytes(one.size.diskBytes)} on disk, ${bytes(one.size.memoryBytes)} in memory`}>
                          {bytes(one.size.diskBytes + one.size.memoryBytes)}
                        </span>
                      )}
                    </Td>
                    <Td dataLabel="An hour" modifier="nowrap">
                      {one.size?.bytesPerHour == null ? (
                        <span title="What it adds to the disk is not known yet">–</span>
                      ) : (
                        <span title="What it adds to the disk, from what it took so far">
                          {bytes(one.size.bytesPerHour)}
                        </span>
                      )}
                    </Td>
                    <Td dataLabel="Lost">
                      {one.drops + one.restarts === 0
                        ? 'nothing'
                        : `${plural(one.drops, 'drop')}, ${plural(one.restarts, 'restart')}`}
                    </Td>
                    <Td dataLabel="Cost" modifier="nowrap" title="Of one processor core, in the last minute">
                      {one.cpuRatio === 0 ? 'none' : percent(one.cpuRatio)}
                    </Td>
                    <Td>
                      <span className="cistern-rowactions">
                        {one.state === 'suspended' || one.state === 'failed'
                          ? button(one.name, 'resume', 'Resume')
                          : button(one.name, 'suspend', 'Suspend')}
                        {one.recorded
                          ? button(one.name, 'forget', 'Stop recording')
                          : button(one.name, 'record', 'Record')}
                        {button(one.name, 'destroy', 'Destroy')}
                      </span>
                    </Td>
                  </Tr>
                );
              })}
            </Tbody>
          </Table>
        )}
      </PageSection>
      <PageSection>
        <RetentionForm />
      </PageSection>
      {destroying !== null && (
        <ConfirmByName
          title="Destroy this dataset?"
          name={destroying}
          action="Destroy"
          onConfirm={() => act.mutateAsync({ name: destroying, what: 'destroy' })}
          onClose={() => setDestroying(null)}
        >
          <p>
            {destroying} is measured no longer, and forgotten. What was recorded of it stays in the store until its
            retention ends.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}
