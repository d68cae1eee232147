// The parts of one entry of the navigation, side by side above its pages.
import { Nav, NavItem, NavList, PageSection } from '@patternfly/react-core';
import { Link } from 'react-router';

/** Id, title, path. */
export type Part<Id extends string> = readonly [Id, string, string];

export function PartTabs<Id extends string>(props: { of: string; parts: readonly Part<Id>[]; active: Id }) {
  return (
    <PageSection type="subnav" className="cistern-tabs">
      <Nav variant="horizontal-subnav" aria-label={props.of}>
        <NavList>
          {props.parts.map(([id, title, path]) => (
            <NavItem key={id} isActive={id === props.active} preventDefault={false}>
              <Link to={path}>{title}</Link>
            </NavItem>
          ))}
        </NavList>
      </Nav>
    </PageSection>
  );
}
