// Which of a schedule's snapshots of one dataset are kept: the newest ones, and the last of each of so many hours, days,
// weeks and months that have one. What is needed by anything else is never destroyed.

import { enumerate, plural } from '../../base/words.ts';
import type { PlatformSnapshot } from '../../platform/datasets.ts';
import type { Keep } from './schema.ts';

/** All snapshots that schedules take begin so; a person's never do, since a property alone can come with a received one. */
export const OURS = 'cistern-';

/** Why it is not destroyed without being asked for, or null. */
export function keptBy(snapshot: PlatformSnapshot): string | null {
  if (snapshot.holds > 0) return `It has ${plural(snapshot.holds, 'hold')}.`;
  if (snapshot.clones.length > 0) return `It is the origin of ${enumerate(snapshot.clones.map((one) => `“${one}”`))}.`;
  if (snapshot.replication) return 'A replication goes on from it.';
  return null;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Its hour, day, week and month in the time zone, each as something that is equal for equal ones. */
function periods(time: number, timeZone: string): Record<'hourly' | 'daily' | 'weekly' | 'monthly', string> {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const options = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', hourCycle: 'h23' } as const;
    format = new Intl.DateTimeFormat('en-CA', { timeZone, ...options });
    formats.set(timeZone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
  const day = `${parts.year}-${parts.month}-${parts.day}`;
  // The first of January 1970 was a Thursday: weeks begin on Mondays.
  const days = Date.UTC(Number(parts.year), Number(parts.month) - 1, Number(parts.day)) / 86_400_000;
  return {
    // When the clock is put back one hour comes twice: by the clock on the wall it is the same one, by time it is not.
    hourly: `${day} ${parts.hour} ${Math.floor(time / 3_600_000)}`,
    daily: day,
    weekly: String(Math.floor((days + 3) / 7)),
    monthly: `${parts.year}-${parts.month}`,
  };
}

const GRANULARITIES = ['hourly', 'daily', 'weekly', 'monthly'] as const;

/**
 * The names of those that are given up. All of `snapshots` are of one dataset.
 * The periods of a moment are worked out once: five hundred datasets share it.
 */
export function superfluous(
  snapshots: readonly PlatformSnapshot[],
  schedule: { id: string; keep: Keep },
  timeZone: string,
  known = new Map<number, ReturnType<typeof periods>>(),
): string[] {
  const ours = snapshots
    .filter(({ name, dataset, schedule: by }) => by === schedule.id && name.startsWith(`${dataset}@${OURS}`))
    .sort((a, b) => b.createdAt - a.createdAt);
  const kept = new Set<PlatformSnapshot>(ours.slice(0, Math.max(1, schedule.keep.frequent)));
  for (const granularity of GRANULARITIES) {
    const seen = new Set<string>();
    for (const one of ours) {
      if (seen.size >= schedule.keep[granularity]) break;
      let of = known.get(one.createdAt);
      if (of === undefined) {
        of = periods(one.createdAt, timeZone);
        known.set(one.createdAt, of);
      }
      if (seen.has(of[granularity])) continue;
      seen.add(of[granularity]);
      kept.add(one);
    }
  }
  return ours.filter((one) => !kept.has(one) && keptBy(one) === null).map(({ name }) => name);
}

/** As “keeps the newest 4, and one of each of 24 hours and 7 days”. */
export function keepWords(keep: Keep): string {
  const names = { hourly: 'hour', daily: 'day', weekly: 'week', monthly: 'month' } as const;
  const rest = GRANULARITIES.filter((one) => keep[one] > 0).map((one) => plural(keep[one], names[one]));
  const newest = keep.frequent > 0 ? `the newest ${keep.frequent === 1 ? 'one' : keep.frequent}` : '';
  const each = rest.length > 0 ? `one of each of ${enumerate(rest)}` : '';
  return `keeps ${[newest, each].filter(Boolean).join(', and ')}`;
}
