// Every machine that metrics come from: as a table, or as a map of squares.
import { Alert, AlertActionCloseButton, EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useCallback, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useMeasure } from '../../api/measure.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { selector } from '../explore/expression.ts';
import { HostActions } from './HostActions.tsx';
import { HostFilters } from './HostFilters.tsx';
import { HostMap } from './HostMap.tsx';
import { HostTable } from './HostTable.tsx';
import { useHosts, useHostValues } from './useHosts.ts';
import { type HostsView, labelNames, readHostsView, shownHosts, writeHostsView } from './view.ts';

const NOBODY: ReadonlySet<string> = new Set();

function sentenceOf({ reporting, late, absent }: { reporting: number; late: number; absent: number }) {
  const all = reporting + late + absent;
  if (absent > 0) return { state: 'warning' as const, sentence: `${absent} of ${plural(all, 'host')} silent.` };
  const some = late > 0 ? ` ${late === 1 ? 'One is' : `${late} are`} late.` : '';
  return { state: 'ok' as const, sentence: `${plural(all, 'host')}, none silent.${some}` };
}

export default function HostsPage() {
  const [query, setQuery] = useSearchParams();
  const view = useMemo(() => readHostsView(query), [query]);
  const { unit } = useMeasure(view.metric === '' ? '' : selector({ metric: view.metric, filters: [] }));
  const drawn = useMemo(() => ({ ...view, unit }), [view, unit]);
  const known = useHosts();
  const { values, error } = useHostValues(view);
  const [chosen, setChosen] = useState(NOBODY);
  const [said, setSaid] = useState<string | null>(null);
  const hosts = known.data?.hosts;
  const shown = useMemo(() => shownHosts(hosts?.values() ?? [], view, values), [hosts, view, values]);
  const labels = useMemo(() => labelNames(hosts?.values() ?? []), [hosts]);

  const set = useCallback(
    (change: Partial<HostsView>) => setQuery(writeHostsView({ ...view, ...change }), { replace: 'search' in change }),
    [view, setQuery],
  );
  const choose = useCallback(
    (names: readonly string[], on: boolean) =>
      setChosen((before) => {
        const after = new Set(before);
        for (const name of names)
          if (on) after.add(name);
          else after.delete(name);
        return after;
      }),
    [],
  );
  if (known.data === undefined) {
    return (
      <PageShell title="Hosts">
        <Waiting on={known} />
      </PageShell>
    );
  }
  if (known.data.hosts.size === 0) {
    return (
      <PageShell title="Hosts" sentence="No host has sent anything yet.">
        <EmptyState titleText="No hosts yet" headingLevel="h2">
          <EmptyStateBody>
            A host is here as soon as metrics come from it. <Link to="/settings/inputs">Inputs</Link> says where to send
            them, and with which programs.
          </EmptyStateBody>
        </EmptyState>
      </PageShell>
    );
  }
  // Only what can be seen is acted on.
  const names = shown.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
  return (
    <PageShell
      title="Hosts"
      {...sentenceOf(known.data.states)}
      actions={
        <HostActions
          hosts={names}
          metric={view.metric}
          onDone={(words) => {
            setSaid(words);
            setChosen(NOBODY);
          }}
        />
      }
    >
      <ProblemAlert error={known.error ?? error} stale retry={() => void known.refetch()} />
      {known.data.error !== null && (
        <Alert
          isInline
          variant="warning"
          title={`The store does not answer, so this may be old: ${known.data.error}`}
        />
      )}
      {said !== null && (
        <Alert
          isInline
          isLiveRegion
          variant="success"
          title={said}
          actionClose={<AlertActionCloseButton onClose={() => setSaid(null)} />}
        />
      )}
      <HostFilters view={view} set={set} labels={labels} counts={known.data.states} />
      <p className="cistern-quiet" aria-live="polite">
        {shown.length === known.data.hosts.size
          ? plural(shown.length, 'host')
          : `${shown.length} of ${plural(known.data.hosts.size, 'host')}`}
      </p>
      {shown.length === 0 ? (
        <p>No host is so.</p>
      ) : view.show === 'map' ? (
        <HostMap hosts={shown} values={values} view={drawn} />
      ) : (
        <HostTable
          hosts={shown}
          values={values}
          view={drawn}
          chosen={chosen}
          choose={choose}
          sort={(sort) => set({ sort })}
        />
      )}
    </PageShell>
  );
}
