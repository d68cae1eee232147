// A statistic: what it shows in words, the way one came (each step can be undone), how it is measured, its controls, and
// its picture.
import { Breadcrumb, BreadcrumbItem, Button, Label, Spinner } from '@patternfly/react-core';
import { useCallback, useMemo, useRef } from 'react';
import { asProblem } from '../../api/problem.ts';
import type { Exporter } from '../../charts/download.ts';
import type { Named } from '../../charts/lines.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { measuredExpression, seriesExpression, totalSelector } from '../explore/expressions.ts';
import { useDataset } from '../statistics/queries.ts';
import {
  type Breakdown,
  costWords,
  type Dataset,
  drill,
  freeBreakdowns,
  inWords,
  type Name,
  type Statistic,
  shown,
  splitTitle,
  withoutFilter,
  writeName,
} from '../statistics/statistic.ts';
import { unitOfName, unmeasured } from '../statistics/unmeasured.ts';
import { changed } from '../worksheets/sheet.ts';
import { Actions } from './ChartActions.tsx';
import { Choice, Controls } from './ChartControls.tsx';
import { FlameGraph } from './FlameGraph.tsx';
import { HistogramBody } from './HistogramBody.tsx';
import { PanelFrame } from './PanelFrame.tsx';
import type { PanelProps } from './panel.ts';
import { type Drill, SeriesBody } from './SeriesBody.tsx';

/** The state of its measurement, where it is not simply measured. */
function State({ dataset }: { dataset: Dataset | undefined }) {
  if (dataset === undefined) return <Label isCompact>Asking…</Label>;
  switch (dataset.state) {
    case 'starting':
      return (
        <Label isCompact color="blue" icon={<Spinner size="sm" aria-label="Starting" />}>
          Starting…
        </Label>
      );
    case 'suspended':
      return (
        <Label isCompact color="yellow">
          Suspended{dataset.reason ? `: ${dataset.reason}` : ''}
        </Label>
      );
    case 'failed':
      return (
        <Label isCompact color="red">
          Failed{dataset.reason ? `: ${dataset.reason}` : ''}
        </Label>
      );
    case 'stopped':
      return <Label isCompact>Not being measured</Label>;
    default:
      return dataset.recorded ? (
        <Label isCompact variant="outline">
          Recorded
        </Label>
      ) : null;
  }
}
/** What was not recorded by a label can be measured from now on: it splits the statistic by that label. */
function MeasureBy(props: {
  free: readonly Breakdown[];
  cost: Statistic['cost'] | undefined;
  show: (breakdown: string) => void;
}) {
  if (props.free.length === 0 || props.cost === undefined) return null;
  return (
    <div className="cistern-whymore">
      <p>Not recorded apart, so not ranked. Measured from now on, which {costWords[props.cost]}:</p>
      {props.free.map((one) => (
        <Button key={one.name} variant="tertiary" size="sm" onClick={() => props.show(one.name)}>
          Measure by {splitTitle(one.title)}
        </Button>
      ))}
    </div>
  );
}

