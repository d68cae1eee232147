// The parts of Maintenance.
import { PartTabs } from '../shells/PartTabs.tsx';

const tabs = [
  ['maintenance', 'Maintenance', '/maintenance'],
  ['hardware', 'Hardware', '/maintenance/hardware'],
  ['time', 'Time', '/maintenance/time'],
  ['power', 'Power', '/maintenance/power'],
  ['tuning', 'Tuning', '/maintenance/tuning'],
] as const;

export function MaintenanceTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return <PartTabs of="Maintenance" parts={tabs} active={active} />;
}
