import { Breadcrumb, BreadcrumbItem, Button, PageSection } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from 'react-router';
import { destinationsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { PageLoading } from '../../shells/PageLoading.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { DestinationForm } from './DestinationForm.tsx';

export default function DestinationPage() {
  const { id } = useParams();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const { data, error } = useQuery(destinationsQuery);
  const back = () => void navigate('/alerts/destinations');
  const existing = data?.find((one) => one.id === id);
  if (id !== 'new' && data === undefined) {
    return error ? (
      <PageSection>
        <ProblemAlert error={error} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  if (id !== 'new' && existing === undefined) return <NoSuchPage />;
  return (
    <>
      <PageHead
        title={existing?.name ?? 'New destination'}
        sentence="Where alerts are sent. Test it before you rely on it."
      />
      <PageSection>
        <Breadcrumb className="cistern-crumbs">
          <BreadcrumbItem>
            <Link to="/alerts/destinations">Destinations</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{existing?.name ?? 'New'}</BreadcrumbItem>
        </Breadcrumb>
        <DestinationForm
          key={id}
          existing={existing}
          submit={existing ? 'Save' : 'Add the destination'}
          mayNot={mayNot}
          onSaved={back}
          more={
            <Button variant="link" onClick={back}>
              Cancel
            </Button>
          }
        />
      </PageSection>
    </>
  );
}