export function StatisticPanel(props: PanelProps & { text: string; name: Name }) {
  const { chart, change, text, name, statistics, marks } = props;
  const statistic = statistics?.find((one) => one.name === name.statistic);
  const watched = useDataset(text);
  const exporter = useRef<Exporter | null>(null);
  const dataset = watched.data ?? (watched.error ? unmeasured(text, name, statistic) : undefined);
  const title = chart.title ?? inWords(statistic, name);
  const level = statistic === undefined ? unitOfName(name.statistic) === 'percent' : statistic.kind === 'level';
  const perSecond = !level && dataset?.kind === 'series';
  const free = freeBreakdowns(statistic, name);

  const show = useCallback(
    (next: Name) => {
      // What was set for the values of one breakdown means nothing for another's.
      const same = next.breakdown === name.breakdown;
      const reset = same ? {} : { limit: undefined, quantiles: undefined, trim: undefined, display: undefined };
      change(changed(chart, { statistic: writeName(next), highlight: undefined, title: undefined, ...reset }), true);
    },
    [chart, change, name],
  );
  const breakdown = dataset?.breakdown ?? null;
  const nameOf = useCallback(
    (labels: Readonly<Record<string, string>>): Named | null => {
      if (labels.rest === 'true') return { key: '\u0000rest', text: 'everything else', rest: true };
      if (breakdown === null) return { key: 'total', text: 'all', rest: true };
      const value = labels[breakdown];
      return value === undefined ? null : { key: value, text: shown(value) };
    },
    [breakdown],
  );
  const query = useMemo(
    () => (step: number) => (dataset === undefined ? '' : seriesExpression(dataset, level, step)),
    [dataset, level],
  );
  const measured = useMemo(
    () => (dataset?.kind === 'histogram' ? (step: number) => measuredExpression(dataset, step) : null),
    [dataset],
  );
  const drillable = statistic?.breakdowns.find((one) => one.name === breakdown)?.filterable ?? false;
  const drills: Drill | null =
    breakdown === null || !drillable
      ? null
      : {
          title,
          next: [
            ...free
              .filter((one) => one.name !== breakdown)
              .map((one) => ({ name: one.name as string | null, title: splitTitle(one.title) })),
            { name: null, title: '' },
          ],
          go: (value, next) => show(drill(name, value, next)),
        };
  const problem = watched.error ? asProblem(watched.error) : null;
  const empty =
    dataset?.state === 'starting'
      ? 'Starting: the first values are here within seconds.'
      : problem !== null || dataset?.state === 'stopped'
        ? 'Nothing was recorded in this time.'
        : 'Nothing yet in this time.';
  const body =
    dataset === undefined ? (
      <div className="cistern-chart-waiting" role="status" aria-label="Loading" />
    ) : dataset.kind === 'stacks' ? (
      <FlameGraph name={text} title={title} exporter={exporter} />
    ) : dataset.kind === 'histogram' ? (
      <HistogramBody
        {...{ chart, change, title, marks, exporter, empty, measured }}
        selector={dataset.selector}
        unit={dataset.unit}
        filter={(label) =>
          statistic?.breakdowns.some((one) => one.name === label && one.filterable)
            ? (value) => show({ ...name, filters: [...name.filters.filter(([one]) => one !== label), [label, value]] })
            : null
        }
        offers={
          <MeasureBy
            free={free.filter((one) => one.name !== breakdown)}
            cost={statistic?.cost}
            show={(by) => show({ ...name, breakdown: by })}
          />
        }
      />
    ) : (
      <SeriesBody
        {...{ chart, change, title, marks, exporter, empty, query, perSecond, nameOf }}
        unit={statistic?.unit ?? dataset.unit}
        amount={!level}
        drill={drills}
      />
    );
  return (
    <PanelFrame
      title={title}
      state={<State dataset={dataset} />}
      controls={
        <Controls chart={chart} change={change} kind={dataset?.kind ?? 'series'}>
          {dataset?.kind !== 'stacks' && (
            <Choice
              label="Break down by"
              value={name.breakdown ?? ''}
              options={[
                ['', 'the total'],
                ...free.map((one) => [one.name, `by ${splitTitle(one.title)}`] as const),
                ...(name.breakdown !== null && !free.some((one) => one.name === name.breakdown)
                  ? [[name.breakdown, `by ${name.breakdown}`] as const]
                  : []),
              ]}
              onChange={(value) => show({ ...name, breakdown: value === '' ? null : value })}
            />
          )}
        </Controls>
      }
      actions={
        <Actions
          {...{ chart, change, exporter, title }}
          remove={props.remove}
          move={props.move}
          dataset={watched.data ?? null}
          watch={
            dataset === undefined || dataset.kind === 'stacks'
              ? null
              : dataset.kind === 'histogram'
                ? { expression: dataset.selector, type: 'histogram' }
                : { expression: totalSelector(dataset), type: 'gauge' }
          }
        />
      }
      crumbs={
        name.filters.length > 0 && (
          <Breadcrumb aria-label={`The way to ${title}`}>
            <BreadcrumbItem>
              <Button variant="link" isInline onClick={() => show({ ...name, filters: [] })}>
                {statistic?.title ?? name.statistic}
              </Button>
            </BreadcrumbItem>
            {name.filters.map(([filter, value]) => (
              <BreadcrumbItem key={filter}>
                <Label
                  variant="outline"
                  isCompact
                  closeBtnAriaLabel={`Remove the filter ${filter} = ${shown(value)}`}
                  onClose={() => show(withoutFilter(name, filter))}
                >
                  {filter} = {shown(value)}
                </Label>
              </BreadcrumbItem>
            ))}
            {name.breakdown !== null && <BreadcrumbItem isActive>by {name.breakdown}</BreadcrumbItem>}
          </Breadcrumb>
        )
      }
    >
      {/* That nothing is measured at all is shown once, above all charts. */}
      {problem !== null && problem.code !== 'service_unavailable' && (
        <ProblemAlert error={watched.error} stale={problem.code === 'forbidden'} retry={() => void watched.refetch()} />
      )}
      {body}
      {dataset?.restIncluded && dataset.kind === 'series' && (
        <p className="cistern-quiet">
          There are more values than are kept apart: the largest of each second by name, the others as “everything
          else”.
        </p>
      )}
    </PanelFrame>
  );
}
