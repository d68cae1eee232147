// The form of the time servers as it is typed, and how a server is told.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';

export type TimeState = Schemas['TimeState'];
export type TimeSource = TimeState['sources'][number];
export type TimeServer = TimeState['servers'][number];

export interface Draft {
  readonly servers: readonly TimeServer[];
  readonly fromNetwork: boolean;
}
export const draftOf = ({ servers, fromNetwork }: TimeState): Draft => ({ servers, fromNetwork });
export const same = (a: Draft, b: Draft) => JSON.stringify(a) === JSON.stringify(b);

/** Rows in which nothing was typed are none. */
export const inputOf = ({ servers, fromNetwork }: Draft) => ({
  servers: servers.map((one) => ({ ...one, address: one.address.trim() })).filter(({ address }) => address !== ''),
  fromNetwork,
});

const conditions: Record<TimeSource['state'], Condition> = {
  followed: 'ok',
  combined: 'ok',
  spare: 'ok',
  silent: 'warning',
  lies: 'warning',
  unsteady: 'warning',
  unresolved: 'warning',
};
export const conditionOf = ({ state }: TimeSource): Condition => conditions[state];

/** What is worth knowing of what was typed, before it is saved. */
export function adviceOf(draft: Draft): string | null {
  const { servers } = inputOf(draft);
  const certain = servers.filter(({ pool }) => !pool).length;
  if (draft.fromNetwork || servers.some(({ pool }) => pool)) return null;
  if (certain === 0) return 'With no server and none from the network, the clock is set by nobody, and drifts.';
  if (certain === 2) return 'With two servers nobody can tell which one is wrong when they differ. Take three or four.';
  return null;
}
