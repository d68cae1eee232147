// The key of an encrypted dataset: whether it is loaded, loading it, taking it away, changing it.
import { Button } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ChoiceField } from '../../forms/ChoiceField.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type DatasetDetail, datasetPath } from './queries.ts';

type KeyChange =
  | { verb: 'load'; body: Schemas['LoadKeyInput'] }
  | { verb: 'unload' }
  | { verb: 'change'; body: Schemas['ChangeKeyInput'] };

function useKey(name: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: KeyChange) => {
      const params = { path: { name } };
      switch (change.verb) {
        case 'load':
          return answerOf(client.POST('/api/datasets/{name}/load-key', { params, body: change.body }));
        case 'unload':
          return answerOf(client.POST('/api/datasets/{name}/unload-key', { params }));
        case 'change':
          return answerOf(client.POST('/api/datasets/{name}/change-key', { params, body: change.body }));
      }
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
}

function Load({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const key = useKey(dataset.name);
  const [passphrase, setPassphrase] = useState('');
  const asks = dataset.keyFormat === 'passphrase';
  return (
    <FormShell
      submit="Load the key"
      busy={key.isPending}
      error={key.error}
      mayNot={mayNot ?? (asks && passphrase.length < 8 ? 'Give the passphrase.' : null)}
      onSubmit={() =>
        key.mutate({ verb: 'load', body: { ...(asks && { passphrase }) } }, { onSuccess: () => setPassphrase('') })
      }
    >
      {asks ? (
        <TextField
          label="Passphrase"
          type="password"
          value={passphrase}
          onChange={setPassphrase}
          autoComplete="off"
          required
        />
      ) : (
        <p>The appliance has the key in a file.</p>
      )}
    </FormShell>
  );
}

function ChangeKey({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const key = useKey(dataset.name);
  const [format, setFormat] = useState<'passphrase' | 'keyFile'>('passphrase');
  const [passphrase, setPassphrase] = useState('');
  const problem = key.error ? asProblem(key.error) : null;
  return (
    <FormShell
      submit="Change the key"
      busy={key.isPending}
      error={key.error}
      fields={['/encryption/passphrase']}
      mayNot={
        mayNot ?? (format === 'passphrase' && passphrase.length < 8 ? 'A passphrase has at least 8 characters.' : null)
      }
      onSubmit={() =>
        key.mutate(
          { verb: 'change', body: { encryption: { format, ...(format === 'passphrase' && { passphrase }) } } },
          { onSuccess: () => setPassphrase('') },
        )
      }
    >
      <ChoiceField
        label="The new key"
        value={format}
        onChange={setFormat}
        options={[
          ['passphrase', 'A passphrase'],
          ['keyFile', 'A key file, which the appliance keeps on its system disk'],
        ]}
      />
      {format === 'passphrase' && (
        <TextField
          label="New passphrase"
          type="password"
          value={passphrase}
          onChange={setPassphrase}
          error={fieldMessage(problem, '/encryption/passphrase')}
          autoComplete="new-password"
          required
        />
      )}
    </FormShell>
  );
}

export function KeyTab({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const unload = useKey(dataset.name);
  if (!dataset.encrypted) {
    return <p>It is not encrypted. That is decided when a dataset is made, and cannot be changed later.</p>;
  }
  if (dataset.encryptionRoot !== dataset.name) {
    return (
      <p>
        It is encrypted with the key of{' '}
        <Link to={datasetPath(dataset.encryptionRoot ?? '', 'key')}>{dataset.encryptionRoot}</Link>.
      </p>
    );
  }
  if (dataset.keyStatus === 'unavailable') return <Load dataset={dataset} />;
  return (
    <div className="cistern-stack">
      <section>
        <h2>The key is loaded</h2>
        <p>
          {dataset.keyFormat === 'passphrase'
            ? 'It is made from a passphrase, which has to be given after every start.'
            : 'It is in a file on the system disk, and is loaded at every start.'}{' '}
          Without the key nothing of it can be read.
        </p>
        <ProblemAlert error={unload.error} />
        <div className="cistern-actions">
          <Explained why={mayNot}>
            <Button
              variant="secondary"
              isAriaDisabled={mayNot !== null}
              isLoading={unload.isPending}
              onClick={() => unload.mutate({ verb: 'unload' })}
            >
              Lock it now
            </Button>
          </Explained>
        </div>
      </section>
      <section>
        <h2>Another key</h2>
        <ChangeKey dataset={dataset} />
      </section>
    </div>
  );
}
