// How the appliance runs: since when, how it ended before, and what is planned.
import { closed, component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const ACTIONS = ['reboot', 'power-off'] as const;
export type PowerAction = (typeof ACTIONS)[number];

/** As in "it was rebooted". */
export const DONE: Readonly<Record<PowerAction, string>> = { reboot: 'rebooted', 'power-off': 'switched off' };

const plan = {
  action: Type.Enum([...ACTIONS]),
  at: Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?Z$',
    description: 'ISO 8601 time in UTC, by the clock of the appliance; a minute to a year from now',
  }),
  reason: Line({ maxLength: 200, description: 'shown to everybody meanwhile' }),
};
export const PowerPlanInput = closed(plan, { $id: 'PowerPlanInput' });
export type PowerPlanInput = Static<typeof PowerPlanInput>;

export const PowerState = component('PowerState', {
  sentence: Type.String({ description: 'since when it runs, and how it ended before' }),
  startedAt: Time,
  upSeconds: Type.Number({ description: 'since the system was started' }),
  ended: Type.Object({
    how: Type.Enum(['first', 'ordered', 'interrupted'], {
      description:
        'first: no end before is known; ordered: it was shut down; interrupted: its power was cut, it was reset, or it crashed',
    }),
    at: nullable(Time),
    action: nullable(Type.Enum([...ACTIONS], { description: 'asked for here; null: by another way' })),
    by: nullable(Type.String({ description: 'who asked for it' })),
  }),
  replayed: nullable(
    Type.Object({
      at: Time,
      samples: Type.Integer({ description: 'read back from its journal' }),
      seconds: Type.Number({ description: 'that took' }),
      damagedBytes: Type.Integer({ description: 'that could not be read' }),
      sentence: Type.String({ description: 'what that means' }),
    }),
  ),
  plan: nullable(
    Type.Object({
      ...plan,
      by: Type.String({ description: 'who planned it' }),
      inSeconds: Type.Number({ description: 'until then' }),
    }),
  ),
});
export type PowerState = Static<typeof PowerState>;
