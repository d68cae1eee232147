// Whether the appliance, and which of its parts, answered last; and since when it has not. Every request reports here,
// and the frame shows it, so that no page has to.
import { useSyncExternalStore } from 'react';
import type { Problem } from './problem.ts';

export type Part = 'management' | 'telemetry';
export interface Reach {
  /** No answer at all, since (milliseconds since the epoch). */
  readonly unreachableSince: number | null;
  /** nginx answers for it: the part itself is down, since. */
  readonly down: Readonly<Record<Part, number | null>>;
  /** When anything last answered: how old what the page shows may be. */
  readonly lastAnswer: number;
}

let reach: Reach = { unreachableSince: null, down: { management: null, telemetry: null }, lastAnswer: Date.now() };
const listeners = new Set<() => void>();

function change(next: Reach): void {
  const before = reach;
  reach = next;
  const same =
    before.unreachableSince === next.unreachableSince &&
    before.down.management === next.down.management &&
    before.down.telemetry === next.down.telemetry;
  // lastAnswer alone redraws nothing: it moves with every request.
  if (!same) for (const listener of listeners) listener();
}

export function partOf(path: string): Part {
  return path.startsWith('/api/v1/') ? 'telemetry' : 'management';
}

export function answered(part: Part): void {
  change({ unreachableSince: null, down: { ...reach.down, [part]: null }, lastAnswer: Date.now() });
}

export function failed(part: Part, problem: Problem): void {
  if (problem.code === 'unreachable') {
    change({ ...reach, unreachableSince: reach.unreachableSince ?? Date.now() });
  } else if (problem.code === 'service_unavailable' && problem.status === 502) {
    const down = { ...reach.down, [part]: reach.down[part] ?? Date.now() };
    change({ ...reach, unreachableSince: null, down });
  } else {
    answered(part);
  }
}

export function useReach(): Reach {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reach,
  );
}
