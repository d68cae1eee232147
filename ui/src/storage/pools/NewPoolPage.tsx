import { useNavigate } from 'react-router';
import { useMayNot } from '../../api/session.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { PoolForm } from './PoolForm.tsx';

export default function NewPoolPage() {
  const navigate = useNavigate();
  return (
    <PageShell
      title="Create a pool"
      sentence="A pool joins disks, so that data survives the loss of one."
      way={[['Storage', '/storage']]}
    >
      <PoolForm
        submit="Create the pool"
        forTelemetry={false}
        mayNot={useMayNot('administrator')}
        onDone={() => void navigate('/storage')}
        cancel="/storage"
      />
    </PageShell>
  );
}
