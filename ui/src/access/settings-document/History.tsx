// The history of the settings: who changed which part, what of it, and the way back.
import { Button, EmptyState, EmptyStateBody, FormSelect, FormSelectOption, Title } from '@patternfly/react-core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageLoading, Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { ways } from '../audit/ways.ts';
import { Changes, PlanView } from './Changes.tsx';
import { comparisonQuery, type Entry, historyQuery, partsQuery, restorePlanQuery } from './queries.ts';

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const causes: Record<Entry['cause'], string> = { change: '', apply: ' by a document', restore: ' by a restore' };

const count = ({ added, changed, removed }: Entry) =>
  [added > 0 && `${added} added`, changed > 0 && `${changed} changed`, removed > 0 && `${removed} removed`]
    .filter((one) => one !== false)
    .join(', ');

function Restore({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const queries = useQueryClient();
  const { data: plan, ...reading } = useQuery(restorePlanQuery(entry.id));
  const restore = useMutation({
    mutationFn: (fingerprint: string) =>
      answerOf(
        client.POST('/api/settings-changes/{id}/restore', {
          params: { path: { id: entry.id } },
          body: { fingerprint },
        }),
      ),
    onSuccess: () => queries.invalidateQueries(),
  });
  const mayNot =
    plan === undefined
      ? 'It is being looked at.'
      : plan.refused.length > 0
        ? 'This cannot be applied.'
        : plan.parts.length === 0
          ? 'It is so already.'
          : null;
  return (
    <ConfirmDialog
      title={`Restore: ${entry.title}`}
      action="Restore"
      mayNot={mayNot}
      onConfirm={() => restore.mutateAsync(plan?.fingerprint ?? '')}
      onClose={onClose}
    >
      <p>
        As it was before {entry.user} changed it on {when.format(new Date(entry.time))}.
      </p>
      {plan === undefined ? <Waiting on={reading} /> : <PlanView plan={plan} />}
    </ConfirmDialog>
  );
}

function Comparison({ id, onClose }: { id: string; onClose: () => void }) {
  const [other, setOther] = useState('');
  const [restoring, setRestoring] = useState(false);
  const { data, ...reading } = useQuery(comparisonQuery(id, other));
  if (data === undefined) return <Waiting on={reading} />;
  const { entry, changes } = data;
  return (
    <section aria-label="Comparison" className="cistern-stack">
      <Title headingLevel="h2" size="lg">
        {entry.title}, {when.format(new Date(entry.time))}
      </Title>
      <div className="cistern-filters">
        <FormSelect aria-label="Compared with" value={other} onChange={(_event, value) => setOther(value)}>
          <FormSelectOption value="" label="Before the change and after it" />
          <FormSelectOption value="now" label="Before the change and now" />
        </FormSelect>
        <Button variant="secondary" onClick={() => setRestoring(true)}>
          Restore what was before…
        </Button>
        <Button variant="link" onClick={onClose}>
          Close
        </Button>
      </div>
      {changes.length === 0 ? (
        <p>It is the same.</p>
      ) : (
        <Changes label="What differs" changes={changes} after={other === 'now' ? 'Now' : 'After'} />
      )}
      {restoring && <Restore entry={entry} onClose={() => setRestoring(false)} />}
    </section>
  );
}

export function History() {
  const [query, setQuery] = useSearchParams();
  const [part, entry] = [query.get('part') ?? '', query.get('change')];
  const set = (name: string, value: string) =>
    setQuery(
      (now) => {
        if (value === '') now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  const parts = useQuery(partsQuery);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(historyQuery(part));
  const entries = data?.pages.flat();
  return (
    <div className="cistern-stack">
      {entry !== null && <Comparison key={entry} id={entry} onClose={() => set('change', '')} />}
      <div className="cistern-filters">
        <FormSelect aria-label="Part" value={part} onChange={(_event, value) => set('part', value)}>
          <FormSelectOption value="" label="All parts" />
          {(parts.data ?? []).map(({ name, title }) => (
            <FormSelectOption key={name} value={name} label={title} />
          ))}
        </FormSelect>
      </div>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {entries === undefined && !error && <PageLoading />}
      {entries?.length === 0 && (
        <EmptyState headingLevel="h2" titleText="Nothing has been changed yet">
          <EmptyStateBody>Each change of a setting is kept here, the newest 1,000 of them.</EmptyStateBody>
        </EmptyState>
      )}
      {entries && entries.length > 0 && (
        <ListTable
          label="History of the settings"
          rows={entries}
          keyOf={({ id }) => id}
          columns={[
            { title: 'When', cell: ({ time }) => <time dateTime={time}>{when.format(new Date(time))}</time> },
            {
              title: 'Who',
              cell: ({ user, way, cause }) => (
                <span className="cistern-anywhere">
                  {user}{' '}
                  <span className="cistern-quiet">
                    {ways[way]}
                    {causes[cause]}
                  </span>
                </span>
              ),
            },
            { title: 'Part', cell: ({ title }) => title },
            { title: 'What', cell: (one) => count(one) },
            {
              title: 'Compare',
              control: 'actions',
              cell: ({ id, title }) => (
                <Button variant="link" isInline aria-label={`Compare ${title}`} onClick={() => set('change', id)}>
                  Compare
                </Button>
              ),
            },
          ]}
        />
      )}
      {hasNextPage && (
        <div>
          <Button variant="secondary" isLoading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
}
