// The disks of the machine, and the advice on laying them out.

import type { Handlers } from '../../http/handlers.ts';
import type { Inventory } from '../inventory/index.ts';
import { advise, usable } from './advice.ts';
import type { routes } from './routes.ts';

export function diskRoutes(inventory: Inventory): Pick<Handlers<typeof routes>, 'listDisks' | 'adviseLayout'> {
  return {
    listDisks: async () => {
      const { value, ageSeconds, error } = await inventory.disks();
      return { items: value, ageSeconds, error };
    },
    adviseLayout: async ({ query }) => {
      const { value } = await inventory.disks();
      return advise([...new Set(query.disk ?? [])].map((id) => usable(value, id)));
    },
  };
}
