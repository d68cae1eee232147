// How many events are beyond a limit, in words.
import { digits } from '../words/format.ts';
import { scaleOf } from '../words/units.ts';
import type { Figure } from './units.ts';

/** What is beyond the limit is slower when it is a time, and larger when it is a size. */
export function beyond(unit: string): string {
  const base = scaleOf(unit)?.base;
  return base === 'seconds' ? 'slower than' : base === 'bytes' ? 'larger than' : 'above';
}

/** "37 of 41,200 slower than 1.5 s (0.09 %)": how many first, the percentage after. */
export function overSentence(over: number, count: number, limit: number, unit: string, figure: Figure): string {
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  const share = count > 0 ? (over / count) * 100 : 0;
  const percent =
    share === 0 || share >= 10
      ? Math.round(share)
      : share >= 1
        ? share.toFixed(1)
        : digits(Number(share.toPrecision(1)));
  return `${whole(over)} of ${whole(count)} ${beyond(unit)} ${figure(limit)} (${percent} %)`;
}
