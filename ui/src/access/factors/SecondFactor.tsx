// One's own second factors: the apps, and how many recovery codes are left.
import { Button } from '@patternfly/react-core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import { SessionContext } from '../../api/session.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { AddApp } from './AddApp.tsx';
import { RecoveryCodes } from './RecoveryCodes.tsx';

type Factor = Schemas['Factor'];

const factorsQuery = queryOptions({
  queryKey: ['users', 'factors'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/factors', { signal })),
});

function Apps({ items, onRemove }: { items: Factor[]; onRemove: (factor: Factor) => void }) {
  return (
    <ListTable
      label="Authenticator apps"
      rows={items}
      keyOf={({ id }) => id}
      columns={[
        { title: 'App', cell: ({ name }) => name },
        { title: 'Added', cell: ({ createdAt }) => <Ago time={createdAt} /> },
        { title: 'Last used', cell: ({ lastUsedAt }) => <Ago time={lastUsedAt} /> },
        {
          title: 'Actions',
          control: 'actions',
          cell: (factor) => (
            <Button variant="link" aria-label={`Remove ${factor.name}`} onClick={() => onRemove(factor)}>
              Remove
            </Button>
          ),
        },
      ]}
    />
  );
}

export function SecondFactor() {
  const { name: user } = use(SessionContext);
  const factors = useQuery(factorsQuery);
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [asking, setAsking] = useState<Factor | 'codes' | null>(null);
  if (factors.data === undefined) return <Waiting on={factors} />;
  const { items, recoveryCodesLeft } = factors.data;
  const readAgain = async () => {
    await queries.invalidateQueries({ queryKey: ['users'] });
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  if (codes !== null) return <RecoveryCodes user={user} codes={codes} onDone={() => setCodes(null)} />;
  if (adding) {
    return (
      <AddApp
        cancel={() => setAdding(false)}
        onAdded={(finished) => {
          setAdding(false);
          setCodes(finished.recoveryCodes);
          void readAgain();
        }}
      />
    );
  }
  return (
    <div className="cistern-stack">
      {items.length === 0 ? (
        <p className="cistern-sentence">
          None. With an authenticator app on your phone, somebody who has found out your password cannot sign in with
          it.
        </p>
      ) : (
        <>
          <Apps items={items} onRemove={setAsking} />
          <p>
            {recoveryCodesLeft === 0
              ? 'No recovery code is left: if you lose the app, only another administrator can let you in again.'
              : `${recoveryCodesLeft} recovery ${recoveryCodesLeft === 1 ? 'code is' : 'codes are'} left.`}
          </p>
        </>
      )}
      <div className="cistern-buttons">
        <Button variant="secondary" onClick={() => setAdding(true)}>
          Add an app
        </Button>
        {items.length > 0 && (
          <Button variant="secondary" onClick={() => setAsking('codes')}>
            Make new recovery codes
          </Button>
        )}
      </div>
      {asking === 'codes' && (
        <ConfirmDialog
          title="Make new recovery codes?"
          action="Make new ones"
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            setCodes((await answerOf(client.POST('/api/recovery-codes'))).codes);
            await readAgain();
          }}
        >
          <p>Those that you have are good for nothing then.</p>
        </ConfirmDialog>
      )}
      {asking !== null && asking !== 'codes' && (
        <ConfirmDialog
          title={`Remove ${asking.name}?`}
          action="Remove the app"
          danger
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/factors/{id}', { params: { path: { id: asking.id } } }));
            await readAgain();
          }}
        >
          <p>
            {items.length === 1
              ? 'The password alone is enough then, and your recovery codes are good for nothing.'
              : 'Its codes are no longer taken.'}
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}
