// How an objective stands, of what the store counted: its sentence, and how fast its budget is used up.
import { iso } from '../../base/clock.ts';
import { canonical, quantity } from '../../base/quantity.ts';
import { figure, plural } from '../../base/words.ts';
import type { Counted, CountedWindow } from '../../peers/storaged.ts';
import type { ObjectiveInput, ObjectiveStanding } from './schema.ts';

const DAY = 86_400;
const HOUR = 3600;
export const SLOT = 300;

export interface Burn {
  readonly seconds: number;
  /** Over which it has to be as fast too, so that the alert ends soon after the trouble does. */
  readonly shortSeconds: number;
  readonly rate: number;
}

/**
 * Two times, and how fast the budget has to be used up in both: "The Site Reliability Workbook", chapter 5, "Multiwindow,
 * Multi-Burn-Rate Alerts". The shorter time is a twelfth, as there; the rate over a day is put between its others.
 */
export const FAST: readonly Burn[] = [{ seconds: HOUR, shortSeconds: 300, rate: 14.4 }];
export const SLOW: readonly Burn[] = [
  { seconds: 6 * HOUR, shortSeconds: HOUR / 2, rate: 6 },
  { seconds: DAY, shortSeconds: 2 * HOUR, rate: 3 },
  { seconds: 3 * DAY, shortSeconds: 6 * HOUR, rate: 1 },
];
export const LONGEST = 3 * DAY;
/**
 * No alert is raised while fewer measurements than this were beyond the limit in the longer time. One slow one of five is no
 * trend: of ten that come by chance, a third more or fewer would be as likely (their root is about three).
 */
export const LEAST_OVER = 10;

const count = (value: number) => Math.round(value).toLocaleString('en-US');

/** Cut, not rounded: 98.996 % is not 99 %. */
const share = (percent: number) => `${figure(Math.floor(percent * 100 + 1e-9) / 100)} %`;

export const sum = (windows: readonly CountedWindow[], of: (one: CountedWindow) => number) =>
  windows.reduce((total, one) => total + of(one), 0);

/** "99 % under 300 ms in 28 days". */
export const promise = ({ targetPercent, limit, unit, periodDays }: ObjectiveInput) =>
  `${figure(targetPercent)} % under ${quantity(limit, canonical(unit))} in ${plural(periodDays, 'day')}`;

function sentenceOf(objective: ObjectiveInput, total: number, over: number, within: number): string {
  if (total === 0) return `${promise(objective)}: nothing was measured.`;
  const excess = over - allowed(objective, total);
  const budget = excess > 0 ? `${count(excess)} over budget` : `${count(-excess)} left of the budget`;
  const unsure = within > 0 ? `; ${count(within)} are too close to the limit to tell, and count in part` : '';
  const reached = share((100 * (total - over)) / total);
  return `${promise(objective)}: ${reached}; ${count(over)} of ${count(total)} too ${canonical(objective.unit).endsWith('seconds') ? 'slow' : 'large'}, ${budget}${unsure}.`;
}

const allowed = ({ targetPercent }: ObjectiveInput, total: number) => (total * (100 - targetPercent)) / 100;

/** The full hour at which the period begins: there rollups begin, too. */
export const startOf = ({ periodDays }: ObjectiveInput, now: number) =>
  Math.floor((now - periodDays * DAY) / HOUR) * HOUR;

/** How fast the budget was used up in the last `seconds`; null when nothing was measured. */
function burnIn(objective: ObjectiveInput, recent: Counted, end: number, seconds: number) {
  const windows = recent.windows.filter(({ time }) => time >= end - seconds);
  const total = sum(windows, (one) => one.count);
  const over = sum(windows, (one) => one.over);
  return { seconds, over, rate: total === 0 ? null : over / allowed(objective, total) };
}

/** The first of the rates that are reached, in both of its times. */
export function burning(standing: ObjectiveStanding, rates: readonly Burn[], periodDays: number): Burn | undefined {
  const of = (wanted: number) => standing.burns.find(({ seconds }) => seconds === wanted);
  return rates.find(({ seconds, shortSeconds, rate }) => {
    const [long, short] = [of(seconds), of(shortSeconds)];
    const enough = seconds <= periodDays * DAY && (long?.over ?? 0) >= LEAST_OVER;
    return enough && (long?.rate ?? 0) >= rate && (short?.rate ?? 0) >= rate;
  });
}

/**
 * @param days what was counted in the period
 * @param recent what was counted in the last three days, by `SLOT`, until `end`
 */
export function standingOf(
  objective: ObjectiveInput,
  { days, recent, end, now }: { days: Counted; recent: Counted; end: number; now: number },
): ObjectiveStanding {
  const total = sum(days.windows, (one) => one.count);
  const over = sum(days.windows, (one) => one.over);
  const within = sum(days.windows, (one) => one.within);
  const lengths = [...FAST, ...SLOW].flatMap(({ seconds, shortSeconds }) => [shortSeconds, seconds]);
  return {
    measuredAt: iso(now),
    start: iso(startOf(objective, now / 1000) * 1000),
    sentence: sentenceOf(objective, total, over, within),
    ...{ count: total, over, within, overBudget: over - allowed(objective, total) },
    percent: total === 0 ? null : (100 * (total - over)) / total,
    approximate: days.approximate,
    warnings: days.warnings,
    burns: lengths.map((seconds) => burnIn(objective, recent, end, seconds)),
  };
}
