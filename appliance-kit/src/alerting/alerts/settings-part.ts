// Where alerts of each class go, as a part of the settings document: by the class, of which something was decided.
import { LeftOut, manyPart } from '../../domain/settings-part.ts';
import type { RuleAction } from '../catalogue/rule-action.ts';
import type { Routing } from './routing.ts';
import { ClassRoute } from './schema.ts';

/** What worksheets of people actions name, as references. */
export const toWorksheets = (actions: readonly RuleAction[] | undefined, isReady: (id: string) => boolean) =>
  (actions ?? []).flatMap(({ kind, target }, index) =>
    kind.endsWith('-worksheet') && !isReady(target)
      ? [{ part: 'worksheets', key: target, path: `/actions/${index}/target` }]
      : [],
  );

/** What destinations a value names, as references. */
export const toDestinations = (ids: readonly string[], path: string) =>
  ids.map((key, index) => ({ part: 'destinations', key, path: `${path}/${index}` }));

export const alertClassesPart = (routing: Routing) =>
  manyPart({
    ...{ name: 'alert-classes', title: 'Where classes of alerts go', version: 1, schema: ClassRoute },
    covers: ['routeAlertClass'],
    after: ['destinations', 'worksheets'],
    refersTo: ({ destinations, escalation, actions }) => [
      ...toDestinations(destinations, '/destinations'),
      ...toDestinations(escalation?.destinations ?? [], '/escalation/destinations'),
      ...toWorksheets(actions, (id) => routing.comesWithTheAppliance(id)),
    ],
    read: () => routing.decided(),
    check: (name) => {
      if (!routing.has(name)) throw new LeftOut('is no class of alerts of this version');
    },
    create: (name, route, by) => routing.set(name, route, by),
    update: (name, route, by) => routing.set(name, route, by),
    remove: (name, by) => routing.reset(name, by),
  });
