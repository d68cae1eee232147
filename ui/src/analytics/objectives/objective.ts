// An objective's form as it is typed, the API's input made of it, how one stands, and the curves of its report.

import type { Schemas } from '../../api/client.ts';
import type { SeriesFrame } from '../../api/columns.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { parseQuantity, quantity } from '../../words/format.ts';

export type Objective = Schemas['Objective'];
export type ObjectiveInput = Schemas['ObjectiveInput'];
export type Report = Schemas['ObjectiveReport'];

export interface Draft {
  name: string;
  selector: string;
  /** As `300 ms`. */
  limit: string;
  /** As `99`, in percent. */
  target: string;
  periodDays: number;
  population: string;
}

/** As a person writes it, when that says exactly this value. */
export function limitText(limit: number, unit: string): string {
  const text = quantity(limit, unit);
  return parseQuantity(text, unit) === limit ? text : String(limit);
}

export function draftOf(objective: Objective | undefined, query: URLSearchParams): Draft {
  if (objective === undefined) {
    const [selector, limit] = [query.get('selector') ?? '', query.get('limit') ?? ''];
    return { name: '', selector, limit, target: '99', periodDays: 28, population: '' };
  }
  const { name, selector, limit, unit, targetPercent, periodDays, population } = objective;
  return { name, selector, limit: limitText(limit, unit), target: String(targetPercent), periodDays, population };
}

export interface Missing {
  readonly field: 'name' | 'selector' | 'limit' | 'targetPercent';
  readonly words: string;
}

/** The input, or what is missing of it. `unit`: what the histograms are measured in. */
export function inputOf(draft: Draft, unit: string): ObjectiveInput | Missing {
  const [name, selector, population] = [draft.name.trim(), draft.selector.trim(), draft.population.trim()];
  const limit = parseQuantity(draft.limit, unit);
  const targetPercent = Number(draft.target.replace('%', '').trim());
  if (selector === '')
    return { field: 'selector', words: 'Enter a selector of histograms, as checkout_seconds{site="north"}.' };
  if (limit === undefined) return { field: 'limit', words: 'Enter a limit, as 300 ms or 64 KiB.' };
  if (draft.target.trim() === '' || !(targetPercent >= 1 && targetPercent <= 99.9999)) {
    return { field: 'targetPercent', words: 'Enter a percentage from 1 to 99.9999.' };
  }
  if (name === '') return { field: 'name', words: 'Enter a name: alerts are called by it.' };
  return { name, selector, limit, unit, targetPercent, periodDays: draft.periodDays, population };
}

export const isMissing = (input: ObjectiveInput | Missing): input is Missing => 'words' in input;

/** How it stands, as an icon. */
export function conditionOf({ standing, error }: Pick<Objective, 'standing' | 'error'>): Condition {
  if (error !== null) return 'warning';
  if (standing === null || standing.percent === null) return 'info';
  return standing.overBudget > 0 ? 'critical' : 'ok';
}

/** How much of what may be beyond the limit is: 1 is all of it; null: nothing was measured. */
export function usedOf({ count, over, overBudget }: Schemas['ObjectiveStanding']): number | null {
  const budget = over - overBudget;
  return count === 0 || budget <= 0 ? null : over / budget;
}

export type CountedBy = 'period' | 'month' | 'day';

const local = (time: number) => new Date(time * 1000);
const STRETCHES: Readonly<Record<CountedBy, (time: number) => string>> = {
  period: () => '',
  month: (time) => `${local(time).getFullYear()}-${local(time).getMonth()}`,
  day: (time) => local(time).toDateString(),
};

/**
 * How many were beyond the limit since the period, the month or the day began (of the reader's clock), window by window, and how
 * many might have been. A window belongs to the day in which it begins.
 */
export function cumulative(report: Report, targetPercent: number, by: CountedBy): SeriesFrame {
  const { stepSeconds: step, end } = report;
  const { start } = report.period;
  const count = Math.max(1, Math.ceil((end - start) / step)) + 1;
  const [over, budget] = [new Float64Array(count), new Float64Array(count)];
  const windows = new Map(report.windows.map((one) => [Math.floor((one.time - start) / step), one]));
  const share = (100 - targetPercent) / 100;
  let [overNow, budgetNow, stretch] = [0, 0, STRETCHES[by](start)];
  for (let place = 0; place + 1 < count; place += 1) {
    const now = STRETCHES[by](start + place * step);
    if (now !== stretch) [overNow, budgetNow, stretch] = [0, 0, now];
    const window = windows.get(place);
    overNow += window?.over ?? 0;
    budgetNow += share * (window?.count ?? 0);
    over[place + 1] = overNow;
    budget[place + 1] = budgetNow;
  }
  const lines = [
    { labels: { line: 'over' }, values: over },
    { labels: { line: 'budget' }, values: budget },
  ];
  return { start, step, count, lines };
}

/** The population as a line of its own, on the places of the curves. */
export function populationLine(report: Report): Float64Array | null {
  if (report.population.length === 0) return null;
  const { stepSeconds: step, end } = report;
  const { start } = report.period;
  const values = new Float64Array(Math.max(1, Math.ceil((end - start) / step)) + 1).fill(Number.NaN);
  for (const { time, value } of report.population) {
    const place = Math.round((time - start) / step);
    if (place >= 0 && place < values.length) values[place] = value;
  }
  return values;
}
