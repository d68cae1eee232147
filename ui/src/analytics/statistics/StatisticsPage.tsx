// What can be measured of this machine.
import { PageSection } from '@patternfly/react-core';
import { useNavigate } from 'react-router';
import { PageHead } from '../../shells/PageHead.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { statisticLink } from '../worksheets/sheet.ts';
import { StatisticList } from './StatisticList.tsx';

export default function StatisticsPage() {
  const navigate = useNavigate();
  return (
    <>
      <PageHead
        title="Analytics"
        sentence="What can be seen of this machine; choose one, and split it by what you suspect."
      />
      <AnalyticsTabs active="statistics" />
      <PageSection>
        <StatisticList pick={(name) => void navigate(statisticLink(name))} />
      </PageSection>
    </>
  );
}
