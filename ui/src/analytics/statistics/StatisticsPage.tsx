// What can be measured of this machine.
import { useNavigate } from 'react-router';
import { PageShell } from '../../shells/PageShell.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { statisticLink } from '../worksheets/sheet.ts';
import { StatisticList } from './StatisticList.tsx';

export default function StatisticsPage() {
  const navigate = useNavigate();
  return (
    <PageShell
      title="Analytics"
      sentence="What can be seen of this machine; choose one, and split it by what you suspect."
      tabs={<AnalyticsTabs active="statistics" />}
    >
      <StatisticList pick={(name) => void navigate(statisticLink(name))} />
    </PageShell>
  );
}
