// A histogram metric: its heatmap, the distribution of the column under the pointer, and how many lie beyond the limit.
import { EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useMemo, useState } from 'react';
import type { Metric } from '../api/telemetry.ts';
import { Distribution } from '../charts/Distribution.tsx';
import { merge, overSentence, overTotal } from '../charts/distribution.ts';
import { HeatmapChart } from '../charts/HeatmapChart.tsx';
import { naturalScale } from '../charts/shading.ts';
import { unitOf } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { inWords, selector } from './explore/expression.ts';
import { stepFor, type View } from './explore/view.ts';
import { useHeatmap, useOver } from './useWindow.ts';

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function HistogramChart({ metric, view }: { metric: Metric; view: View }) {
  const frame = { range: view.range, end: view.end, step: stepFor(view.range, 600) };
  const query = selector(view);
  const { data, error, refetch, isPlaceholderData } = useHeatmap(query, frame);
  const beyond = useOver(query, frame, view.limit);
  const [hovered, setHovered] = useState<number | null>(null);
  const [picked, setPicked] = useState<number | null>(null);
  const unit = unitOf(metric.name);
  const all = useMemo(() => merge(data?.columns.map((column) => column.bins) ?? []), [data]);

  if (error && data === undefined) return <ProblemAlert error={error} retry={() => void refetch()} />;
  if (data === undefined)
    return <div className="cistern-chart cistern-chart-waiting" role="status" aria-label="Loading" />;
  if (data.columns.length === 0 && !isPlaceholderData) {
    return (
      <EmptyState titleText="No values in this time" headingLevel="h3" variant="sm">
        <EmptyStateBody>
          Nothing of {metric.name} was taken in during it. Choose a longer time, or remove a filter.
        </EmptyStateBody>
      </EmptyState>
    );
  }
  const scale = view.scale === 'auto' ? naturalScale(data.columns) : view.scale;
  const chosen = hovered ?? picked;
  const column = chosen === null ? undefined : data.columns.find(({ time }) => Math.abs(time - chosen) < data.step / 2);
  const title = chosen === null ? 'All that is shown' : clock.format(chosen * 1000);
  /** Shift and an arrow move from column to column; the arrows alone pan, as on every chart. */
  const move = (by: number) => {
    const from = picked ?? data.columns.at(-1)?.time ?? data.end;
    setPicked(Math.min(Math.max(from + by * data.step, data.start), data.end - data.step));
  };
  return (
    <>
      {view.limit !== undefined && beyond.data && (
        <p className="cistern-over" aria-live="polite">
          {(() => {
            const { over, count } = overTotal(beyond.data);
            return overSentence(over, count, view.limit, unit);
          })()}
        </p>
      )}
      <ProblemAlert error={beyond.error} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys work wherever the focus is in the chart */}
      <div
        className="cistern-histogram"
        onKeyDown={(event) => {
          if (event.shiftKey && event.key === 'ArrowLeft') move(-1);
          else if (event.shiftKey && event.key === 'ArrowRight') move(1);
          else if (event.key === 'Escape') setPicked(null);
          else return;
          event.stopPropagation();
          event.preventDefault();
        }}
      >
        <HeatmapChart
          label={`Heatmap of ${inWords(metric, view)}: ${data.columns.length} of ${Math.round((data.end - data.start) / data.step)} columns hold events`}
          heatmap={data}
          unit={unit}
          scale={scale}
          trim={view.trim}
          limit={view.limit}
          height={320}
          selected={chosen}
          onHover={setHovered}
          onPick={(time) => setPicked(time === picked ? null : time)}
        />
        <Distribution bins={chosen === null ? all : (column?.bins ?? [])} unit={unit} scale={scale} title={title} />
      </div>
    </>
  );
}
