// The machine's parts: what they are, how they are, and what errors they have reported.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { DisksDomain } from '../../storage/disks/index.ts';
import type { InventoryDomain } from '../../storage/inventory/index.ts';
import { alertClasses } from './alerts.ts';
import { clearedErrors } from './errors.ts';
import { Hardware, hardwareRoutes } from './hardware.ts';
import { hardwareChanges, knownHardware, seenEvent } from './known.ts';
import { routes } from './routes.ts';

export const hardwareDomain = domain({
  name: 'system/hardware',
  routes,
  topics: ['hardware'],
  alertClasses,
  settings: [knownHardware, hardwareChanges, seenEvent, clearedErrors],
  create: (parts: Kernel & AuditDomain & AlertsDomain & InventoryDomain & DisksDomain) => {
    const hardware = new Hardware(parts);
    return {
      handlers: hardwareRoutes(hardware),
      watch: [{ look: () => hardware.look() }],
      periodic: [{ everyMs: 60_000, run: () => hardware.measure() }],
    };
  },
});
