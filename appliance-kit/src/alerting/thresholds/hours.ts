// The days and hours in which a rule raises alerts, in a time zone of their own.
import { fail } from '../../base/problems/problem.ts';
import type { Hours } from './schema.ts';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MINUTE_MS = 60_000;

/** Making a formatter costs more than a thousand uses of one. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let found = formats.get(timeZone);
  if (found === undefined) {
    const fields = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    found = new Intl.DateTimeFormat('en-GB', { timeZone, ...fields });
    formats.set(timeZone, found);
  }
  return found;
}

/** Throws a problem that names the field. */
export function mustBeHours(hours: Hours): void {
  try {
    formatOf(hours.timeZone);
  } catch {
    const message = 'is no time zone, as Europe/Berlin';
    throw fail('invalid_request', `The rule was refused: “${hours.timeZone}” ${message}.`, undefined, [
      { path: '/hours/timeZone', message },
    ]);
  }
  if (hours.from === hours.to && hours.from !== '00:00') {
    const message = 'must not be the beginning too; 00:00 to 00:00 is the whole day';
    throw fail('invalid_request', `The rule was refused: the end of its hours ${message}.`, undefined, [
      { path: '/hours/to', message },
    ]);
  }
}

/** The weekday (0 is Sunday) and the minute of the day there. */
function at(timeZone: string, now: number): { day: number; minute: number } {
  const parts = formatOf(timeZone).formatToParts(now);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return { day: DAYS.indexOf(part('weekday')), minute: Number(part('hour')) * 60 + Number(part('minute')) };
}

const minuteOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** Hours over midnight belong to the day they begin on: Friday 22:00 to 06:00 ends on Saturday. */
export function within(hours: Hours, now: number): boolean {
  const { day, minute } = at(hours.timeZone, Math.floor(now / MINUTE_MS) * MINUTE_MS);
  const [from, to] = [minuteOf(hours.from), minuteOf(hours.to)];
  const isDay = (one: number) => hours.days.includes(one);
  if (from === to) return isDay(day);
  if (from < to) return isDay(day) && minute >= from && minute < to;
  return (isDay(day) && minute >= from) || (isDay((day + 6) % 7) && minute < to);
}
