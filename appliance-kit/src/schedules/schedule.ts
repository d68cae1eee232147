// From a schedule to its next moment, and to words. Time zones and clock changes are croner's business: a time that a
// change of the clock leaves out happens right after it, one that it repeats happens once.
import { Cron } from 'croner';
import { fail } from '../base/problems/problem.ts';
import { plural } from '../base/words.ts';
import { MINUTES, type Schedule } from './schema.ts';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** What a schema cannot say: that the fields belong together. Throws a problem that names the field under `path`. */
export function mustBeSchedule(schedule: Schedule, path = '/schedule'): void {
  const wrong = (field: string, message: string) =>
    fail('invalid_request', `The schedule makes no sense: ${message}.`, undefined, [
      { path: `${path}/${field}`, message },
    ]);
  if (schedule.every === 'minutes' && !MINUTES.some((known) => known === schedule.minutes)) {
    throw wrong('minutes', `the minutes between two runs are one of ${MINUTES.join(', ')}`);
  }
  const meant: Record<Schedule['every'], readonly string[]> = {
    minutes: ['minutes'],
    hour: ['at'],
    day: ['at'],
    week: ['at', 'weekday'],
    month: ['at', 'day'],
  };
  for (const field of ['minutes', 'at', 'weekday', 'day'] as const) {
    if (schedule[field] !== undefined && !meant[schedule.every].includes(field)) {
      throw wrong(field, `“${field}” has no meaning when it runs every ${schedule.every.replace(/s$/, '')}`);
    }
  }
}

function pattern(schedule: Schedule): string {
  const [hour, minute] = (schedule.at ?? '00:00').split(':').map(Number) as [number, number];
  switch (schedule.every) {
    case 'minutes':
      return `0 */${schedule.minutes} * * * *`;
    case 'hour':
      return `0 ${minute} * * * *`;
    case 'day':
      return `0 ${minute} ${hour} * * *`;
    case 'week':
      return `0 ${minute} ${hour} * * ${schedule.weekday ?? 0}`;
    case 'month': {
      const day = schedule.day ?? 1;
      // Of the days from 29 on, whichever of the wanted one and the last one comes first.
      return day <= 28 ? `0 ${minute} ${hour} ${day} * *` : `0 ${minute} ${hour} L * *`;
    }
  }
}

/** The first moment after `after` (milliseconds since the epoch). */
export function nextRun(schedule: Schedule, timeZone: string, after: number): number {
  const next = (text: string, from: number) => {
    const found = new Cron(text, { timezone: timeZone }).nextRun(new Date(from));
    if (found === null) throw fail('internal', `The schedule “${text}” never comes.`);
    return found.getTime();
  };
  const last = next(pattern(schedule), after);
  if (schedule.every !== 'month' || (schedule.day ?? 1) <= 28) return last;
  const [hour, minute] = (schedule.at ?? '00:00').split(':').map(Number) as [number, number];
  // In months that have the day it is that day, which is never later than their last one. The last of this month may
  // still lie ahead when the day itself is past: then it is the next month's turn.
  const exact = next(`0 ${minute} ${hour} ${schedule.day} * *`, after);
  const month = (time: number) =>
    new Intl.DateTimeFormat('en', { timeZone, year: 'numeric', month: 'numeric' }).format(time);
  const day = (time: number) => Number(new Intl.DateTimeFormat('en', { timeZone, day: 'numeric' }).format(time));
  if (exact <= last) return exact;
  // The last day of a month that is too short to have the day, or of one whose day is past.
  return day(last) < (schedule.day as number) || month(exact) === month(last)
    ? last
    : nextRun(schedule, timeZone, last);
}

/** As "every 15 minutes", "every day at 02:00", "on the 1st of each month at 03:00". */
export function scheduleWords(schedule: Schedule): string {
  const at = schedule.at ?? '00:00';
  switch (schedule.every) {
    case 'minutes':
      return schedule.minutes === 1 ? 'every minute' : `every ${plural(schedule.minutes ?? 0, 'minute')}`;
    case 'hour':
      return at.endsWith(':00') ? 'every hour' : `every hour at ${Number(at.slice(3))} minutes past`;
    case 'day':
      return `every day at ${at}`;
    case 'week':
      return `every ${WEEKDAYS[schedule.weekday ?? 0]} at ${at}`;
    case 'month': {
      const day = schedule.day ?? 1;
      if (day === 31) return `on the last day of each month at ${at}`;
      const ending =
        day % 10 === 1 && day !== 11
          ? 'st'
          : day % 10 === 2 && day !== 12
            ? 'nd'
            : day === 3 || day === 23
              ? 'rd'
              : 'th';
      return `on the ${day}${ending} of each month at ${at}${day > 28 ? ', or its last day' : ''}`;
    }
  }
}
