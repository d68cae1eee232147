// The roles of users, in words.
import type { Schemas } from '../../api/client.ts';

export const roleOptions: readonly (readonly [Schemas['User']['role'], string])[] = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['operator', 'operator: also alerts, services, bundles, snapshots'],
  ['administrator', 'administrator: everything'],
];
