// A value of a statistic or a query, in words with its unit.
import { quantity } from '../words/format.ts';
import { scaleOf } from '../words/units.ts';

export type Figure = (value: number) => string;

/** `perSecond`: what is drawn is an amount of each second. */
export function figureOf(unit: string, perSecond: boolean): Figure {
  return (value) => quantity(value, unit, perSecond, false);
}

/** Round values to label an axis with, about `wanted` of them. */
export function linearTicks(lower: number, upper: number, wanted: number, unit: string): number[] {
  const rough = (upper - lower) / wanted;
  if (!(rough > 0)) return [];
  let step: number;
  const scale = scaleOf(unit);
  if (scale?.base === 'bytes') {
    // At 256 KiB, 512 KiB, 1 MiB …, not at 19.1 MiB.
    step = 2 ** Math.round(Math.log2(rough * scale.factor)) / scale.factor;
  } else {
    const size = 10 ** Math.floor(Math.log10(rough));
    step = ([1, 2, 5, 10].find((one) => one * size >= rough) ?? 10) * size;
  }
  const found: number[] = [];
  for (let at = Math.ceil(lower / step - 1e-9); at * step <= upper * (1 + 1e-9); at += 1) found.push(at * step + 0); // + 0: no −0
  return found;
}

export function logTicks(lower: number, upper: number, wanted: number): number[] {
  const decades = Math.log10(upper / lower);
  const steps = decades > wanted ? [1] : decades * 2 > wanted ? [1, 3] : [1, 2, 5];
  const every = decades > 2 * wanted ? Math.ceil(decades / wanted) : 1;
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(lower)); power <= Math.ceil(Math.log10(upper)); power += 1) {
    if (power % every === 0) for (const step of steps) found.push(Number(`${step}e${power}`));
  }
  return found.filter((value) => value >= lower && value <= upper);
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

export interface TimeTick {
  readonly time: number;
  readonly text: string;
}

/** Ticks at round local times, no nearer to each other than `apart` pixels. */
export function timeTicks(start: number, end: number, width: number, apart: number): TimeTick[] {
  const span = end - start;
  const step =
    TIME_STEPS.find((one) => (one * width) / span >= apart) ?? Math.ceil((span * apart) / width / 86_400) * 86_400;
  const clock = new Intl.DateTimeFormat(undefined, {
    ...(step < 86_400 && { hour: '2-digit', minute: '2-digit' }),
    ...(step < 60 && { second: '2-digit' }),
    ...((step >= 86_400 || span > 86_400) && { day: 'numeric', month: 'short' }),
  });
  // Midnight is local, and so are the hours that are counted from it.
  const zone = new Date(start * 1000).getTimezoneOffset() * 60;
  const found: TimeTick[] = [];
  for (let time = Math.ceil((start - zone) / step) * step + zone; time <= end; time += step) {
    found.push({ time, text: clock.format(time * 1000) });
  }
  return found;
}
