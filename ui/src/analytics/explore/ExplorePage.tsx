// Find a metric, look at it at one-second resolution, narrow it down. Everything shown is in the address.
import { PageSection } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { listMetrics } from '../../api/telemetry.ts';
import { PageHead } from '../../shells/PageHead.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { TimeControls, TimeWords } from '../panels/TimeControls.tsx';
import { MetricChart } from './MetricChart.tsx';
import { MetricList } from './MetricList.tsx';
import { useAddressTime } from './useAddressTime.ts';
import { readView, type View, writeView } from './view.ts';

export default function ExplorePage() {
  const [query, setQuery] = useSearchParams();
  const view = readView(query);
  const change = (next: View, replace = false) => setQuery(writeView(next), { replace });
  const axis = useAddressTime(view, ({ range, end }) => change({ ...view, range, end }, true));
  const found = useQuery({
    queryKey: ['metrics', view.metric],
    queryFn: ({ signal }) => listMetrics({ match: view.metric }, signal),
    enabled: view.metric !== '',
    refetchInterval: (state) => (state.state.data?.metrics.some(({ name }) => name === view.metric) ? 30_000 : 2_000),
  });
  const metric = found.data?.metrics.find(({ name }) => name === view.metric);
  return (
    <>
      <PageHead
        title="Analytics"
        sentence={view.metric === '' ? 'Every metric, one value a second.' : <TimeWords axis={axis} />}
        actions={view.metric !== '' && <TimeControls axis={axis} />}
      />
      <AnalyticsTabs active="explore" />
      {view.metric === '' ? (
        <PageSection>
          <p>
            Find a metric here, or <Link to="/analytics/query">write PromQL</Link>.
          </p>
          <MetricList filters={view.filters} />
        </PageSection>
      ) : metric !== undefined ? (
        <MetricChart key={metric.name} metric={metric} view={view} axis={axis} change={change} />
      ) : (
        <PageSection>
          <ProblemAlert error={found.error} retry={() => void found.refetch()} />
          {found.data && (
            <p>
              No metric called <code>{view.metric}</code> has arrived yet; this page waits for it.{' '}
              <Link to="/analytics/explore">All metrics</Link>
            </p>
          )}
        </PageSection>
      )}
    </>
  );
}
