// Long work, as every page shows it.

import { Problem } from '../base/problems/schema.ts';
import { component, nullable, Percent, type Static, Time, Type } from '../base/schema/schema.ts';

export const JobState = Type.Enum(['running', 'done', 'failed', 'cancelled', 'interrupted']);
export const Job = component('Job', {
  id: Type.String(),
  kind: Type.String({ description: 'One of those in docs/api/jobs.md, as pool.create' }),
  title: Type.String(),
  state: JobState,
  percent: nullable(Percent),
  step: nullable(Type.String()),
  startedAt: Time,
  finishedAt: nullable(Time),
  error: nullable(Problem),
  result: Type.Unknown(),
  log: Type.Array(component('JobLogLine', { time: Time, text: Type.String() })),
  cancellable: Type.Boolean(),
});
export type Job = Static<typeof Job>;
