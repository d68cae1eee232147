// What is general: how the appliance is called, and its time zone.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { nowKnown } from '../../api/known.ts';
import { setupQuery } from '../../api/queries.ts';
import { Waiting } from '../../shells/Waiting.tsx';
import { IdentityForm } from './IdentityForm.tsx';

export function General() {
  const queries = useQueryClient();
  const reading = useQuery(setupQuery);
  const [isSaved, setIsSaved] = useState(false);
  const { data } = reading;
  if (data === undefined) return <Waiting on={reading} />;
  return (
    <div className="cistern-stack">
      <IdentityForm
        key={`${data.hostName} ${data.timeZone}`}
        setup={data}
        submit="Save"
        onSaved={async (setup) => {
          await nowKnown(queries, setupQuery.queryKey, setup);
          setIsSaved(true);
        }}
      />
      {isSaved && (
        <p role="status">{`It is called ${data.hostName} from now on, and its logs are in the time of ${data.timeZone}.`}</p>
      )}
    </div>
  );
}
