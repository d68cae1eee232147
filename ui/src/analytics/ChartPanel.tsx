// One chart of a page: what it shows in words, the way one came (each step can be taken back), how it is, its controls,
// and its picture.
import {
  Breadcrumb,
  BreadcrumbItem,
  Button,
  Divider,
  Dropdown,
  DropdownItem,
  DropdownList,
  FormSelect,
  FormSelectOption,
  Label,
  MenuToggle,
  Spinner,
} from '@patternfly/react-core';
import EllipsisVIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon';
import SlidersHIcon from '@patternfly/react-icons/dist/esm/icons/sliders-h-icon';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type RefObject, use, useCallback, useId, useMemo, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../api/client.ts';
import { asProblem } from '../api/problem.ts';
import type { Named } from '../charts/lines.ts';
import type { PlotMark } from '../charts/Plot.tsx';
import { SessionContext } from '../frame/session.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { AddToWorksheet } from './AddToWorksheet.tsx';
import { BinsBody } from './BinsBody.tsx';
import { seriesName } from './expression.ts';
import { seriesExpression, totalSelector } from './expressions.ts';
import { Flame } from './Flame.tsx';
import { useDataset } from './frames.ts';
import { type Drill, type Exporter, SeriesBody } from './SeriesBody.tsx';
import { type Chart, changed, statisticLink } from './sheet.ts';
import {
  type Dataset,
  drill,
  freeBreakdowns,
  inWords,
  type Name,
  parseName,
  type Statistic,
  shown,
  splitTitle,
  withoutFilter,
  writeName,
} from './statistic.ts';

export interface PanelProps {
  readonly chart: Chart;
  /** `step`: one that "back" undoes. */
  readonly change: (chart: Chart, step?: boolean) => void;
  readonly remove: (() => void) | null;
  readonly move: { readonly up: (() => void) | null; readonly down: (() => void) | null } | null;
  readonly statistics: readonly Statistic[] | undefined;
  readonly marks: readonly PlotMark[];
}

/** As the catalogue would say; without it the name has to. */
function unitOfName(statistic: string): string {
  const what = statistic.split('.').at(-1) ?? '';
  return what === 'bytes' ? 'bytes' : what === 'utilization' || what === 'percent' ? 'percent' : 'count';
}

const DISTRIBUTIONS = new Set(['latency', 'size', 'offset']);

/** What can be drawn of a statistic nobody measures now: what was recorded of it lies in the store. */
function asItWas(text: string, name: Name, statistic: Statistic | undefined): Dataset {
  const breakdown = statistic?.breakdowns.find((one) => one.name === name.breakdown);
  const distribution =
    breakdown?.kind === 'distribution' || (breakdown === undefined && DISTRIBUTIONS.has(name.breakdown ?? ''));
  const metric = `cistern_${name.statistic.replaceAll('.', '_')}`;
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return {
    name: text,
    statistic: name.statistic,
    filters: name.filters.map(([filter, value]) => [filter, value]),
    breakdown: name.breakdown,
    kind: distribution ? 'histogram' : name.statistic === 'cpu.profile' ? 'stacks' : 'series',
    unit: distribution
      ? (breakdown?.unit ?? (name.breakdown === 'latency' ? 'seconds' : 'bytes'))
      : (statistic?.unit ?? unitOfName(name.statistic)),
    metric,
    selector: `${metric}{dataset="${quoted}"}`,
    state: 'stopped',
    since: '',
    reason: null,
    recorded: false,
    watched: false,
    cpuRatio: 0,
    samples: 0,
    seriesNow: 0,
    drops: 0,
    restarts: 0,
    restIncluded: false,
  };
}

/** Its options say what it is for; its name is for those who cannot see it. */
function Choice<V extends string>(props: {
  label: string;
  value: V;
  options: readonly (readonly [value: V, text: string])[];
  onChange: (value: V) => void;
}) {
  return (
    <FormSelect
      aria-label={props.label}
      title={props.label}
      value={props.value}
      onChange={(_event, value) => props.onChange(value as V)}
    >
      {props.options.map(([value, text]) => (
        <FormSelectOption key={value} value={value} label={text} />
      ))}
    </FormSelect>
  );
}

const COMPARE = [
  ['', 'no comparison'],
  ['day', 'with the day before'],
  ['week', 'with the week before'],
] as const;
const QUANTILES: readonly (readonly [string, string])[] = [
  ['', 'no quantiles'],
  ['0.5', 'p50'],
  ['0.9', 'p90'],
  ['0.99', 'p99'],
  ['0.999', 'p99.9'],
  ['0.5,0.99', 'p50 and p99'],
  ['0.5,0.9,0.99', 'p50, p90, p99'],
];
const TRIMS: readonly (readonly [string, string])[] = [
  ['0', 'all values'],
  ['0.0001', 'top 0.01 % cut off'],
  ['0.001', 'top 0.1 % cut off'],
  ['0.01', 'top 1 % cut off'],
  ['0.05', 'top 5 % cut off'],
];

