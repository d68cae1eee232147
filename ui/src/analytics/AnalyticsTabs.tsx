// The parts of Analytics.
import { PartTabs } from '../shells/PartTabs.tsx';

const tabs = [
  ['worksheets', 'Worksheets', '/analytics'],
  ['statistics', 'Statistics', '/analytics/statistics'],
  ['datasets', 'Recorded datasets', '/analytics/datasets'],
  ['recording-rules', 'Recording rules', '/analytics/recording-rules'],
  ['objectives', 'Objectives', '/analytics/objectives'],
  ['explore', 'Explore', '/analytics/explore'],
  ['outputs', 'Outputs', '/analytics/outputs'],
] as const;

export function AnalyticsTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return <PartTabs of="Analytics" parts={tabs} active={active} />;
}
