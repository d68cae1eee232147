// The machine itself: how its clock is kept, its network links, its temperatures.

import { closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { ORIGINS } from '../../platform/machine.ts';

export const MachineClock = component('MachineClock', {
  state: Type.Enum(['synchronised', 'waiting', 'unsynchronised', 'unknown'], {
    description: '`waiting`: not yet, or for less than an hour not any more; `unknown`: the system cannot be asked',
  }),
  sentence: Type.String(),
  daemon: nullable(Type.String({ description: 'the program that keeps the clock' })),
  source: nullable(Type.String({ description: 'the server that is followed' })),
  answeredAt: nullable(Time),
  offsetSeconds: nullable(
    Type.Number({ minimum: 0, description: 'seconds that the clock and the server were apart at the last answer' }),
  ),
});
export type MachineClock = Static<typeof MachineClock>;

export const MachineAddress = component('MachineAddress', {
  address: Type.String({ description: 'IPv4 or IPv6' }),
  prefix: nullable(Type.Integer({ minimum: 0, maximum: 128, description: 'bits of the network' })),
  origin: nullable(
    Type.Enum([...ORIGINS], {
      description:
        'by a DHCP server, by configuration, or made from the network’s prefix; null: the system does not say',
    }),
  ),
});

export const MachineLink = component('MachineLink', {
  name: Type.String(),
  state: Type.Enum(['up', 'down', 'unused', 'off', 'gone'], {
    description:
      '`down`: it had a carrier once and has none now; `unused`: it never had one; `off`: switched off; `gone`: it was there, with a carrier, and is not there any more',
  }),
  sentence: Type.String(),
  bond: Type.Boolean({ description: 'several ports as one' }),
  member: nullable(Type.String({ description: 'the bond that it belongs to' })),
  megabits: nullable(Type.Number({ description: 'megabits a second' })),
  mtu: nullable(Type.Integer({ minimum: 0, description: 'bytes that a packet may have' })),
  mac: nullable(Type.String({ description: 'its hardware address: 02:00:5e:10:00:01' })),
  addresses: nullable(Type.Array(MachineAddress, { description: 'those in use; null: not known' })),
});
export type MachineLink = Static<typeof MachineLink>;

export const MachineTemperature = component('MachineTemperature', {
  id: Type.String(),
  title: Type.String(),
  state: Type.Enum(['ok', 'warning', 'critical']),
  celsius: Type.Number({ description: '°C' }),
  warning: Type.Number({ description: '°C; an alert from here on' }),
  critical: nullable(Type.Number({ description: '°C; a critical alert from here on' })),
  disk: nullable(Type.String({ description: 'the id of the disk that says so' })),
});
export type MachineTemperature = Static<typeof MachineTemperature>;

export const Machine = component('Machine', {
  clock: MachineClock,
  links: Type.Array(MachineLink),
  temperatures: Type.Array(MachineTemperature),
  errors: Type.Array(Type.String(), { description: 'what could not be asked, and why' }),
});
export type Machine = Static<typeof Machine>;

export const LinkName = closed({ name: Type.String({ minLength: 1, maxLength: 64 }) });
