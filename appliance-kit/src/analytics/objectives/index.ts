// Objectives: how large a part of what is measured has to be under a limit.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { migrations } from './migrations.ts';
import { Objectives } from './objectives.ts';
import { routes } from './routes.ts';
import { objectivesPart } from './settings-part.ts';
import { objectiveWatch } from './watch.ts';

export interface ObjectivesDomain {
  readonly objectives: Objectives;
}

const MEASURE_MS = 60_000;

export const objectivesDomain = domain({
  name: 'analytics/objectives',
  routes,
  topics: ['objectives'],
  alertClasses,
  migrations,
  create: ({ db, clock, changes, storaged, audit, conditions }: Kernel & AuditDomain & AlertsDomain) => {
    const objectives = new Objectives({ db, clock, changes, storaged, audit });
    return {
      provides: { objectives } satisfies ObjectivesDomain,
      handlers: {
        listObjectives: () => ({ items: objectives.list() }),
        createObjective: ({ body, caller }) => objectives.create(caller, body),
        previewObjective: ({ body }) => objectives.preview(body),
        getObjective: ({ params }) => objectives.get(params.id),
        updateObjective: ({ params, body, caller }) => objectives.update(caller, params.id, body),
        reportObjective: ({ params, query }) => objectives.report(params.id, query.limit),
        deleteObjective: ({ params, caller }) => {
          objectives.remove(caller, params.id);
          return undefined;
        },
      },
      settingsParts: [objectivesPart(objectives)],
      periodic: [{ everyMs: MEASURE_MS, run: () => objectives.measure() }],
      watch: [objectiveWatch({ objectives, conditions })],
    };
  },
});
