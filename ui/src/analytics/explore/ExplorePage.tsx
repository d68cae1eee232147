// Find a metric, look at it at one-second resolution, narrow it down. Everything shown is in the address.
import {
  Breadcrumb,
  BreadcrumbItem,
  Button,
  FormSelect,
  FormSelectOption,
  Label,
  PageSection,
  TextInput,
  Title,
} from '@patternfly/react-core';
import PauseIcon from '@patternfly/react-icons/dist/esm/icons/pause-icon';
import PlayIcon from '@patternfly/react-icons/dist/esm/icons/play-icon';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { listMetrics, type Metric } from '../../api/telemetry.ts';
import { PageHead } from '../../shells/PageHead.tsx';
import { duration, parseQuantity, plural, quantity, unitOf } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { HistogramChart } from '../HistogramChart.tsx';
import { SeriesChart } from '../SeriesChart.tsx';
import { useLabels } from '../useWindow.ts';
import { AddToWorksheet } from '../worksheets/AddToWorksheet.tsx';
import type { Chart } from '../worksheets/sheet.ts';
import { expression, inWords, selector } from './expression.ts';
import { kindWords, MetricList } from './MetricList.tsx';
import { queryLink } from './QueryPage.tsx';
import { pan, ranges, readView, type View, writeView, zoom } from './view.ts';

const now = () => Math.floor(Date.now() / 1000);

function TimeControls({ view, change }: { view: View; change: (view: View) => void }) {
  const known = ranges.some(([seconds]) => seconds === view.range);
  return (
    <div className="cistern-time">
      <FormSelect
        aria-label="Time range"
        value={view.range}
        onChange={(_event, value) => change({ ...view, range: Number(value) })}
      >
        {!known && <FormSelectOption value={view.range} label={duration(view.range)} />}
        {ranges.map(([seconds, text]) => (
          <FormSelectOption key={seconds} value={seconds} label={text} />
        ))}
      </FormSelect>
      <Button
        variant={view.end === null ? 'secondary' : 'primary'}
        icon={view.end === null ? <PauseIcon /> : <PlayIcon />}
        onClick={() => change({ ...view, end: view.end === null ? now() : null })}
      >
        {view.end === null ? 'Pause' : 'Go live'}
      </Button>
    </div>
  );
}

