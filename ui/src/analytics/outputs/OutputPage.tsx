import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { outputsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { EditPage } from '../../shells/EditPage.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, duration } from '../../words/format.ts';
import { OutputForm } from './OutputForm.tsx';
import type { Output } from './output.ts';

/** What the list says of it, in a sentence. */
function Health({ health: { state, error, since, lagBytes, lagSeconds, sent, lastDeliveredAt } }: Output) {
  switch (state) {
    case 'off':
      return <>It is switched off, and nothing waits for it.</>;
    case 'unknown':
      return <>How it does is not known yet.</>;
    case 'invalid':
      return <>It cannot run so: {error}.</>;
    case 'failing':
      return (
        <>
          Nothing is delivered since <Ago time={since} />: {error}. {bytes(lagBytes)} of the journal wait, and are sent
          when the receiver takes them.
        </>
      );
    case 'catching-up':
      return (
        <>
          It delivers what waited: {bytes(lagBytes)}, the oldest accepted {duration(Math.ceil(lagSeconds))} ago.
        </>
      );
    default:
      return sent === 0 ? (
        <>It delivers; nothing has come yet that it sends.</>
      ) : (
        <>
          It delivers. The last sample was delivered <Ago time={lastDeliveredAt} />.
        </>
      );
  }
}

export default function OutputPage() {
  const { id } = useParams();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const back = () => void navigate('/analytics/outputs');
  return (
    <EditPage
      id={id}
      list={useQuery(outputsQuery)}
      newTitle="New output"
      way={[['Outputs', '/analytics/outputs']]}
      sentence={(existing) => (existing ? <Health {...existing} /> : 'Samples are sent there as they are stored here.')}
    >
      {(existing) => (
        <OutputForm
          key={id}
          existing={existing}
          submit={existing ? 'Save' : 'Add the output'}
          mayNot={mayNot}
          onSaved={back}
        />
      )}
    </EditPage>
  );
}
