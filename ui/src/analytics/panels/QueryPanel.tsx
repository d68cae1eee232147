// An expression that the user wrote: a graph, or a heatmap.
import { useCallback, useRef } from 'react';
import type { Exporter } from '../../charts/download.ts';
import type { Named } from '../../charts/lines.ts';
import { seriesName } from '../../charts/seriesName.ts';
import { shown } from '../statistics/statistic.ts';
import { Actions } from './ChartActions.tsx';
import { Controls } from './ChartControls.tsx';
import { HistogramBody } from './HistogramBody.tsx';
import { PanelFrame } from './PanelFrame.tsx';
import type { PanelProps } from './panel.ts';
import { SeriesBody } from './SeriesBody.tsx';

export function QueryPanel(props: PanelProps & { query: string }) {
  const { chart, change, query, marks } = props;
  const exporter = useRef<Exporter | null>(null);
  const title = chart.title ?? query;
  const heatmap = chart.display === 'heatmap';
  const unit = chart.unit ?? 'count';
  const nameOf = useCallback((labels: Readonly<Record<string, string>>): Named => {
    const text = shown(seriesName(labels, labels.__name__ ?? 'value'));
    return { key: text, text };
  }, []);
  const text = useCallback(() => query, [query]);
  return (
    <PanelFrame
      title={title}
      state={null}
      controls={<Controls chart={chart} change={change} kind={heatmap ? 'histogram' : 'series'} />}
      actions={
        <Actions
          {...{ chart, change, exporter, title }}
          remove={props.remove}
          move={props.move}
          dataset={null}
          watch={{ expression: query, type: heatmap ? 'histogram' : 'gauge' }}
        />
      }
      crumbs={chart.title !== undefined && <code className="cistern-query">{query}</code>}
    >
      {heatmap ? (
        <HistogramBody
          measured={null}
          {...{ chart, change, title, marks, exporter, unit }}
          selector={query}
          empty="No values in this time."
        />
      ) : (
        <SeriesBody
          {...{ chart, change, title, marks, exporter, unit, nameOf }}
          query={text}
          perSecond={false}
          amount={unit.endsWith('/s')}
          drill={null}
          empty="No values in this time."
        />
      )}
    </PanelFrame>
  );
}
