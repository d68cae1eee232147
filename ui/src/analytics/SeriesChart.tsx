// A gauge or a counter over time, with its values listed beside it: click highlights, Enter or a double click narrows.
import { EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useMemo, useState } from 'react';
import type { Metric } from '../api/telemetry.ts';
import { LineChart } from '../charts/LineChart.tsx';
import { seriesColour } from '../charts/palette.ts';
import { useDark } from '../theme/theme.ts';
import { quantity, unitOf } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { expression, inWords, seriesName } from './explore/expression.ts';
import { stepFor, type View } from './explore/view.ts';
import { aligned, timesOf, useSeries } from './useWindow.ts';

/** More lines than this nobody tells apart; the list says how many there are. */
const MOST_LINES = 20;

export function SeriesChart(props: {
  metric: Metric;
  view: View;
  onDrill: (labels: Record<string, string>) => void;
  onSelect: (start: number, end: number) => void;
}) {
  const { metric, view } = props;
  const frame = { range: view.range, end: view.end, step: stepFor(view.range, 3600) };
  const { data, error, refetch, isPlaceholderData } = useSeries(expression(metric, view, frame.step), frame);
  const [cursor, setCursor] = useState<number | null>(null);
  const [highlight, setHighlight] = useState<string | null>(null);
  const dark = useDark();
  const unit = unitOf(metric.name);
  const perSecond = metric.type === 'counter';

  const drawn = useMemo(() => {
    if (data === undefined) return undefined;
    const lines = data.series.map(({ metric: labels, values }) => {
      const all = aligned(data.window, values);
      const known = all.filter((value) => value !== null);
      const mean = known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : 0;
      return { label: seriesName(labels, metric.name), labels, values: all, mean };
    });
    // Sorted by name, so that a line keeps its colour and its place while values move.
    const shown = lines.sort((a, b) => b.mean - a.mean).slice(0, MOST_LINES);
    shown.sort((a, b) => a.label.localeCompare(b.label, undefined, { numeric: true }));
    return { times: timesOf(data.window), lines: shown, all: lines.length };
  }, [data, metric.name]);

  if (error && data === undefined) return <ProblemAlert error={error} retry={() => void refetch()} />;
  if (drawn === undefined || data === undefined)
    return <div className="cistern-chart cistern-chart-waiting" role="status" aria-label="Loading" />;
  if (drawn.lines.length === 0 && !isPlaceholderData) {
    return (
      <EmptyState titleText="No values in this time" headingLevel="h3" variant="sm">
        <EmptyStateBody>
          Nothing of {metric.name} was taken in during it. Choose a longer time, or remove a filter.
        </EmptyStateBody>
      </EmptyState>
    );
  }
  const at = (values: (number | null)[]) =>
    cursor !== null && cursor < values.length ? values[cursor] : values.findLast((value) => value !== null);
  return (
    <div className="cistern-statistic">
      <div className="cistern-values">
        <table>
          <caption className="cistern-quiet">
            {drawn.all > MOST_LINES
              ? `The ${MOST_LINES} largest of ${drawn.all} series`
              : view.by
                ? `By ${view.by}`
                : 'Series'}
          </caption>
          <tbody>
            {drawn.lines.map((line, index) => (
              <tr
                key={line.label}
                data-highlight={highlight === line.label}
                onDoubleClick={() => props.onDrill(line.labels)}
              >
                <td>
                  <button
                    type="button"
                    aria-pressed={highlight === line.label}
                    title={`${line.label}: click highlights, Enter or a double click shows only this`}
                    onClick={() => setHighlight(highlight === line.label ? null : line.label)}
                    onKeyDown={(event) => event.key === 'Enter' && props.onDrill(line.labels)}
                  >
                    <i style={{ background: seriesColour(index, dark) }} />
                    {line.label}
                  </button>
                </td>
                <td className="cistern-number">
                  {(() => {
                    const value = at(line.values);
                    return value === null || value === undefined ? '–' : quantity(value, unit, perSecond);
                  })()}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <LineChart
        label={`${inWords(metric, view)}: ${drawn.lines.length} series`}
        times={drawn.times}
        lines={drawn.lines}
        unit={unit}
        perSecond={perSecond}
        start={data.window.start}
        end={data.window.end}
        limit={view.limit}
        highlight={highlight}
        onCursor={setCursor}
        onSelect={props.onSelect}
      />
    </div>
  );
}
