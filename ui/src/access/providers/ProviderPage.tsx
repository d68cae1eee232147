import { Button } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { EditPage } from '../../shells/EditPage.tsx';
import { plural } from '../../words/format.ts';
import { ProviderForm } from './ProviderForm.tsx';
import { KINDS, type Provider } from './provider.ts';
import { providersQuery } from './queries.ts';

function Remove({ existing: { id, name, users }, done }: { existing: Provider; done: () => void }) {
  const [asking, setAsking] = useState(false);
  const queries = useQueryClient();
  return (
    <div>
      <Button variant="danger" onClick={() => setAsking(true)}>
        Remove the identity provider
      </Button>
      {asking && (
        <ConfirmByName
          title={`Remove ${name}?`}
          name={name}
          action="Remove it"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/providers/{id}', { params: { path: { id } } }));
            done();
            await queries.invalidateQueries({ queryKey: ['users'] });
          }}
        >
          <p>
            {users === 0
              ? 'Nobody has signed in by it.'
              : `${plural(users, 'user has', 'users have')} signed in by it, and will be disabled: sessions end, and API tokens are refused.`}
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}

export default function ProviderPage() {
  const { id } = useParams();
  const navigate = useNavigate();
  const mayNot = useMayNot('administrator');
  const back = () => void navigate('/settings/providers');
  const list = useQuery({ ...providersQuery, enabled: mayNot === null });
  if (mayNot !== null) return <p>{mayNot}</p>;
  return (
    <EditPage
      id={id}
      list={list}
      newTitle="New identity provider"
      way={[['Identity providers', '/settings/providers']]}
      sentence={(existing) =>
        existing ? `${KINDS[existing.kind]}. Test it before you rely on it.` : 'Test it before you rely on it.'
      }
    >
      {(existing) => (
        <div className="cistern-stack">
          <ProviderForm key={id} existing={existing} done={back} />
          {existing && <Remove existing={existing} done={back} />}
        </div>
      )}
    </EditPage>
  );
}
