// What an alert does besides being sent: of a rule, or of a class.
import { component, type Static, Type } from '../../base/schema/schema.ts';

export const RuleAction = component(
  'RuleAction',
  {
    on: Type.Enum(['raise', 'clear']),
    kind: Type.Enum([
      'resume-statistic',
      'suspend-statistic',
      'resume-worksheet',
      'suspend-worksheet',
      'snapshot',
      'bundle',
    ]),
    target: Type.String({
      maxLength: 1024,
      description: 'a statistic, as io.ops[disk]; the id of a worksheet; a dataset; nothing for a bundle',
    }),
    forSeconds: Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400,
      description: 'of resuming: after that it is suspended again; 0: when the alert clears, a day at most',
    }),
  },
  'What is done besides sending notifications',
);
export type RuleAction = Static<typeof RuleAction>;
