// The disks and the pools of the machine, joined.
import { domain, type Kernel } from '../../domain/domain.ts';
import { Inventory } from './inventory.ts';

export type { Inventory } from './inventory.ts';
export { Disk, Pool } from './schema.ts';
export { diskWords } from './words.ts';

export interface InventoryDomain {
  readonly inventory: Inventory;
}

export const inventoryDomain = domain({
  name: 'storage/inventory',
  create: ({ platform, clock }: Kernel) => ({
    provides: { inventory: new Inventory(platform, clock) } satisfies InventoryDomain,
  }),
});
