import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestClock } from '../../tests/harness.ts';
import { silentLog } from '../base/log.ts';
import type { ProblemError } from '../base/problems/problem.ts';
import { mustBeSchedule, nextRun, scheduleWords } from './schedule.ts';
import type { Schedule } from './schema.ts';
import { type Entry, Timetable } from './timetable.ts';

const BERLIN = 'Europe/Berlin';

/** The next `count` moments, as UTC texts. */
function runs(schedule: Schedule, from: string, count: number, timeZone = BERLIN): string[] {
  const found: string[] = [];
  let at = Date.parse(from);
  for (let n = 0; n < count; n++) {
    at = nextRun(schedule, timeZone, at);
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

test('the moments of a schedule, in its time zone', () => {
  assert.deepEqual(runs({ every: 'minutes', minutes: 15 }, '2026-01-01T10:07:00Z', 3), [
    '2026-01-01T10:15',
    '2026-01-01T10:30',
    '2026-01-01T10:45',
  ]);
  assert.deepEqual(runs({ every: 'hour', at: '00:05' }, '2026-01-01T10:07:00Z', 2), [
    '2026-01-01T11:05',
    '2026-01-01T12:05',
  ]);
  assert.deepEqual(runs({ every: 'week', at: '03:00', weekday: 1 }, '2026-01-01T10:07:00Z', 2), [
    '2026-01-05T02:00',
    '2026-01-12T02:00',
  ]);
  assert.deepEqual(runs({ every: 'month', day: 15 }, '2026-01-01T10:07:00Z', 2), [
    '2026-01-14T23:00',
    '2026-02-14T23:00',
  ]);
});

test('a day that a month does not have is its last one', () => {
  const utc = (day: number, from: string, count: number) => runs({ every: 'month', day }, from, count, 'UTC');
  assert.deepEqual(utc(31, '2027-01-01T00:00:00Z', 5), [
    '2027-01-31T00:00',
    '2027-02-28T00:00',
    '2027-03-31T00:00',
    '2027-04-30T00:00',
    '2027-05-31T00:00',
  ]);
  assert.deepEqual(utc(29, '2027-01-01T00:00:00Z', 4), [
    '2027-01-29T00:00',
    '2027-02-28T00:00',
    '2027-03-29T00:00',
    '2027-04-29T00:00',
  ]);
  assert.deepEqual(utc(30, '2027-01-30T00:00:00Z', 3), ['2027-02-28T00:00', '2027-03-30T00:00', '2027-04-30T00:00']);
});

test('when the clock is put forward or back, a run is neither lost nor done twice', () => {
  // 2026-03-29 02:00 → 03:00 and 2026-10-25 03:00 → 02:00 in Berlin.
  assert.deepEqual(runs({ every: 'day', at: '02:30' }, '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30',
    '2026-03-29T01:00', // there is no 02:30: right after the gap
    '2026-03-30T00:30',
  ]);
  const autumn = runs({ every: 'day', at: '02:30' }, '2026-10-24T00:00:00Z', 3);
  assert.deepEqual([autumn[0], autumn[2]], ['2026-10-24T00:30', '2026-10-26T01:30']);
});

test('fields that do not belong together are named', () => {
  const path = (schedule: Schedule): string | undefined => {
    try {
      mustBeSchedule(schedule);
      return undefined;
    } catch (error) {
      return (error as ProblemError).problem.errors?.[0]?.path;
    }
  };
  assert.equal(path({ every: 'minutes', minutes: 7 }), '/schedule/minutes');
  assert.equal(path({ every: 'minutes' }), '/schedule/minutes');
  assert.equal(path({ every: 'day', weekday: 2 }), '/schedule/weekday');
  assert.equal(path({ every: 'week', day: 2 }), '/schedule/day');
  assert.equal(path({ every: 'week', weekday: 2, at: '03:30' }), undefined);
});

test('words', () => {
  assert.equal(scheduleWords({ every: 'minutes', minutes: 15 }), 'every 15 minutes');
  assert.equal(scheduleWords({ every: 'hour' }), 'every hour');
  assert.equal(scheduleWords({ every: 'week', weekday: 6, at: '04:00' }), 'every Saturday at 04:00');
  assert.equal(scheduleWords({ every: 'month', day: 2 }), 'on the 2nd of each month at 00:00');
  assert.equal(scheduleWords({ every: 'month', day: 31 }), 'on the last day of each month at 00:00');
});

test('the timetable does what is due once, also what was missed, and never twice at a time', async () => {
  const clock = new TestClock(Date.parse('2026-01-01T10:00:00Z'));
  const table = new Timetable({ clock, log: silentLog, timeZone: () => 'UTC' });
  const ran: string[] = [];
  let hold: Promise<void> | undefined;
  let entry: Entry | undefined = {
    id: 'snapshot/a',
    schedule: { every: 'minutes', minutes: 5 },
    since: clock.now() - 3_600_000, // made an hour ago, and akd was down since
    run: async (due) => {
      ran.push(new Date(due).toISOString().slice(11, 16));
      await hold;
    },
  };
  table.add(() => (entry === undefined ? [] : [entry]));
  table.tick();
  table.tick();
  await table.settled();
  assert.equal(ran.length, 1, 'twelve missed runs are made up for by one');
  clock.advance(299);
  table.tick();
  await table.settled();
  assert.equal(ran.length, 1);
  clock.advance(1);
  let release = () => {};
  hold = new Promise((done) => {
    release = done;
  });
  table.tick();
  assert.deepEqual(ran.slice(1), ['10:05']);
  clock.advance(600);
  table.tick();
  assert.equal(ran.length, 2, 'the one before has not ended');
  release();
  await table.settled();
  table.tick();
  await table.settled();
  assert.equal(ran.length, 3);
  entry = undefined;
  clock.advance(3600);
  table.tick();
  await table.settled();
  assert.equal(ran.length, 3, 'one that was removed does not run');
});
