// The parts of Analytics.
import { Nav, NavItem, NavList, PageSection } from '@patternfly/react-core';
import { Link } from 'react-router';

const tabs = [
  ['worksheets', 'Worksheets', '/analytics'],
  ['statistics', 'Statistics', '/analytics/statistics'],
  ['datasets', 'Recorded datasets', '/analytics/datasets'],
  ['explore', 'Explore', '/analytics/explore'],
] as const;

export function AnalyticsTabs({ active }: { active: (typeof tabs)[number][0] }) {
  return (
    <PageSection type="subnav" className="cistern-tabs">
      <Nav variant="horizontal-subnav" aria-label="Analytics">
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
