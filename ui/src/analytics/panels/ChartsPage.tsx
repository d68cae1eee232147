// One statistic, or a few charts, that belong to no worksheet yet: what a link from the catalogue or an alert opens.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { PageShell } from '../../shells/PageShell.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { statisticsQuery } from '../statistics/queries.ts';
import { parseName } from '../statistics/statistic.ts';
import { statisticLink } from '../worksheets/sheet.ts';
import { Charts, NoCharts, useCharts } from './Charts.tsx';
import { TimeControls, TimeWords } from './TimeControls.tsx';

const NOTHING: [] = [];
const TIME = { range: 300, end: null };

export default function ChartsPage() {
  const state = useCharts(NOTHING, TIME);
  const { data: statistics } = useQuery(statisticsQuery);
  const [first] = state.charts;
  const name = first?.statistic === undefined ? undefined : parseName(first.statistic);
  const statistic = statistics?.find((one) => one.name === name?.statistic);
  return (
    <PageShell
      title={statistic?.title ?? 'Analytics'}
      sentence={<TimeWords axis={state.axis} />}
      actions={<TimeControls axis={state.axis} />}
      tabs={<AnalyticsTabs active="statistics" />}
    >
      <Charts
        state={state}
        several={state.charts.length > 1}
        empty={
          <NoCharts>
            <Link to="/analytics/statistics">Choose a statistic.</Link>
          </NoCharts>
        }
      />
      {statistic !== undefined && state.charts.length === 1 && (
        <section className="cistern-explained" aria-label="About this statistic">
          <h2>When to look at it</h2>
          <p>{statistic.explanation.check}</p>
          <h2>How to read it</h2>
          <p>{statistic.explanation.read}</p>
          {statistic.explanation.next.length > 0 && (
            <>
              <h2>Where to go next</h2>
              <p>
                {statistic.explanation.next.map((next) => (
                  <Button
                    key={next}
                    variant="link"
                    isInline
                    className="cistern-next"
                    component={(props) => <Link {...props} to={statisticLink(next)} />}
                  >
                    {statistics?.find((one) => one.name === parseName(next)?.statistic)?.title ?? next}
                  </Button>
                ))}
              </p>
            </>
          )}
        </section>
      )}
    </PageShell>
  );
}