/** With what is set, should it be none of the usual ones. */
function including(options: readonly (readonly [string, string])[], value: string) {
  return options.some(([one]) => one === value) ? options : [...options, [value, value] as const];
}

function Controls(props: { chart: Chart; change: PanelProps['change']; kind: Dataset['kind']; children?: ReactNode }) {
  const { chart, change, kind } = props;
  const set = (what: Partial<{ [K in keyof Chart]: Chart[K] | undefined }>) => change(changed(chart, what), false);
  return (
    <div className="cistern-chartcontrols">
      {props.children}
      {kind === 'series' && (
        <Choice
          label="Show as"
          value={chart.display === 'lines' || chart.display === 'stacked' ? chart.display : 'auto'}
          options={[
            ['auto', 'drawn as it fits'],
            ['stacked', 'stacked'],
            ['lines', 'as lines'],
          ]}
          onChange={(display) => set({ display: display === 'auto' ? undefined : display })}
        />
      )}
      {kind === 'histogram' && (
        <>
          <Choice
            label="Axis"
            value={chart.scale ?? 'auto'}
            options={[
              ['auto', 'axis as it fits'],
              ['log', 'logarithmic axis'],
              ['linear', 'linear axis'],
            ]}
            onChange={(scale) => set({ scale: scale === 'auto' ? undefined : scale })}
          />
          <Choice
            label="Outliers"
            value={String(chart.trim ?? 0)}
            options={including(TRIMS, String(chart.trim ?? 0))}
            onChange={(trim) => set({ trim: Number(trim) || undefined })}
          />
          <Choice
            label="Quantiles"
            value={(chart.quantiles ?? []).join(',')}
            options={including(QUANTILES, (chart.quantiles ?? []).join(','))}
            onChange={(text) => set({ quantiles: text === '' ? undefined : text.split(',').map(Number) })}
          />
        </>
      )}
      {kind !== 'stacks' && (
        <Choice
          label="Compare with"
          value={chart.compare ?? ''}
          options={COMPARE}
          onChange={(compare) => set({ compare: compare === '' ? undefined : compare })}
        />
      )}
    </div>
  );
}

/** How it is being measured, when that is not simply "yes". */
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

