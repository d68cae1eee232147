// When something happens again and again: a snapshot, a scrub. One form for all of them, so that every page asks alike.
import { component, nullable, type Static, Type } from '../base/schema/schema.ts';

/** Divisors of an hour only: "every 7 minutes" would stumble at each full hour. */
export const MINUTES = [1, 2, 3, 5, 10, 15, 20, 30] as const;

export const Schedule = component(
  'Schedule',
  {
    every: Type.Enum(['minutes', 'hour', 'day', 'week', 'month']),
    minutes: Type.Optional(Type.Integer({ description: `with every minutes: one of ${MINUTES.join(', ')}` })),
    at: Type.Optional(
      Type.String({
        pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
        description: "HH:MM in the appliance's time zone; with every hour only the minutes count. 00:00 when left out",
      }),
    ),
    weekday: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 6, description: 'with every week; 0 is Sunday, which is also the default' }),
    ),
    day: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31,
        description: 'with every month; 1 when left out. In a shorter month its last day',
      }),
    ),
  },
  "When something is repeated, in the appliance's time zone.",
);
export type Schedule = Static<typeof Schedule>;

export const NextRun = nullable(Type.String({ description: 'ISO 8601 time in UTC; null: never' }));
