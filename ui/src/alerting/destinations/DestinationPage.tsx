import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { destinationsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { EditPage } from '../../shells/EditPage.tsx';
import { DestinationForm } from './DestinationForm.tsx';

export default function DestinationPage() {
  const { id } = useParams();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const back = () => void navigate('/alerts/destinations');
  return (
    <EditPage
      id={id}
      list={useQuery(destinationsQuery)}
      newTitle="New destination"
      way={[['Destinations', '/alerts/destinations']]}
      sentence="Where alerts are sent. Test it before you rely on it."
    >
      {(existing) => (
        <DestinationForm
          key={id}
          existing={existing}
          submit={existing ? 'Save' : 'Add the destination'}
          mayNot={mayNot}
          onSaved={back}
          cancel={back}
        />
      )}
    </EditPage>
  );
}
