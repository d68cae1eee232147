// The line at the top of every page, the wizard and sign-in, as long as the appliance runs from a stick or a CD.
import { Banner } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { setupQuery } from '../api/queries.ts';

export function LiveBanner() {
  const { data: setup } = useQuery(setupQuery);
  if (setup === undefined || setup.live === null) return null;
  return (
    <Banner status="danger" role="region" aria-label="Live" className="cistern-connection">
      Live: started from {setup.live}. Nothing is kept: a restart forgets all settings and measurements. To keep them,
      install at the console (type i).
    </Banner>
  );
}
