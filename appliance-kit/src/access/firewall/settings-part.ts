// From where services may be reached, as a part of the settings document, by the names of the services. Those of inputs, and of
// ssh while it is on, are set where these are switched on.
import { closed } from '../../base/schema/schema.ts';
import { manyPart } from '../../domain/settings-part.ts';
import { asNetwork } from '../tokens/index.ts';
import type { Firewall } from './firewall.ts';
import { Networks } from './schema.ts';

export const firewallPart = (firewall: Firewall) =>
  manyPart({
    ...{ name: 'firewall', title: 'From where services may be reached', version: 1, fixed: true },
    schema: closed({ networks: Networks }),
    covers: ['confirmFirewall'],
    normalise: ({ networks }) => ({ networks: networks.map((one) => (one === 'own' ? one : asNetwork(one))) }),
    read: async () =>
      Object.fromEntries(
        Object.entries(await firewall.networks()).map(([name, { networks }]) => [name, { networks: [...networks] }]),
      ),
    check: (name, { networks }, by) => firewall.mustBeNetworks(name, networks, by),
    update: (name, { networks }, by) => firewall.setNetworks(name, networks, by),
  });
