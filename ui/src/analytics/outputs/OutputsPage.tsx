// Where samples are sent on, and how each output does.
import { Button, Label, PageSection } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { outputsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { AddButton, EmptyList, RemoveButton } from '../../forms/ListActions.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, compact, duration, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { type Output, switched } from './output.ts';

const STATES = {
  off: ['Switched off', 'grey'],
  delivering: ['Delivering', 'green'],
  'catching-up': ['Catching up', 'blue'],
  failing: ['Not delivering', 'red'],
  invalid: ['Cannot run', 'red'],
  unknown: ['Not known yet', 'grey'],
} as const;

function whereTo({ remoteWrite, graphite, statsd, file }: Output): string {
  if (remoteWrite) return `Remote write to ${remoteWrite.url}`;
  if (graphite) return `Graphite at ${graphite.address}`;
  if (statsd) return `statsd at ${statsd.address}, ${statsd.protocol.toUpperCase()}`;
  return file ? `Files in outputs/${file.folder}` : '';
}

function sentenceOf(outputs: readonly Output[]): string {
  const enabled = outputs.filter((one) => one.enabled);
  if (enabled.length === 0) return 'Samples are stored here, and sent nowhere else.';
  const failing = enabled.filter(({ health }) => health.state === 'failing' || health.state === 'invalid').length;
  const all = `Samples are also sent to ${plural(enabled.length, 'output')}.`;
  if (failing === 0) return all;
  if (enabled.length === 1) return `${all} It does not deliver.`;
  return `${all} ${failing} of them ${failing === 1 ? 'does' : 'do'} not deliver.`;
}

/** Samples are sent once a second: what waits that long is on its way. */
const CURRENT_SECONDS = 5;

const narrow = { modifier: 'fitContent' } as const;

/** What did not arrive, in words; nothing when all did. */
function lossOf({ health }: Output): string {
  const { skipped, refused, leftOut } = health;
  return [
    skipped > 0 && `${compact(skipped)} skipped`,
    refused > 0 && `${compact(refused)} refused`,
    leftOut > 0 && `${compact(leftOut)} left out`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

const columns: readonly Column<Output>[] = [
  {
    title: 'Output',
    head: { width: 25 },
    cell: (one) => (
      <>
        <Link to={`/analytics/outputs/${one.id}`} className="cistern-name">
          {one.name}
        </Link>
        <div className="cistern-quiet">{whereTo(one)}</div>
      </>
    ),
  },
  {
    title: 'State',
    head: { width: 25 },
    cell: ({ health }) => {
      const [words, colour] = STATES[health.state];
      return (
        <>
          <Label isCompact color={colour}>
            {words}
          </Label>
          {health.error !== null && (
            <div className="cistern-bad">
              Since <Ago time={health.since} />: {health.error}
            </div>
          )}
          {health.refusedWords !== null && (
            <div className="cistern-quiet">
              Refused <Ago time={health.refusedAt} />: {health.refusedWords}
            </div>
          )}
        </>
      );
    },
  },
  {
    title: 'Waiting',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ enabled, health }) =>
      !enabled ? (
        '–'
      ) : health.state === 'delivering' && health.lagSeconds < CURRENT_SECONDS ? (
        'up to date'
      ) : (
        <span title="How old the oldest sample is that waits, and how much of the journal waits">
          {duration(Math.ceil(health.lagSeconds))}, {bytes(health.lagBytes)}
        </span>
      ),
  },
  {
    title: 'Sent',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ health }) => <span title="Samples, since storaged started">{compact(health.sent)}</span>,
  },
  {
    title: 'Not sent',
    head: narrow,
    cell: (one) => (
      <span title="Samples, since storaged started: skipped because too much waited, refused by the receiver, or without a form in what is sent">
        {lossOf(one) || 'none'}
      </span>
    ),
  },
  {
    title: 'Last delivered',
    head: narrow,
    modifier: 'nowrap',
    cell: ({ health }) => <Ago time={health.lastDeliveredAt} />,
  },
];

export default function OutputsPage() {
  const { data, error, refetch } = useQuery(outputsQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [removing, setRemoving] = useState<Output | null>(null);
  const change = useMutation({
    mutationFn: (one: Output) => {
      const params = { path: { id: one.id }, header: ifMatch(one) };
      return answerOf(client.PUT('/api/outputs/{id}', { params, body: switched(one, !one.enabled) }));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['outputs'] }),
  });
  const add = (
    <AddButton to="/analytics/outputs/new" why={mayNot}>
      Add an output
    </AddButton>
  );
  const actions: Column<Output> = {
    title: 'Actions',
    control: 'buttons',
    cell: (one) => (
      <span className="cistern-rowactions">
        <Explained why={mayNot}>
          <Button
            variant="link"
            isInline
            isAriaDisabled={mayNot !== null || change.isPending}
            aria-label={`Switch ${one.enabled ? 'off' : 'on'} the output ${one.name}`}
            onClick={() => change.mutate(one)}
          >
            {one.enabled ? 'Switch off' : 'Switch on'}
          </Button>
        </Explained>
        <RemoveButton what={`the output ${one.name}`} why={mayNot} onRemove={() => setRemoving(one)} />
      </span>
    ),
  };
  return (
    <>
      <PageHead title="Analytics" sentence={data && sentenceOf(data)} />
      <AnalyticsTabs active="outputs" />
      <PageSection>
        <ProblemAlert error={change.error} />
        {data === undefined ? (
          <Waiting on={{ error, refetch }} />
        ) : data.length === 0 ? (
          <EmptyList title="Samples are sent nowhere else" add={add}>
            What is stored here can be sent on as it arrives: to Prometheus, VictoriaMetrics, Mimir or another Cistern
            by remote write, to Graphite, to statsd, or into files.
          </EmptyList>
        ) : (
          <div className="cistern-stack">
            <div>{add}</div>
            <ListTable
              label="Outputs"
              cardsBelow="grid-lg"
              columns={[...columns, actions]}
              rows={data}
              keyOf={({ id }) => id}
            />
          </div>
        )}
      </PageSection>
      {removing && (
        <ConfirmByName
          title="Remove this output?"
          name={removing.name}
          action="Remove the output"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/outputs/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['outputs'] });
          }}
        >
          <p>
            Samples are no longer sent there
            {removing.health.lagBytes > 0 && ', and what waits will not be'}. They stay in the store.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}
