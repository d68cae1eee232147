// The parts of Analytics.
import { PartTabs } from '../shells/PartTabs.tsx';

const tabs = [
  ['worksheets', 'Worksheets', '/analytics'],
  ['statistics', 'Statistics', '/analytics/statistics'],
  ['datasets', 'Recorded datasets', '/analytics/datasets'],
  ['explore', 'Explore', '/analytics/explore'],
] as const;

export function AnalyticsTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return <PartTabs of="Analytics" parts={tabs} active={active} />;
}
