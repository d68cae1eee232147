// The machine itself: its clock, network links and temperatures.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { DisksDomain } from '../../storage/disks/index.ts';
import type { InventoryDomain } from '../../storage/inventory/index.ts';
import { alertClasses } from './alerts.ts';
import { seenLinks } from './links.ts';
import { Machine, machineRoutes } from './machine.ts';
import { routes } from './routes.ts';

export { linkKeys } from './alerts.ts';
export { apart } from './clock.ts';
export type { Machine } from './machine.ts';

export interface MachineDomain {
  readonly machine: Machine;
}

export const machineDomain = domain({
  name: 'system/machine',
  routes,
  alertClasses,
  settings: [seenLinks],
  create: (parts: Kernel & AuditDomain & AlertsDomain & InventoryDomain & DisksDomain) => {
    const { inventory } = parts;
    const machine = new Machine(parts);
    return {
      provides: { machine } satisfies MachineDomain,
      handlers: machineRoutes(machine),
      watch: [
        {
          look: async () => {
            const [{ disks }] = await Promise.all([inventory.look(), machine.look().catch(() => {})]);
            return () => {
              if (disks.error === null) machine.disks = disks.value;
            };
          },
        },
      ],
      // Cheap, and it never fails.
      periodic: [{ everyMs: 1_000, run: () => machine.tick() }],
    };
  },
});
