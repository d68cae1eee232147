// What chrony says of the clock, on Linux and on illumos.
import { fail } from '../base/problems/problem.ts';
import type { TimeSource } from './machine.ts';

/** What is known of a clock that nothing keeps. */
export const NO_TIME_SOURCE = {
  ...{ source: null, answeredAt: null, pollSeconds: null, offsetSeconds: null },
  synchronised: false,
} as const;

/** Of the 14 fields that `chronyc -c tracking` prints. */
const CHRONY = { name: 1, reference: 3, offset: 4, interval: 12, leap: 13, count: 14 } as const;

/** @param output `chronyc -c -n tracking`: one line of values with commas between them */
export function parseTracking(output: string): TimeSource {
  const line = output.trim();
  const fields = line.split(',');
  const at = (name: keyof typeof CHRONY) => fields[CHRONY[name]] ?? '';
  const reference = Number(at('reference'));
  const offset = Number(at('offset'));
  if (fields.length < CHRONY.count || line.includes('\n') || !Number.isFinite(reference) || !Number.isFinite(offset)) {
    throw fail('command_failed', `What chronyc says cannot be read: “${line.slice(0, 200)}”.`);
  }
  const synchronised = ['Normal', 'Insert second', 'Delete second'].includes(at('leap'));
  const interval = Number(at('interval'));
  return {
    daemon: 'chrony',
    running: true,
    source: synchronised && at('name') !== '' ? at('name') : null,
    answeredAt: reference > 0 ? Math.round(reference * 1000) : null,
    pollSeconds: interval > 0 ? interval : null,
    offsetSeconds: reference > 0 ? Math.abs(offset) : null,
    synchronised,
  };
}
