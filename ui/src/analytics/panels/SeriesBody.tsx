// A chart of series, its values beside it.
import { Button, Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { useAxis, useCursor, useSettled } from '../../charts/axis.ts';
import { csv, download, type Exporter, fileName, picture } from '../../charts/download.ts';
import { useSeriesFrame } from '../../charts/frames.ts';
import { Colours, linesOf, MAX_DRAWN, type Named, type NamedLine, statsOf, within } from '../../charts/lines.ts';
import { chartColours, seriesColour } from '../../charts/palette.ts';
import type { PlotMark } from '../../charts/pen.ts';
import { SeriesChart } from '../../charts/SeriesChart.tsx';
import { figureOf } from '../../charts/units.ts';
import { type Row, sumFigure, ValueTable } from '../../charts/ValueTable.tsx';
import { useDark } from '../../theme/theme.ts';
import { duration } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Chart, changed } from '../worksheets/sheet.ts';

export const SHIFTS = { day: 86_400, week: 604_800 } as const;
const HEIGHT = 220;
const byName = new Intl.Collator('en', { numeric: true });

export interface Drill {
  readonly title: string;
  /** What a value may be split by next: null is by nothing. */
  readonly next: readonly { readonly name: string | null; readonly title: string }[];
  go(value: string, next: string | null): void;
}

