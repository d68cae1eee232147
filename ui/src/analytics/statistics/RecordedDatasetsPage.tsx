// What is being measured: since when, whether it is recorded, and what it costs.
import { Button, EmptyState, EmptyStateBody, Label, PageSection } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, compact, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { RetentionForm } from '../retention/RetentionForm.tsx';
import { statisticLink } from '../worksheets/sheet.ts';

type Measured = Schemas['MeasuredDataset'];

const STATES = {
  starting: ['Starting…', 'blue'],
  recording: ['Measuring', 'green'],
  suspended: ['Suspended', 'yellow'],
  failed: ['Failed', 'red'],
  stopped: ['Stopped', 'grey'],
} as const;

function sentenceOf(datasets: readonly Measured[]): string {
  if (datasets.length === 0) return 'Nothing is being recorded.';
  const recorded = datasets.filter((one) => one.recorded).length;
  const cost = datasets.reduce((sum, one) => sum + one.cpuRatio, 0);
  const failed = datasets.filter((one) => one.state === 'failed').length;
  return `${plural(datasets.length, 'dataset')}, ${recorded} of them recorded; together they take ${percent(cost)} of one processor core.${
    failed > 0 ? ` ${failed} failed.` : ''
  }`;
}

const narrow = { modifier: 'fitContent' } as const;

const columns: readonly Column<Measured>[] = [
  {
    title: 'Dataset',
    head: { width: 20 },
    className: 'cistern-datasetname',
    cell: ({ name }) => (
      <Link to={statisticLink(name)} className="cistern-name">
        {name}
      </Link>
    ),
  },
  {
    title: 'State',
    head: narrow,
    cell: ({ state, reason, recorded, watched }) => {
      const [words, colour] = STATES[state];
      return (
        <>
          <Label isCompact color={colour} {...(reason !== null && { title: reason })}>
            {words}
          </Label>
          {(recorded || watched || state !== 'stopped') && (
            <div className="cistern-quiet">{recorded ? 'recorded' : watched ? 'on a page' : 'always'}</div>
          )}
          {reason !== null && <div className="cistern-quiet">{reason}</div>}
        </>
      );
    },
  },
  { title: 'Since', head: narrow, modifier: 'nowrap', cell: ({ since }) => <Ago time={since} /> },
  { title: 'Series now', head: narrow, cell: ({ seriesNow }) => compact(seriesNow) },
  {
    title: 'Stored',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ size }) =>
      size === null ? (
        <span title="The telemetry store does not answer">–</span>
      ) : (
        <span title={`${bytes(size.diskBytes)} on disk, ${bytes(size.memoryBytes)} in memory`}>
          {bytes(size.diskBytes + size.memoryBytes)}
        </span>
      ),
  },
  {
    title: 'An hour',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ size }) =>
      size?.bytesPerHour == null ? (
        <span title="What it adds to the disk is not known yet">–</span>
      ) : (
        <span title="What it adds to the disk, from what it took so far">{bytes(size.bytesPerHour)}</span>
      ),
  },
  {
    title: 'Lost',
    head: narrow,
    cell: ({ drops, restarts }) =>
      drops + restarts === 0 ? 'nothing' : `${plural(drops, 'drop')}, ${plural(restarts, 'restart')}`,
  },
  {
    title: 'Cost',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ cpuRatio }) => (
      <span title="Of one processor core, in the last minute">{cpuRatio === 0 ? 'none' : percent(cpuRatio)}</span>
    ),
  },
];

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
  const actions: Column<Measured> = {
    title: 'Actions',
    control: 'buttons',
    cell: ({ name, state, recorded }) => (
      <span className="cistern-rowactions">
        {state === 'suspended' || state === 'failed'
          ? button(name, 'resume', 'Resume')
          : button(name, 'suspend', 'Suspend')}
        {recorded ? button(name, 'forget', 'Stop recording') : button(name, 'record', 'Record')}
        {button(name, 'destroy', 'Destroy')}
      </span>
    ),
  };
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
              A <Link to="/analytics/statistics">statistic</Link> is measured while it is shown on a page; one that is
              recorded is measured at all times, also after a restart.
            </EmptyStateBody>
          </EmptyState>
        )}
        {data && data.length > 0 && (
          <ListTable
            label="Recorded datasets"
            cardsBelow="grid-lg"
            columns={[...columns, actions]}
            rows={data}
            keyOf={({ name }) => name}
          />
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
            {destroying} is no longer measured, and is removed from this list. What was recorded of it stays in the
            store until its retention ends.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}
