// What an alert is about: its own series with the limit, from before the raise until now, or until after it cleared.
import { useMemo, useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { AxisContext, TimeAxis, useTicking } from '../../charts/axis.ts';
import { FixedHeatmap, FixedLines } from '../../charts/FixedCharts.tsx';
import type { PlotMark } from '../../charts/pen.ts';
import type { Alert } from './words.ts';

type Chart = Schemas['AlertChart'];

const HEIGHT = 220;

/** An axis that all charts of the page share; live while `to` is null. */
export function useAlertAxis(from: number, to: number | null): TimeAxis {
  const make = () => new TimeAxis({ range: Math.max(60, Math.round((to ?? Date.now() / 1000) - from)), end: to });
  const [axis] = useState(make);
  useTicking(axis);
  return axis;
}

/** When it was raised, and how long it lasted. */
function marksOf(alert: Alert): readonly PlotMark[] {
  const seconds = (time: string) => Date.parse(time) / 1000;
  const endTime = alert.clearedAt === null ? null : seconds(alert.clearedAt);
  return [{ time: seconds(alert.raisedAt), endTime, severity: alert.severity, kind: 'alert', title: alert.title }];
}

export function AlertChart({ alert, chart, axis }: { alert: Alert; chart: Chart; axis: TimeAxis }) {
  const marks = useMemo(() => marksOf(alert), [alert]);
  const limit = chart.limit ?? undefined;
  const title = chart.title || alert.title;
  const what = alert.ruleId === null ? title : (chart.histogram ?? chart.expression);
  return (
    <section className="cistern-panel cistern-findings" aria-label={`Chart of ${title}`}>
      <h2 className="cistern-wrap">{what}</h2>
      <AxisContext value={axis}>
        {chart.histogram === null ? (
          <FixedLines
            {...{ axis, title, limit, marks }}
            query={chart.expression}
            only={chart.alone ? null : alert.labels}
            height={HEIGHT}
          />
        ) : (
          <FixedHeatmap {...{ axis, title, limit, marks }} selector={chart.histogram} height={HEIGHT} />
        )}
      </AxisContext>
    </section>
  );
}
