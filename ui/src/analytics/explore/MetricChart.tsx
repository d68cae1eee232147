// One metric over time: broken down, narrowed, with a limit.
import {
  Breadcrumb,
  BreadcrumbItem,
  Button,
  FormSelect,
  FormSelectOption,
  Label,
  PageSection,
  Title,
} from '@patternfly/react-core';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { useMayNot } from '../../api/session.ts';
import type { Metric } from '../../api/telemetry.ts';
import { AxisContext, type TimeAxis, useSettled } from '../../charts/axis.ts';
import type { Exporter } from '../../charts/download.ts';
import type { Named } from '../../charts/lines.ts';
import { seriesName } from '../../charts/seriesName.ts';
import { plural } from '../../words/format.ts';
import { HistogramBody } from '../panels/HistogramBody.tsx';
import { type Drill, SeriesBody } from '../panels/SeriesBody.tsx';
import { useMarks } from '../panels/useMarks.ts';
import { AddToWorksheet } from '../worksheets/AddToWorksheet.tsx';
import { type Chart, queryLink } from '../worksheets/sheet.ts';
import { bands, expression, inWords, MANY, selector } from './expression.ts';
import { Control, LimitField } from './LimitField.tsx';
import { MeaningForm } from './MeaningForm.tsx';
import { kindWords } from './MetricList.tsx';
import { useLabels, useSeriesCount } from './queries.ts';
import { type View, writeView } from './view.ts';
import { Worst } from './Worst.tsx';

/** So often at most is the address written while the limit line is dragged. */
const WRITE_MS = 300;
const NO_NOTES: [] = [];

/** What it is measured in, and who says so. */
function unitWords({ unit, unitFrom }: Metric): string {
  if (unit === undefined || unitFrom === undefined) return 'Nobody says what it is measured in.';
  const who = { person: 'as somebody said here', sender: 'as its sender says', name: 'as its name says' };
  return `Measured in ${unit}, ${who[unitFrom]}.`;
}

