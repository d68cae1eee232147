// An expression that the user wrote: a graph, or a heatmap.
import { useCallback, useRef } from 'react';
import { stepFor, useAxis, useSettled } from '../../charts/axis.ts';
import type { Exporter } from '../../charts/download.ts';
import type { Named } from '../../charts/lines.ts';
import { seriesName } from '../../charts/seriesName.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { filtered } from '../explore/expressions.ts';
import { shown } from '../statistics/statistic.ts';
import { changed } from '../worksheets/sheet.ts';
import { useVariables } from '../worksheets/VariableBar.tsx';
import { substitute, titled, unknownIn } from '../worksheets/variables.ts';
import { Actions } from './ChartActions.tsx';
import { Controls } from './ChartControls.tsx';
import { HistogramBody } from './HistogramBody.tsx';
import { PanelFrame } from './PanelFrame.tsx';
import type { PanelProps } from './panel.ts';
import { SeriesBody } from './SeriesBody.tsx';

/** About as many points as a chart draws: what $__interval goes by where there is one query for all of them. */
const COLUMNS = 900;

export function QueryPanel(props: PanelProps & { query: string }) {
  const { chart, change, query, marks } = props;
  const exporter = useRef<Exporter | null>(null);
  const { variables, chosen } = useVariables();
  const { range } = useSettled(useAxis());
  const title = titled(chart.title ?? query, variables, chosen);
  const unknown = unknownIn(query, variables);
  const heatmap = chart.display === 'heatmap';
  const unit = chart.unit ?? 'count';
  const nameOf = useCallback((labels: Readonly<Record<string, string>>): Named => {
    const text = shown(seriesName(labels, labels.__name__ ?? 'value'));
    return { key: text, text };
  }, []);
  const text = useCallback((step: number) => substitute(query, variables, chosen, step), [query, variables, chosen]);
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
          watch={{ expression: text(stepFor(range, COLUMNS)), type: heatmap ? 'histogram' : 'gauge' }}
        />
      }
      crumbs={chart.title !== undefined && <code className="cistern-query">{query}</code>}
    >
      {unknown.length > 0 ? (
        <ProblemAlert
          error={new Error(`This worksheet has no variable called ${unknown.map((name) => `$${name}`).join(', ')}.`)}
          title="This chart cannot be drawn"
        />
      ) : heatmap ? (
        <HistogramBody
          measured={null}
          {...{ chart, change, title, marks, exporter, unit }}
          selector={text(stepFor(range, COLUMNS))}
          filter={(label) => (value) => change(changed(chart, { query: filtered(query, label, value) }), true)}
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
