// Places that are kept for pages which are not there yet: nothing else takes their address, their letter or their part of the
// frame. docs/manual/pages.md names them.
import type { Place } from './places.ts';

export interface KeptPlace extends Place {
  /** Where it will stand. */
  readonly stands: string;
}

export const kept: readonly KeptPlace[] = [
  {
    ...{ title: 'Flows', path: '/flows', key: 'f', about: 'Who talks to whom in the network' },
    stands: 'in the navigation, below Applications',
  },
  {
    ...{ title: 'Wall', path: '/wall', key: 'w', about: 'Worksheets in turn, for a screen that everybody sees' },
    stands: 'in the menu of a worksheet, and without the frame',
  },
  {
    ...{
      title: 'Agents',
      path: '/settings/agents',
      key: '',
      about: 'Programs on hosts that collect for this appliance',
    },
    stands: 'a part of Settings, beside Inputs',
  },
  {
    ...{ title: 'Cluster', path: '/settings/cluster', key: '', about: 'Appliances that work together' },
    stands: 'a part of Settings, beside Firewall',
  },
];