export function MetricChart(props: {
  metric: Metric;
  view: View;
  axis: TimeAxis;
  /** `replace`: nothing that "back" should undo. */
  change: (view: View, replace?: boolean) => void;
}) {
  const { metric, view, axis, change } = props;
  const { data: labels } = useLabels(selector(view));
  const unit = metric.unit ?? 'count';
  const gauge = metric.type === 'gauge' && view.by === '';
  const count = useSeriesCount(gauge ? selector(view) : null, view.end) ?? 0;
  const banded = gauge && count > MANY && !view.every;
  const perSecond = metric.type === 'counter';
  const address = writeView(view).toString();
  const title = inWords(metric, view).slice(0, 200);
  const [adding, setAdding] = useState(false);
  const [saying, setSaying] = useState(false);
  const mayNot = useMayNot('administrator');
  // A line that somebody has drawn here counts before the one that the metric has everywhere.
  const line = view.limit ?? metric.limit;
  const [highlight, setHighlight] = useState<string[]>([]);
  const [limit, setLimit] = useState(line);
  useEffect(() => setLimit(line), [line]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const exporter = useRef<Exporter | null>(null);
  const marks = useMarks(useSettled(axis), NO_NOTES);
  const asChart: Chart = {
    id: 'c1',
    query: metric.type === 'histogram' ? selector(view) : expression(metric, view, 1),
    title,
    unit: unit + (perSecond ? '/s' : ''),
    ...(metric.type === 'histogram' && { display: 'heatmap' }),
    ...(line !== undefined && { limit: line }),
    ...(view.compare !== undefined && { compare: view.compare }),
  };
  const free = [...(labels ?? [])].filter(([label]) => !view.filters.some(([name]) => name === label));
  const chart: Chart = {
    ...asChart,
    scale: view.scale,
    trim: view.trim,
    highlight,
    ...(limit !== undefined && { limit }),
    ...(view.box !== undefined && { box: view.box }),
  };
  const changeChart = (next: Chart) => {
    setHighlight(next.highlight ?? []);
    if (next.box !== view.box) change({ ...view, box: next.box });
    if (next.limit === limit) return;
    setLimit(next.limit);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change({ ...view, limit: next.limit }, true), WRITE_MS);
  };
  const empty = `No values in this time: nothing of ${metric.name} was taken in during it. Choose a longer time, or remove a filter.`;
  const narrow = (found: readonly (readonly [string, string])[], by: string) => {
    const added = found.filter(([label]) => label !== '__name__' && !view.filters.some(([name]) => name === label));
    setHighlight([]);
    change({ ...view, by, filters: [...view.filters, ...added] });
  };
  /** The labels of each line, by its name. */
  const labelsOf = useRef(new Map<string, Readonly<Record<string, string>>>());
  const nameOf = useCallback(
    (found: Readonly<Record<string, string>>): Named => {
      const text = found.band ?? seriesName(found, metric.name);
      labelsOf.current.set(text, found);
      return { key: text, text };
    },
    [metric.name],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address stands for the view
  const query = useCallback(
    (step: number) => (banded ? bands(metric, view) : expression(metric, view, step)),
    [metric.name, metric.type, address, banded],
  );
  const drill: Drill = {
    title,
    next: [
      ...(view.by === '' ? [] : free.filter(([label]) => label !== view.by)).map(([label]) => ({
        name: label as string | null,
        title: label,
      })),
      { name: null, title: '' },
    ],
    go: (value, next) => narrow(Object.entries(labelsOf.current.get(value) ?? {}), next ?? ''),
  };
  return (
    <PageSection>
      <Breadcrumb>
        <BreadcrumbItem>
          <Link to="/analytics/explore">All metrics</Link>
        </BreadcrumbItem>
        {view.filters.length > 0 ? (
          <BreadcrumbItem>
            <Link to={`/analytics/explore?${writeView({ ...view, filters: [] })}`}>{metric.name}</Link>
          </BreadcrumbItem>
        ) : (
          <BreadcrumbItem isActive>{metric.name}</BreadcrumbItem>
        )}
        {view.filters.map(([label, value], index) => (
          <BreadcrumbItem key={label} isActive={index === view.filters.length - 1}>
            {label} = {value}
          </BreadcrumbItem>
        ))}
      </Breadcrumb>
      <Title headingLevel="h2" size="lg" className="cistern-charttitle">
        {title}
      </Title>
      {metric.description && <p className="cistern-quiet">{metric.description}</p>}
      <div className="cistern-controls">
        {metric.type !== 'histogram' && (
          <Control label="Break down by">
            {(id) => (
              <FormSelect id={id} value={view.by} onChange={(_event, by) => change({ ...view, by })}>
                <FormSelectOption value="" label="nothing: every series" />
                {free.map(([label, values]) => (
                  <FormSelectOption key={label} value={label} label={`${label} (${values.length})`} />
                ))}
              </FormSelect>
            )}
          </Control>
        )}
        {free.length > 0 && (
          <Control label="Only">
            {(id) => (
              <FormSelect
                id={id}
                value=""
                onChange={(_event, chosen) => {
                  const at = chosen.indexOf('=');
                  if (at > 0) narrow([[chosen.slice(0, at), chosen.slice(at + 1)]], '');
                }}
              >
                <FormSelectOption value="" label="everything" />
                {free.flatMap(([label, values]) =>
                  values.map((value) => (
                    <FormSelectOption
                      key={`${label}=${value}`}
                      value={`${label}=${value}`}
                      label={`${label} = ${value}`}
                    />
                  )),
                )}
              </FormSelect>
            )}
          </Control>
        )}
        {metric.type === 'histogram' && (
          <>
            <Control label="Scale">
              {(id) => (
                <FormSelect
                  id={id}
                  value={view.scale}
                  onChange={(_event, scale) => change({ ...view, scale: scale as View['scale'] })}
                >
                  <FormSelectOption value="auto" label="as it fits" />
                  <FormSelectOption value="log" label="logarithmic" />
                  <FormSelectOption value="linear" label="linear" />
                </FormSelect>
              )}
            </Control>
            <Control label="Outliers">
              {(id) => (
                <FormSelect
                  id={id}
                  value={view.trim}
                  onChange={(_event, trim) => change({ ...view, trim: Number(trim) })}
                >
                  <FormSelectOption value={0} label="shown" />
                  <FormSelectOption value={0.001} label="top 0.1 % cut off" />
                  <FormSelectOption value={0.01} label="top 1 % cut off" />
                  <FormSelectOption value={0.05} label="top 5 % cut off" />
                </FormSelect>
              )}
            </Control>
          </>
        )}
        <Control label="Compare with">
          {(id) => (
            <FormSelect
              id={id}
              value={view.compare ?? ''}
              onChange={(_event, chosen) => {
                const { compare: _, ...rest } = view;
                change(chosen === '' ? rest : { ...rest, compare: chosen as 'day' | 'week' });
              }}
            >
              <FormSelectOption value="" label="nothing" />
              <FormSelectOption value="day" label="the day before" />
              <FormSelectOption value="week" label="the week before" />
            </FormSelect>
          )}
        </Control>
        <LimitField limit={line} unit={unit} change={(limit) => change({ ...view, limit })} />
        {view.filters.map(([label, value]) => (
          <Label
            key={label}
            closeBtnAriaLabel={`Remove the filter ${label} = ${value}`}
            onClose={() => change({ ...view, filters: view.filters.filter(([name]) => name !== label) })}
          >
            {label} = {value}
          </Label>
        ))}
      </div>
      {gauge && count > MANY && (
        <p className="cistern-worst">
          {count.toLocaleString('en-US')} series, drawn as{' '}
          {banded ? 'the worst, the median and where eight of ten lie' : 'one line each'}.{' '}
          {banded && <Worst {...{ metric, view, unit }} narrow={(labels) => narrow(labels, '')} />}{' '}
          <Button variant="link" isInline onClick={() => change({ ...view, every: banded })}>
            {banded ? 'Draw every series' : 'Draw the worst, the median and the spread'}
          </Button>
        </p>
      )}
      <AxisContext value={axis}>
        <section className="cistern-panel" aria-label={`Chart of ${metric.name}`}>
          {metric.type === 'histogram' ? (
            <HistogramBody
              {...{ chart, change: changeChart, title, marks, exporter, empty }}
              selector={selector(view)}
              unit={unit}
              measured={null}
              filter={(label) => (value) => narrow([[label, value]], '')}
            />
          ) : (
            <SeriesBody
              {...{ chart, change: changeChart, title, marks, exporter, empty, query, nameOf }}
              drill={banded ? null : drill}
              unit={unit}
              perSecond={perSecond}
              amount={perSecond}
            />
          )}
        </section>
      </AxisContext>
      <p className="cistern-quiet">
        {kindWords[metric.type]} · {plural(metric.series, 'series', 'series')} ·{' '}
        <Link to={`/alerts/thresholds/new?expression=${encodeURIComponent(selector(view))}&type=${metric.type}`}>
          Make this a threshold
        </Link>{' '}
        {metric.type === 'histogram' && (
          <>
            ·{' '}
            <Link to={`/analytics/objectives/new?selector=${encodeURIComponent(selector(view))}`}>
              Make this an objective
            </Link>{' '}
          </>
        )}
        · <Link to={queryLink(asChart)}>Write it as PromQL</Link> ·{' '}
        <Button variant="link" isInline onClick={() => setAdding(true)}>
          Add to worksheet
        </Button>
        {mayNot === null && (
          <>
            {' '}
            ·{' '}
            <Button variant="link" isInline onClick={() => setSaying(true)}>
              Unit, description, limit line
            </Button>
          </>
        )}
      </p>
      <p className="cistern-quiet">{unitWords(metric)}</p>
      {saying && <MeaningForm metric={metric} onClose={() => setSaying(false)} />}
      {adding && <AddToWorksheet chart={asChart} onClose={() => setAdding(false)} />}
    </PageSection>
  );
}
