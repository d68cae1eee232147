// An address that leads nowhere.
import { EmptyState, EmptyStateBody, PageSection } from '@patternfly/react-core';
import { Link, useLocation } from 'react-router';

export default function NoSuchPage() {
  const { pathname } = useLocation();
  return (
    <PageSection>
      <EmptyState headingLevel="h1" titleText="There is no such page">
        <EmptyStateBody>
          Nothing is at <code>{pathname}</code>. <Link to="/status">Go to Status</Link>.
        </EmptyStateBody>
      </EmptyState>
    </PageSection>
  );
}
