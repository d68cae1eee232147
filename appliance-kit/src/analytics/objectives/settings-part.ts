// The objectives as a part of the settings document, by their ids.
import { manyPart } from '../../domain/settings-part.ts';
import type { Objectives } from './objectives.ts';
import { ObjectiveInput } from './schema.ts';

export const objectivesPart = (objectives: Objectives) =>
  manyPart({
    ...{ name: 'objectives', title: 'Objectives', version: 1, schema: ObjectiveInput },
    covers: ['createObjective', 'updateObjective', 'deleteObjective'],
    read: () => Object.fromEntries(objectives.defined().map(({ id, input }) => [id, input])),
    check: (_, given) => objectives.check(given),
    create: (id, given, by) => objectives.create(by, given, id),
    update: (id, given, by) => objectives.update(by, id, given),
    remove: (id, by) => objectives.remove(by, id),
  });
