// Destinations that take nothing.
import type { Watch } from '../../poller/poller.ts';
import type { Machine } from '../../system/machine/index.ts';
import type { Conditions } from '../alerts/index.ts';
import type { Destinations } from '../destinations/index.ts';
import { deliveryFailing } from './alerts.ts';

export function deliveryWatch(parts: { destinations: Destinations; machine: Machine; conditions: Conditions }): Watch {
  const { destinations, machine, conditions } = parts;
  return {
    look: async () => () => {
      // After the links were looked at: a cable that was pulled explains it.
      const down = machine.down();
      conditions.report(
        deliveryFailing,
        destinations.failing().map(({ id, name, error, waiting }) => ({
          args: { destinationId: id, destinationName: name, error, waiting, linksDown: down.names, cutOff: down.all },
          except: id,
        })),
      );
    },
  };
}
