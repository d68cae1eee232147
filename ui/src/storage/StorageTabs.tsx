// From the pools to what is on them.
import { PartTabs } from '../shells/PartTabs.tsx';

const tabs = [
  ['pools', 'Pools and disks', '/storage'],
  ['datasets', 'Datasets', '/storage/datasets'],
  ['schedules', 'Snapshot schedules', '/storage/schedules'],
  ['replication', 'Replication', '/storage/replication'],
] as const;

export function StorageTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return <PartTabs of="Storage" parts={tabs} active={active} />;
}
