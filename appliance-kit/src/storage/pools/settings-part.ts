// When pools are scrubbed, as a part of the settings document: by the names of the pools that there are. Pools themselves are no
// settings.
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import { mustBeSchedule } from '../../schedules/schedule.ts';
import type { Inventory } from '../inventory/index.ts';
import { ScrubScheduleInput } from './operations.schema.ts';
import type { routes } from './routes.ts';
import type { Scans } from './scans.ts';

export const scrubSchedulesPart = (
  inventory: Pick<Inventory, 'pools'>,
  scans: Scans,
  handlers: Pick<Handlers<typeof routes>, 'setScrubSchedule'>,
) =>
  manyPart({
    ...{ name: 'scrub-schedules', title: 'When pools are scrubbed', version: 1, fixed: true },
    schema: ScrubScheduleInput,
    covers: ['setScrubSchedule'],
    keys: /^[A-Za-z][A-Za-z0-9_.: -]{0,254}$/,
    read: async () => {
      const { value } = await inventory.pools();
      const all = value.map(async ({ name }) => {
        const { enabled, schedule } = await scans.schedule(name);
        return [name, { enabled, schedule }] as const;
      });
      return Object.fromEntries(await Promise.all(all));
    },
    check: (_, { schedule }) => mustBeSchedule(schedule),
    update: (name, body, caller) => asked(handlers.setScrubSchedule, { params: { name }, body, caller }),
  });
