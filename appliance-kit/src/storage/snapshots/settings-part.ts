// Snapshots by schedule as a part of the settings document, by their ids: a dataset may have several, and their snapshots say which.
import { LeftOut, manyPart } from '../../domain/settings-part.ts';
import type { SnapshotSchedules } from './schedules.ts';
import { SnapshotScheduleInput } from './schema.ts';

export const snapshotSchedulesPart = (schedules: SnapshotSchedules) =>
  manyPart({
    ...{ name: 'snapshot-schedules', title: 'Snapshots by schedule', version: 1, schema: SnapshotScheduleInput },
    covers: ['createSnapshotSchedule', 'updateSnapshotSchedule', 'deleteSnapshotSchedule'],
    read: () => schedules.inputs(),
    check: async (_, given) => {
      if (!(await schedules.isHere(given.dataset))) throw new LeftOut(`there is no dataset ${given.dataset} here`);
      await schedules.check(given);
    },
    create: (id, input, by) => schedules.create(input, by, id),
    update: (id, input, by) => schedules.update(id, input, by),
    remove: (id, by) => schedules.remove(id, by),
  });
