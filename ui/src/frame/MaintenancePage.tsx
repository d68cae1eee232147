// Support bundles, crashes, who may poll by SNMP, how the machine itself is, and what it is.
import { Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useLocation } from 'react-router';
import { setupQuery, statusQuery } from '../api/queries.ts';
import { Facts } from '../shells/Facts.tsx';
import { PageShell } from '../shells/PageShell.tsx';
import { Bundles } from '../support/bundles/Bundles.tsx';
import { Crashes } from '../support/crashes/Crashes.tsx';
import { Systems } from '../system/boot-environments/Systems.tsx';
import { MaintenanceTabs } from '../system/MaintenanceTabs.tsx';
import { Machine } from '../system/machine/Machine.tsx';
import { SnmpAgent } from '../system/snmp-agent/SnmpAgent.tsx';
import { duration } from '../words/format.ts';

function Part({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section aria-labelledby={id}>
      <Title headingLevel="h2" id={id}>
        {title}
      </Title>
      {children}
    </section>
  );
}

export default function MaintenancePage() {
  // An alert of a crash leads to /maintenance/crashes, one of a cable to /maintenance/machine.
  const { pathname } = useLocation();
  useEffect(() => {
    const part = /\/(crashes|snmp|machine|system)$/.exec(pathname)?.[1];
    if (part) document.getElementById(part)?.scrollIntoView();
  }, [pathname]);
  const { data: status } = useQuery(statusQuery);
  const { data: setup } = useQuery(setupQuery);
  const facts: [string, string][] = status
    ? [
        ['Host name', status.hostName],
        ['Version', status.version],
        ['Running for', duration(status.uptimeSeconds)],
        ['Time zone', setup?.timeZone ?? 'unknown'],
        ['Clock', new Date(status.time).toLocaleString(undefined, { timeZoneName: 'short' })],
      ]
    : [];
  return (
    <PageShell
      title="Maintenance"
      sentence={status && `Cistern ${status.version}, running for ${duration(status.uptimeSeconds)}.`}
      tabs={<MaintenanceTabs active="maintenance" />}
    >
      <div className="cistern-stack">
        <Part id="support" title="Support bundles">
          <Bundles />
        </Part>
        <Part id="crashes" title="Crashes">
          <Crashes />
        </Part>
        <Part id="snmp" title="SNMP agent">
          <SnmpAgent />
        </Part>
        <Part id="machine" title="Clock, network and temperatures">
          <Machine />
        </Part>
        <Part id="system" title="System">
          <Facts facts={facts} isHorizontal isCompact />
          <Systems />
        </Part>
      </div>
    </PageShell>
  );
}
