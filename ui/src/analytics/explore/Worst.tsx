// The worst of many series, by name: a click shows it alone.
import { Button } from '@patternfly/react-core';
import type { Metric } from '../../api/telemetry.ts';
import { seriesName } from '../../charts/seriesName.ts';
import { quantity } from '../../words/format.ts';
import type { Unit } from '../../words/units.ts';
import { worst, worstSeries } from './expression.ts';
import { useInstant } from './queries.ts';
import type { View } from './view.ts';

export function Worst(props: {
  metric: Metric;
  view: View;
  unit: Unit;
  narrow: (labels: readonly (readonly [string, string])[]) => void;
}) {
  const { metric, view, unit, narrow } = props;
  const { data } = useInstant(worstSeries(metric, view), view.end);
  const [found] = data ?? [];
  if (found?.value === undefined) return null;
  return (
    <>
      {worst(metric.name) === 'max' ? 'Highest' : 'Lowest'} {view.end === null ? 'now' : 'at the end'}:{' '}
      <Button variant="link" isInline onClick={() => narrow(Object.entries(found.metric))}>
        {seriesName(found.metric, metric.name)}
      </Button>{' '}
      with {quantity(Number(found.value[1]), unit)}.
    </>
  );
}
