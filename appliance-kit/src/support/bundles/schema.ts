// A support bundle, as supportd describes it.
import { Bytes, component, nullable, Percent, type Static, Time, Type } from '../../base/schema/schema.ts';

export const BundleStep = component('BundleStep', {
  name: Type.String(),
  category: Type.String(),
  state: Type.Enum(['waiting', 'running', 'done', 'failed', 'timeout']),
  error: Type.Optional(Type.String()),
  seconds: Type.Optional(Type.Number()),
  bytes: Type.Optional(Bytes),
  sha256: Type.Optional(Type.String()),
});
export const Bundle = component('Bundle', {
  id: Type.String(),
  name: Type.String(),
  file: Type.String({ description: "the archive's name" }),
  state: Type.Enum(['building', 'done', 'failed', 'cancelled']),
  createdAt: Time,
  finishedAt: Type.Optional(nullable(Time)),
  bytes: Type.Integer({ minimum: 0, description: 'bytes: collected while it is made, then of the archive' }),
  percent: Percent,
  step: Type.Optional(nullable(Type.String())),
  error: Type.Optional(Type.String()),
  steps: Type.Array(BundleStep),
  sha256: Type.Optional(nullable(Type.String())),
  place: Type.Enum(['pool', 'memory', 'usb']),
  device: Type.Optional(Type.String({ description: 'the disk that was plugged in, of the place usb' })),
  note: Type.Optional(Type.String({ description: 'why it is not where one would expect it' })),
  encrypted: Type.Boolean(),
  pseudonyms: Type.Boolean({ description: 'host names and addresses were replaced' }),
});
export type Bundle = Static<typeof Bundle>;
export const NewBundle = component('NewBundle', {
  categories: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64, description: 'all that need no asking, when left out' }),
  ),
  place: Type.Optional(
    Type.Enum(['auto', 'pool', 'memory', 'usb'], { description: 'auto: memory when the system pool is full' }),
  ),
  device: Type.Optional(
    Type.String({ maxLength: 64, description: 'of the place usb; the only one that is plugged in, when left out' }),
  ),
  recipient: Type.Optional(
    Type.String({ maxLength: 4096, description: 'an age recipient (age1…) to which it is encrypted' }),
  ),
  pseudonyms: Type.Optional(Type.Boolean({ description: 'replace host names and addresses, the same ones alike' })),
});
export const BundleOptions = component('BundleOptions', {
  categories: Type.Array(Type.String()),
  onRequest: Type.Array(Type.String(), { description: 'categories that are collected only when they are named' }),
  disks: Type.Array(
    component(
      'PluggedDisk',
      { device: Type.String(), title: Type.String(), bytes: Bytes },
      'a disk that was plugged in',
    ),
  ),
});
export type BundleOptions = Static<typeof BundleOptions>;
