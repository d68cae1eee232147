// The line at the top of every page when a reboot or switching off is planned within a day.
import { Banner } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { planWords, powerQuery } from '../system/power/power.ts';
import { useNow } from '../words/Ago.tsx';

const DAY_MS = 86_400_000;

export function PlanBanner() {
  const { data } = useQuery(powerQuery);
  const now = useNow(5_000);
  const plan = data?.plan ?? null;
  if (plan === null || Date.parse(plan.at) - now > DAY_MS) return null;
  return (
    <Banner status="warning" role="region" aria-label="Planned" className="cistern-connection">
      {planWords(plan, now)} <Link to="/maintenance/power">Power</Link>
    </Banner>
  );
}