function Actions(props: {
  chart: Chart;
  change: PanelProps['change'];
  remove: (() => void) | null;
  move: PanelProps['move'];
  exporter: RefObject<Exporter | null>;
  dataset: Dataset | null;
  /** What a threshold would watch. */
  watch: { expression: string; type: string } | null;
  title: string;
}) {
  const { chart, change, exporter, dataset } = props;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const user = use(SessionContext);
  const [open, setOpen] = useState(false);
  const [adding, setAdding] = useState(false);
  const record = useMutation({
    mutationFn: (recording: boolean) =>
      answerOf(client.POST('/api/analytics/dataset/record', { body: { name: dataset?.name ?? '', recording } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['analytics'] }),
  });
  const mayRecord = user.role !== 'viewer';
  return (
    <>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        popperProps={{ position: 'right' }}
        toggle={(ref) => (
          <MenuToggle
            ref={ref}
            variant="plain"
            aria-label={`Actions of ${props.title}`}
            isExpanded={open}
            onClick={() => setOpen(!open)}
            icon={<EllipsisVIcon />}
          />
        )}
      >
        <DropdownList>
          {chart.limit === undefined ? (
            <DropdownItem onClick={() => change(changed(chart, { limit: startOf(dataset) }), false)}>
              Draw a limit line
            </DropdownItem>
          ) : (
            <DropdownItem onClick={() => change(changed(chart, { limit: undefined }), false)}>
              Remove the limit line
            </DropdownItem>
          )}
          {props.watch !== null && (
            <DropdownItem
              onClick={() =>
                void navigate(
                  `/alerts/thresholds/new?expression=${encodeURIComponent(props.watch?.expression ?? '')}&type=${props.watch?.type}`,
                )
              }
            >
              Make this a threshold
            </DropdownItem>
          )}
          {dataset !== null && (
            <DropdownItem
              isAriaDisabled={!mayRecord}
              tooltipProps={mayRecord ? undefined : { content: 'Recording is an operator’s to decide.' }}
              onClick={() => mayRecord && record.mutate(!dataset.recorded)}
            >
              {dataset.recorded ? 'Stop recording' : 'Record it, also when nobody looks'}
            </DropdownItem>
          )}
          <DropdownItem onClick={() => setAdding(true)}>Add to worksheet…</DropdownItem>
          {chart.statistic !== undefined && (
            <DropdownItem onClick={() => void navigate(statisticLink(chart.statistic as string))}>
              Open it alone
            </DropdownItem>
          )}
          <Divider component="li" />
          <DropdownItem onClick={() => exporter.current?.png()}>Save as picture (PNG)</DropdownItem>
          <DropdownItem onClick={() => exporter.current?.csv()}>Save as table (CSV)</DropdownItem>
          {props.remove !== null && (
            <>
              <Divider component="li" />
              {props.move?.up && <DropdownItem onClick={props.move.up}>Move up</DropdownItem>}
              {props.move?.down && <DropdownItem onClick={props.move.down}>Move down</DropdownItem>}
              <DropdownItem onClick={props.remove}>Remove from this page</DropdownItem>
            </>
          )}
        </DropdownList>
      </Dropdown>
      {record.error !== null && <ProblemAlert error={record.error} />}
      {adding && <AddToWorksheet chart={chart} onClose={() => setAdding(false)} />}
    </>
  );
}

function startOf(dataset: Dataset | null): number {
  switch (dataset?.unit) {
    case 'seconds':
      return 0.1;
    case 'bytes':
      return 65_536;
    case 'percent':
      return 80;
    default:
      return 100;
  }
}

/** What ChartPanel's parts have in common: a frame with a title, a row of actions and what is below. */
function Frame(props: {
  title: string;
  state: ReactNode;
  controls: ReactNode;
  actions: ReactNode;
  children: ReactNode;
  crumbs?: ReactNode;
}) {
  const id = useId();
  const [options, setOptions] = useState(false);
  return (
    <section className="cistern-panel cistern-chartpanel" aria-labelledby={id} data-options={options}>
      <div className="cistern-charthead">
        <h2 id={id}>{props.title}</h2>
        {props.state}
        <span className="cistern-grow" />
        <Button
          variant="plain"
          className="cistern-optionsbutton"
          aria-label={`Options of ${props.title}`}
          aria-expanded={options}
          icon={<SlidersHIcon />}
          onClick={() => setOptions(!options)}
        />
        {props.controls}
        {props.actions}
      </div>
      {props.crumbs}
      {props.children}
    </section>
  );
}

function StatisticPanel(props: PanelProps & { text: string; name: Name }) {
  const { chart, change, text, name, statistics, marks } = props;
  const statistic = statistics?.find((one) => one.name === name.statistic);
  const watched = useDataset(text);
  const exporter = useRef<Exporter | null>(null);
  const dataset = watched.data ?? (watched.error ? asItWas(text, name, statistic) : undefined);
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
      <Flame name={text} title={title} exporter={exporter} />
    ) : dataset.kind === 'histogram' ? (
      <BinsBody {...{ chart, change, title, marks, exporter, empty }} selector={dataset.selector} unit={dataset.unit} />
    ) : (
      <SeriesBody
        {...{ chart, change, title, marks, exporter, empty, query, perSecond, nameOf }}
        unit={statistic?.unit ?? dataset.unit}
        amount={!level}
        drill={drills}
      />
    );
  return (
    <Frame
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
      {/* That nothing is measured at all is said once, above all charts. */}
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
    </Frame>
  );
}

function QueryPanel(props: PanelProps & { query: string }) {
  const { chart, change, query, marks } = props;
  const exporter = useRef<Exporter | null>(null);
  const title = chart.title ?? query;
  const heatmap = chart.display === 'heatmap';
  const unit = chart.unit ?? 'count';
  const nameOf = useCallback((labels: Readonly<Record<string, string>>): Named => {
    const text = shown(seriesName(labels as Record<string, string>, labels.__name__ ?? 'value'));
    return { key: text, text };
  }, []);
  const text = useCallback(() => query, [query]);
  return (
    <Frame
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
        <BinsBody
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
    </Frame>
  );
}

export function ChartPanel(props: PanelProps) {
  const { chart } = props;
  if (chart.query !== undefined) return <QueryPanel {...props} query={chart.query} />;
  const text = chart.statistic ?? '';
  const name = parseName(text);
  if (name !== undefined) return <StatisticPanel key={text} {...props} text={text} name={name} />;
  return (
    <section className="cistern-panel">
      <ProblemAlert error={new Error(`“${text}” is not the name of a statistic.`)} title="This chart cannot be drawn" />
      {props.remove !== null && <Button onClick={props.remove}>Remove it</Button>}
    </section>
  );
}
