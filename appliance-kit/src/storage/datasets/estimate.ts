// What an estimate means, in a sentence for each level: how much smaller, and what that costs.

import { percent } from '../../base/words.ts';
import type { CompressionEstimate as Measured } from '../../platform/datasets.ts';
import type { CompressionEstimate } from './schema.ts';

/** What one core gets through, in the words of a data sheet. */
function speed(nanosecondsPerByte: number): string {
  const perSecond = 1000 / nanosecondsPerByte;
  return perSecond >= 1000 ? `${Math.round(perSecond / 100) / 10} GB/s` : `${Math.max(1, Math.round(perSecond))} MB/s`;
}

function sentence(level: Measured['levels'][number], best: number): string {
  if (level.compression === 'off') return 'Nothing is saved, and nothing is spent.';
  const saved = 1 - 1 / level.ratio;
  const cost = `One core writes ${speed(level.nanosecondsPerByte)}.`;
  if (saved < 0.02) return `Saves next to nothing: this data does not compress. ${cost}`;
  const close = level.ratio > best * 0.95 && level.ratio < best ? ' Close to the best there is.' : '';
  return `Saves ${percent(saved)} of the space. ${cost}${close}`;
}

export function estimated(measured: Measured): CompressionEstimate {
  const best = Math.max(...measured.levels.map(({ ratio }) => ratio));
  return {
    ...measured,
    levels: measured.levels.map((level) => ({ ...level, sentence: sentence(level, best) })),
  };
}