/** A control with its name above it. */
function Control({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="cistern-control">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}

function LimitField({
  view,
  change,
  unit,
}: {
  view: View;
  change: (view: View) => void;
  unit: ReturnType<typeof unitOf>;
}) {
  const shown = view.limit === undefined ? '' : quantity(view.limit, unit);
  const [text, setText] = useState(shown);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the address, not each keystroke
  useEffect(() => setText(shown), [view.limit]);
  const value = text.trim() === '' ? undefined : parseQuantity(text);
  const bad = text.trim() !== '' && value === undefined;
  return (
    <Control label="Limit">
      {(id) => (
        <TextInput
          id={id}
          value={text}
          placeholder={unit === 'seconds' ? '1.5 s' : unit === 'bytes' ? '2 GiB' : unit === 'ratio' ? '80 %' : '100'}
          validated={bad ? 'error' : 'default'}
          onChange={(_event, typed) => setText(typed)}
          onBlur={() => !bad && value !== view.limit && text !== shown && change({ ...view, limit: value })}
          onKeyDown={(event) => event.key === 'Enter' && !bad && change({ ...view, limit: value })}
          size={10}
        />
      )}
    </Control>
  );
}

function Statistic({ metric, view, change }: { metric: Metric; view: View; change: (view: View) => void }) {
  const { data: labels } = useLabels(selector(view));
  const unit = unitOf(metric.name);
  const [adding, setAdding] = useState(false);
  const asChart: Chart = {
    id: 'c1',
    query: metric.type === 'histogram' ? selector(view) : expression(metric, view, 1),
    title: inWords(metric, view).slice(0, 200),
    unit: (unit === 'plain' ? 'count' : unit) + (metric.type === 'counter' ? '/s' : ''),
    ...(metric.type === 'histogram' && { display: 'heatmap' }),
    ...(view.limit !== undefined && { limit: view.limit }),
  };
  const free = [...(labels ?? [])].filter(([label]) => !view.filters.some(([name]) => name === label));
  const narrow = (found: readonly (readonly [string, string])[]) => {
    const added = found.filter(([label]) => label !== '__name__' && !view.filters.some(([name]) => name === label));
    change({ ...view, by: '', filters: [...view.filters, ...added] });
  };
  const keys = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest('input, select, textarea')) return;
    const next =
      event.key === 'ArrowLeft'
        ? pan(view, -0.25, now())
        : event.key === 'ArrowRight'
          ? pan(view, 0.25, now())
          : event.key === '+' || event.key === '='
            ? zoom(view, 0.5, now())
            : event.key === '-'
              ? zoom(view, 2, now())
              : undefined;
    if (next === undefined) return;
    event.preventDefault();
    change(next);
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
        {inWords(metric, view)}
      </Title>
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
                  if (at > 0) narrow([[chosen.slice(0, at), chosen.slice(at + 1)]]);
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
        <LimitField view={view} change={change} unit={unit} />
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
      {/* The chart takes the keys: arrows pan, + and - zoom. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is interactive by keyboard */}
      <section className="cistern-panel" tabIndex={0} aria-label="Chart: arrows pan, + and - zoom" onKeyDown={keys}>
        {metric.type === 'histogram' ? (
          <HistogramChart metric={metric} view={view} />
        ) : (
          <SeriesChart
            metric={metric}
            view={view}
            onDrill={(found) => narrow(Object.entries(found))}
            onSelect={(start, end) =>
              change({ ...view, range: Math.max(10, Math.round(end - start)), end: Math.round(end) })
            }
          />
        )}
      </section>
      <p className="cistern-quiet">
        {kindWords[metric.type]} · {plural(metric.series, 'series', 'series')} ·{' '}
        <Link to={`/alerts/thresholds/new?expression=${encodeURIComponent(selector(view))}&type=${metric.type}`}>
          Make this a threshold
        </Link>{' '}
        · <Link to={queryLink(asChart)}>Write it as PromQL</Link> ·{' '}
        <Button variant="link" isInline onClick={() => setAdding(true)}>
          Add to worksheet
        </Button>
      </p>
      {adding && <AddToWorksheet chart={asChart} onClose={() => setAdding(false)} />}
    </PageSection>
  );
}

export default function ExplorePage() {
  const [query, setQuery] = useSearchParams();
  const view = readView(query);
  const change = (next: View) => setQuery(writeView(next));
  const found = useQuery({
    queryKey: ['metrics', view.metric],
    queryFn: ({ signal }) => listMetrics(view.metric, signal),
    enabled: view.metric !== '',
    refetchInterval: (state) => (state.state.data?.some(({ name }) => name === view.metric) ? 30_000 : 2_000),
  });
  const metric = found.data?.find(({ name }) => name === view.metric);
  const sentence =
    view.metric === ''
      ? 'Every metric, one value a second.'
      : view.end === null
        ? `Live: the last ${duration(view.range)}.`
        : `Paused: ${duration(view.range)} up to ${new Date(view.end * 1000).toLocaleString()}.`;
  return (
    <>
      <PageHead
        title="Analytics"
        sentence={sentence}
        actions={view.metric !== '' && <TimeControls view={view} change={change} />}
      />
      <AnalyticsTabs active="explore" />
      {view.metric === '' ? (
        <PageSection>
          <p>
            Find a metric here, or <Link to="/analytics/query">write PromQL</Link>.
          </p>
          <MetricList />
        </PageSection>
      ) : metric !== undefined ? (
        <Statistic key={metric.name} metric={metric} view={view} change={change} />
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