export function SeriesBody(props: {
  chart: Chart;
  change: (chart: Chart, step?: boolean) => void;
  title: string;
  query: (step: number) => string;
  unit: string;
  perSecond: boolean;
  /** Adding up values of different moments, or of different lines, means something. */
  amount: boolean;
  nameOf: (labels: Readonly<Record<string, string>>) => Named | null;
  drill: Drill | null;
  marks: readonly PlotMark[];
  exporter: RefObject<Exporter | null>;
  empty: string;
}) {
  const { chart, change, title, unit, perSecond, amount, nameOf, drill } = props;
  const axis = useAxis();
  const settled = useSettled(axis);
  const dark = useDark();
  const colours = useRef(new Colours());
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const cursor = useCursor(axis);
  const [drilling, setDrilling] = useState<string | null>(null);
  const { data: frame, error, refetch, isPlaceholderData } = useSeriesFrame(props.query, settled);
  const shift = chart.compare === undefined ? 0 : SHIFTS[chart.compare];
  const before = useSeriesFrame(props.query, settled, { enabled: shift > 0, shift });

  const lines = useMemo(
    () => (frame === undefined ? undefined : linesOf(frame, nameOf, colours.current, MAX_DRAWN, amount)),
    [frame, nameOf, amount],
  );
  const figure = useMemo(() => figureOf(unit, perSecond), [unit, perSecond]);
  const stacked = chart.display === 'stacked' || (chart.display !== 'lines' && (amount || lines?.additive === true));
  const highlight = chart.highlight ?? [];
  const shownHighlight = highlight.filter((key) => lines?.all.some((line) => line.key === key));
  const compare = useMemo(() => {
    if (shift === 0 || before.data === undefined || before.data.lines.length === 0) return null;
    const { total } = linesOf(before.data, nameOf, new Colours());
    const text = chart.compare === 'day' ? 'the day before' : 'the week before';
    return { start: before.data.start + shift, step: before.data.step, values: total, text };
  }, [shift, before.data, nameOf, chart.compare]);

  useEffect(() => {
    if (frame === undefined || lines === undefined) return;
    props.exporter.current = {
      png: () => {
        if (canvas.current === null) return;
        const legend = lines.drawn.map(({ text, colour }) => ({
          text,
          colour: colour < 0 ? chartColours(dark).dim : seriesColour(colour, dark),
        }));
        void picture(canvas.current, title, legend, dark).then((blob) => download(blob, fileName(title, 'png')));
      },
      csv: () => {
        const { start, end } = axis.span;
        const [from, until] = within(frame, start, end);
        // By name, what is summed up last, and not by size as beside the chart: the same columns whenever it is saved.
        const rest = ({ colour }: NamedLine) => Number(colour < 0);
        const columns = [...lines.all].sort((a, b) => rest(a) - rest(b) || byName.compare(a.text, b.text));
        const rows: (string | number)[][] = [['time', 'epoch', ...columns.map(({ text }) => text), 'total']];
        for (let i = from; i < until; i += 1) {
          const time = frame.start + i * frame.step;
          const values = columns.map(({ values: of }) => of[i] as number);
          rows.push([new Date(time * 1000).toISOString(), time, ...values, lines.total[i] as number]);
        }
        download(new Blob([csv(rows)], { type: 'text/csv' }), fileName(title, 'csv'));
      },
    };
  }, [frame, lines, dark, title, axis, props.exporter]);

  if (error && frame === undefined) return <ProblemAlert error={error} retry={() => void refetch()} />;
  const { start, end } = axis.span;
  const at = frame === undefined ? ([0, 0] as const) : within(frame, start, end);
  const place = frame === undefined || cursor === null ? -1 : Math.round((cursor - frame.start) / frame.step);
  const rows: Row[] =
    frame === undefined || lines === undefined
      ? []
      : lines.all.map((line) => {
          const stats = statsOf(line.values, at[0], at[1], frame.step);
          return { line, stats, now: place < 0 ? stats.last : (line.values[place] ?? Number.NaN) };
        });
  const waiting = frame === undefined || (isPlaceholderData && rows.length === 0);
  const over = chart.limit === undefined || lines === undefined || frame === undefined ? null : beyond(lines.total, at);

  function beyond(total: Float64Array, [from, until]: readonly [number, number]) {
    let [above, measured] = [0, 0];
    for (let i = from; i < until; i += 1) {
      const value = total[i] as number;
      if (Number.isNaN(value)) continue;
      measured += 1;
      if (value > (chart.limit as number)) above += 1;
    }
    const step = frame?.step ?? 1;
    return `Above ${figure(chart.limit as number)} for ${duration(above * step)} of ${duration(measured * step)}.`;
  }
  const toggle = (key: string) =>
    change(
      changed(chart, {
        highlight: highlight.includes(key)
          ? highlight.filter((one) => one !== key).length > 0
            ? highlight.filter((one) => one !== key)
            : undefined
          : [...highlight, key].slice(-20),
      }),
      false,
    );
  const chosen = drilling ?? (shownHighlight.length === 1 ? (shownHighlight[0] as string) : null);
  const chosenLine = lines?.all.find(({ key }) => key === chosen);
  return (
    <>
      {over !== null && (
        <p className="cistern-over" aria-live="polite">
          {over}
        </p>
      )}
      <ProblemAlert error={error} stale retry={() => void refetch()} />
      <div className="cistern-seriesbody">
        <div>
          {drill !== null && chosenLine?.drillable && (
            <div className="cistern-drill">
              <Dropdown
                isOpen={drilling !== null}
                onOpenChange={(open) => setDrilling(open ? chosenLine.key : null)}
                onSelect={() => setDrilling(null)}
                shouldFocusFirstItemOnOpen
                toggle={(ref) => (
                  <MenuToggle
                    ref={ref}
                    isExpanded={drilling !== null}
                    onClick={() => setDrilling(drilling === null ? chosenLine.key : null)}
                  >
                    {`Drill down into ${chosenLine.text}`}
                  </MenuToggle>
                )}
              >
                <DropdownList>
                  {drill.next.map(({ name, title: by }) => (
                    <DropdownItem key={name ?? ''} onClick={() => drill.go(chosenLine.key, name)}>
                      {name === null ? 'As it is, without a breakdown' : `By ${by}`}
                    </DropdownItem>
                  ))}
                </DropdownList>
              </Dropdown>
              {highlight.length > 0 && (
                <Button variant="link" onClick={() => change(changed(chart, { highlight: undefined }), false)}>
                  Clear
                </Button>
              )}
            </div>
          )}
          <ValueTable
            label={`Values of ${title}`}
            rows={rows}
            figure={figure}
            sum={amount ? sumFigure(unit, figureOf) : null}
            atCursor={cursor !== null}
            highlight={shownHighlight}
            onHighlight={toggle}
            // Not within the click itself: the menu would take it for one beside it, and close.
            onDrill={drill === null ? undefined : (key) => setTimeout(() => setDrilling(key))}
          />
        </div>
        <div className="cistern-plotbox">
          <SeriesChart
            title={title}
            label={`${title}: ${waiting ? 'being read' : rows.length === 1 ? '1 line' : `${rows.length} lines`}`}
            height={HEIGHT}
            query={frame === undefined ? '' : props.query(frame.step)}
            {...{ frame, lines, stacked, unit, figure, compare }}
            highlight={shownHighlight}
            onHighlight={toggle}
            listed
            limit={chart.limit}
            onLimit={(limit) => change(changed(chart, { limit }), false)}
            marks={props.marks}
            reading={waiting}
            empty={props.empty}
            canvasRef={(element) => {
              canvas.current = element;
            }}
          />
          {lines !== undefined && lines.drawn.length < lines.all.length && (
            <p className="cistern-quiet">
              {MAX_DRAWN} of {lines.all.length.toLocaleString()} series are drawn each for itself:{' '}
              {amount || lines.additive
                ? 'the largest. The others are drawn as their sum.'
                : 'those that differ most from the median of all.'}
            </p>
          )}
          {chart.compare !== undefined && compare === null && !before.isPending && (
            <p className="cistern-quiet">
              There is nothing of {chart.compare === 'day' ? 'the day' : 'the week'} before.
            </p>
          )}
        </div>
      </div>
    </>
  );
}
