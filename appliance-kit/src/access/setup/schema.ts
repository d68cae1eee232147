// What the set-up wizard sends and gets.
import { closed, component, Line, nullable, type Static, Type } from '../../base/schema/schema.ts';

export const SetupStep = Type.Enum(['code', 'administrator', 'identity', 'pool', 'destinations', 'done']);
export type SetupStep = Static<typeof SetupStep>;

export const Setup = component('Setup', {
  completed: Type.Boolean(),
  step: SetupStep,
  hostName: Type.String(),
  timeZone: Type.String(),
  applianceName: Type.String(),
  live: nullable(
    Type.String({
      description: 'the device it was started from, as sr0: nothing is kept over a restart. Null: it is installed',
    }),
  ),
});
export type Setup = Static<typeof Setup>;

export const SetupCode = component('SetupCode', { code: Type.String({ maxLength: 64 }) });
export const NewAdministrator = component('NewAdministrator', {
  name: Type.String({ maxLength: 32 }),
  password: Type.String({ maxLength: 1024 }),
});
export const Identity = component('Identity', {
  hostName: Type.String({ maxLength: 253 }),
  timeZone: Line({ maxLength: 64 }),
  endPasskeys: Type.Optional(
    Type.Boolean({ description: 'That passkeys which belong to the present name stop working is known and wanted' }),
  ),
});
export type Identity = Static<typeof Identity>;
export const NextStep = closed({ step: Type.Enum(['pool', 'destinations', 'done']) }, { $id: 'SetupNextStep' });
