// Waiting for a condition, never for a time.
import { setTimeout as sleep } from 'node:timers/promises';
import { noteSlow } from '../stack/slow.ts';

/** Waits until `probe` gives something true; asks every `every` ms. The error says what was waited for. */
export async function until<T>(
  what: string,
  seconds: number,
  probe: () => Promise<T> | T,
  every = 500,
): Promise<Exclude<NonNullable<T>, false>> {
  const began = Date.now();
  const deadline = began + seconds * 1000;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value) {
        noteSlow(`until ${what}`, began);
        return value as Exclude<NonNullable<T>, false>;
      }
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline)
      throw new Error(
        `${what}: not within ${seconds} s${last ? ` (last: ${last instanceof Error ? last.message : last})` : ''}`,
      );
    await sleep(every);
  }
}
