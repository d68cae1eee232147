// The parts of Services.
import { PartTabs } from '../../shells/PartTabs.tsx';

const tabs = [
  ['services', 'Services', '/services'],
  ['logs', 'Logs', '/services/logs'],
  ['requests', 'Web requests', '/services/requests'],
] as const;

export function ServicesTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return <PartTabs of="Services" parts={tabs} active={active} />;
}
