// How the operating system is tuned.
import { closed, component, Etag, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { TUNABLES } from '../../platform/tuning.ts';

const value = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));

const Values = closed(
  {
    'arc-maximum-bytes': value('what ZFS keeps in memory of what was read and written, at most'),
    'arc-minimum-bytes': value('what of that it gives back to nobody'),
    'transaction-group-seconds': value('after so many seconds what was written goes to the disks, at the latest'),
    'writes-per-disk': value('writes that a disk is given at the same time, at most'),
    'socket-buffer-bytes': value('what may wait at a socket until it is read, at most'),
    'log-bytes': value('what the log of the system takes, at most'),
  },
  { description: 'what is not named is as the system has it' },
);
const settings = { values: Values };
export const TuningSettings = closed(settings, { $id: 'TuningSettings' });
export type TuningSettings = Static<typeof TuningSettings>;

export const Tuning = component('Tuning', {
  ...settings,
  etag: Etag,
  unreadable: Type.Boolean({ description: 'what was set cannot be read any more: everything is as the system has it' }),
  atStart: Type.Boolean({ description: 'what is set holds from the next start of the system on' }),
  tunables: Type.Array(
    Type.Object({
      name: Type.Enum([...TUNABLES]),
      unit: Type.Enum(['bytes', 'seconds', 'count']),
      title: Type.String(),
      effect: Type.String({ description: 'what more of it does, and what less' }),
      least: Type.Integer(),
      most: Type.Integer({ description: 'on this machine' }),
      now: nullable(Type.Integer({ description: 'what holds; null: the system does not say' })),
      default: nullable(
        Type.Integer({ description: 'what the system had when it started; null: it decides by itself' }),
      ),
    }),
    { description: 'those that this system has' },
  ),
});
export type Tuning = Static<typeof Tuning>;
