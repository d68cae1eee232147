// One's own second factors: apps and passkeys, and how many recovery codes are left.
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
import { AddPasskey } from './AddPasskey.tsx';
import { whyNoPasskeys } from './passkeys.ts';
import { RecoveryCodes } from './RecoveryCodes.tsx';

type Factor = Schemas['Factor'];

const factorsQuery = queryOptions({
  queryKey: ['users', 'factors'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/factors', { signal })),
});

function kindOf({ kind, host }: Factor): string {
  if (kind === 'app') return 'Authenticator app';
  if (host === window.location.hostname) return `Passkey for ${host}`;
  return `Passkey for ${host} alone: it does not work under ${window.location.hostname}`;
}

function Mine({ items, onRemove }: { items: Factor[]; onRemove: (factor: Factor) => void }) {
  return (
    <ListTable
      label="Second factors"
      rows={items}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', cell: ({ name }) => name },
        { title: 'What it is', cell: kindOf },
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
  const [adding, setAdding] = useState<'app' | 'passkey' | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [asking, setAsking] = useState<Factor | 'codes' | null>(null);
  if (factors.data === undefined) return <Waiting on={factors} />;
  const { items, recoveryCodesLeft } = factors.data;
  const readAgain = async () => {
    await queries.invalidateQueries({ queryKey: ['users'] });
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  if (codes !== null) return <RecoveryCodes user={user} codes={codes} onDone={() => setCodes(null)} />;
  if (adding !== null) {
    const Form = adding === 'app' ? AddApp : AddPasskey;
    return (
      <Form
        cancel={() => setAdding(null)}
        onAdded={(finished) => {
          setAdding(null);
          setCodes(finished.recoveryCodes);
          void readAgain();
        }}
      />
    );
  }
  const noPasskeys = whyNoPasskeys();
  return (
    <div className="cistern-stack">
      {items.length === 0 ? (
        <p className="cistern-sentence">
          None. With an authenticator app on your phone, or with passkeys, somebody who has found out your password
          cannot sign in with it.
        </p>
      ) : (
        <>
          <Mine items={items} onRemove={setAsking} />
          <p>
            {recoveryCodesLeft === 0
              ? 'No recovery code is left: if you lose the device, only another administrator can let you in again or, if you are one, the console of the appliance.'
              : `${recoveryCodesLeft} recovery ${recoveryCodesLeft === 1 ? 'code is' : 'codes are'} left.`}
          </p>
        </>
      )}
      <div className="cistern-buttons">
        <Button variant="secondary" onClick={() => setAdding('app')}>
          Add an app
        </Button>
        <Button variant="secondary" isDisabled={noPasskeys !== null} onClick={() => setAdding('passkey')}>
          Add a passkey
        </Button>
        {items.length > 0 && (
          <Button variant="secondary" onClick={() => setAsking('codes')}>
            Make new recovery codes
          </Button>
        )}
      </div>
      {noPasskeys !== null && <p className="cistern-quiet cistern-sentence">No passkey can be added: {noPasskeys}</p>}
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
          action={asking.kind === 'app' ? 'Remove the app' : 'Remove the passkey'}
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
              : asking.kind === 'app'
                ? 'Its codes are no longer taken.'
                : 'It no longer signs you in. Remove it from your device as well.'}
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}
