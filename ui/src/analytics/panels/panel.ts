// What the parts of a chart's panel are handed.
import type { PlotMark } from '../../charts/pen.ts';
import type { Statistic } from '../statistics/statistic.ts';
import type { Chart } from '../worksheets/sheet.ts';

export interface PanelProps {
  readonly chart: Chart;
  /** `step`: one that "back" undoes. */
  readonly change: (chart: Chart, step?: boolean) => void;
  readonly remove: (() => void) | null;
  readonly move: { readonly up: (() => void) | null; readonly down: (() => void) | null } | null;
  readonly statistics: readonly Statistic[] | undefined;
  readonly marks: readonly PlotMark[];
}
