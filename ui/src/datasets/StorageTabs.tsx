// From the pools to what is on them.
import { Nav, NavItem, NavList, PageSection } from '@patternfly/react-core';
import { Link } from 'react-router';

const tabs = [
  ['pools', 'Pools and disks', '/storage'],
  ['datasets', 'Datasets', '/storage/datasets'],
  ['schedules', 'Snapshot schedules', '/storage/schedules'],
  ['replication', 'Replication', '/storage/replication'],
] as const;

export function StorageTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return (
    <PageSection type="subnav" className="cistern-tabs">
      <Nav variant="horizontal-subnav" aria-label="Storage">
        <NavList>
          {tabs.map(([id, title, path]) => (
            <NavItem key={id} isActive={id === active} preventDefault={false}>
              <Link to={path}>{title}</Link>
            </NavItem>
          ))}
        </NavList>
      </Nav>
    </PageSection>
  );
}
