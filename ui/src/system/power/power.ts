// How the appliance runs, and what is planned, in words.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { duration } from '../../words/format.ts';

export type PowerState = Schemas['PowerState'];
export type Plan = NonNullable<PowerState['plan']>;
export type Action = Plan['action'];

export const powerQuery = queryOptions({
  queryKey: ['power'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/power', { signal })),
  // A plan is reported by an event. How long it has run, and what the store says, are asked again.
  refetchInterval: 60_000,
});

export const ACTIONS: Readonly<Record<Action, { title: string; verb: string }>> = {
  reboot: { title: 'Reboot', verb: 'is rebooted' },
  'power-off': { title: 'Switch off', verb: 'is switched off' },
};

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function planWords({ action, at, reason, by }: Plan, now: number): string {
  const ahead = (Date.parse(at) - now) / 1000;
  const when = ahead > 0 ? `in ${duration(ahead)}, ${exact.format(Date.parse(at))}` : 'now';
  return `This appliance ${ACTIONS[action].verb} ${when}: ${/[.!?]$/.test(reason) ? reason : `${reason}.`} Planned by ${by}.`;
}

/** What it means, for the question before it. */
export const MEANS: Readonly<Record<Action, string>> = {
  reboot: 'It shuts down in order and starts again, which takes some minutes.',
  'power-off': 'It shuts down in order and stays off until somebody switches it on at the machine.',
};
