// The parts of Services.
import { Nav, NavItem, NavList, PageSection } from '@patternfly/react-core';
import { Link } from 'react-router';

const tabs = [
  ['services', 'Services', '/services'],
  ['logs', 'Logs', '/services/logs'],
  ['requests', 'Web requests', '/services/requests'],
] as const;

export function ServicesTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return (
    <PageSection type="subnav" className="cistern-tabs">
      <Nav variant="horizontal-subnav" aria-label="Services">
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
