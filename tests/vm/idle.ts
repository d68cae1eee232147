// What a machine costs while nobody wants anything of it, by its own /proc/stat: two readings in one command, so that the
// asking itself is left out.
import type { Machine } from './machine.ts';

/** /proc/stat counts a processor's time in hundredths of a second, whatever the kernel's timer is. */
const TICKS = 100;

export interface Idle {
  /** Of one processor of the machine: 0.01 is one percent. */
  readonly busyRatio: number;
  readonly forksPerSecond: number;
}

/** @param text /proc/stat twice, `seconds` apart */
export function idleOf(text: string, seconds: number): Idle {
  const all = (pattern: RegExp) => {
    const found = [...text.matchAll(pattern)].map(([, numbers = '']) => numbers.trim().split(/\s+/).map(Number));
    if (found.length !== 2) throw new Error(`these are not two readings of /proc/stat: ${text.slice(0, 200)}`);
    return found as [number[], number[]];
  };
  // user nice system idle iowait irq softirq steal
  const busy = ([user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0]: number[]) =>
    user + nice + system + irq + softirq;
  const [before, after] = all(/^cpu {2}(.*)$/gm);
  const [[first = 0], [last = 0]] = all(/^processes (\d+)$/gm);
  return { busyRatio: (busy(after) - busy(before)) / TICKS / seconds, forksPerSecond: (last - first) / seconds };
}

export async function idle(machine: Machine, seconds = 60): Promise<Idle> {
  return idleOf(await machine.sh(`cat /proc/stat; sleep ${seconds}; cat /proc/stat`), seconds);
}
