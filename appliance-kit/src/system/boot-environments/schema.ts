// The systems that this machine can start.

import { Bytes, closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { STARTS } from '../../platform/systems.ts';

export const BootEnvironment = component('BootEnvironment', {
  name: Type.String({ description: 'a slot of the system disk, or a boot environment' }),
  running: Type.Boolean(),
  starts: Type.Enum([...STARTS], {
    description:
      '`next`: it starts next time, and then again; `once`: next time only; `later`: always, but for the next time, which is another one’s',
  }),
  createdAt: nullable(Time),
  bytes: nullable(Bytes),
  version: nullable(Type.String({ description: 'of Cistern in it; null: not known' })),
  obstacle: nullable(Type.String({ description: 'why it cannot be chosen; null when it can' })),
});
export type BootEnvironment = Static<typeof BootEnvironment>;

export const BootEnvironmentName = closed({ name: Type.String({ minLength: 1, maxLength: 255 }) });
