import { Breadcrumb, BreadcrumbItem, Button, PageSection } from '@patternfly/react-core';
import { Link, useNavigate } from 'react-router';
import { useMayNot } from '../../api/session.ts';
import { PageHead } from '../../shells/PageHead.tsx';
import { PoolForm } from './PoolForm.tsx';

export default function NewPoolPage() {
  const navigate = useNavigate();
  return (
    <>
      <PageHead title="Create a pool" sentence="A pool joins disks, so that data survives the loss of one." />
      <PageSection>
        <Breadcrumb className="cistern-crumbs">
          <BreadcrumbItem>
            <Link to="/storage">Storage</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>Create a pool</BreadcrumbItem>
        </Breadcrumb>
        <PoolForm
          submit="Create the pool"
          forTelemetry={false}
          mayNot={useMayNot('administrator')}
          onDone={() => void navigate('/storage')}
          more={
            <Button variant="link" onClick={() => void navigate('/storage')}>
              Cancel
            </Button>
          }
        />
      </PageSection>
    </>
  );
}
