// An objective's period window by window, beside the one before it; also by another limit than its own.
import { type Counted, ExpressionError, type Storaged } from '../../peers/storaged.ts';
import type { ObjectiveInput, ObjectiveReport } from './schema.ts';
import { LONGEST, SLOT, standingOf, startOf, sum } from './standing.ts';

const DAY = 86_400;
/** Each is a whole part of a day, so that a window ends where the period before does. */
const STEPS = [300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY];
/** About as many as a chart can tell apart. */
const WINDOWS = 400;

/** The mean of what is known of it. */
function mean(values: readonly (readonly [time: number, value: number])[]): number | null {
  const known = values.filter(([, value]) => Number.isFinite(value));
  return known.length === 0 ? null : known.reduce((total, [, value]) => total + value, 0) / known.length;
}

/** The values of the one series of an expression; throws ExpressionError when there are several. */
async function valuesOf(
  storaged: Pick<Storaged, 'queryRange'>,
  expression: string,
  start: number,
  end: number,
  step: number,
) {
  const found = await storaged.queryRange(expression, start, end, step);
  if (found.length > 1)
    throw new ExpressionError(`the population has ${found.length} values at once; put sum(…) around it`);
  return found[0]?.values ?? [];
}

export async function reportOf(
  storaged: Pick<Storaged, 'over' | 'queryRange'>,
  objective: ObjectiveInput,
  now: number,
): Promise<ObjectiveReport> {
  const { selector, limit, periodDays, population } = objective;
  const end = Math.ceil(now / 1000);
  const start = startOf(objective, now / 1000);
  const earlier = start - periodDays * DAY;
  const step = STEPS.find((one) => periodDays * DAY <= one * WINDOWS) ?? DAY;
  const both = await storaged.over(selector, limit, earlier, end, step);
  const recent = await storaged.over(selector, limit, end - LONGEST, end, SLOT);
  const days: Counted = { ...both, windows: both.windows.filter(({ time }) => time >= start) };
  const past = both.windows.filter(({ time }) => time < start);

  let values: Awaited<ReturnType<typeof valuesOf>> = [];
  let populationError: string | null = null;
  if (population !== '') {
    try {
      values = await valuesOf(storaged, population, earlier, end, step);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      populationError = error.message;
    }
  }
  const [lately, before] = [values.filter(([time]) => time >= start), values.filter(([time]) => time < start)];
  const periodOf = (from: number, windows: Counted['windows'], people: typeof values) => {
    const [count, over] = [sum(windows, (one) => one.count), sum(windows, (one) => one.over)];
    const of = population === '' ? count : mean(people);
    return { start: from, count, over, perThousand: of === null || of <= 0 ? null : (1000 * over) / of };
  };
  return {
    ...{ limit, end, stepSeconds: step, populationError },
    standing: standingOf(objective, { days, recent, end, now }),
    windows: days.windows.map(({ time, count, over, within }) => ({ time, count, over, within })),
    period: periodOf(start, days.windows, lately),
    before: periodOf(earlier, past, before),
    population: lately.filter(([, value]) => Number.isFinite(value)).map(([time, value]) => ({ time, value })),
  };
}
