// The other direction: this appliance's own key, for the machines it replicates to, and the machines that replicate to here.
import {
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  ClipboardCopy,
  Modal,
  ModalBody,
  ModalHeader,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, percent } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { datasetsQuery } from '../datasets/queries.ts';
import { sizeIn } from '../datasets/words.ts';
import { sendersQuery } from './queries.ts';

type Sender = Schemas['Sender'];

type Dataset = Schemas['Dataset'];

const GIB = 2 ** 30;

/** What it has, or four fifths of what it could have: the rest of the pool is not a sender's to fill. */
function quotaFor({ quota, used, available }: Dataset): number {
  return quota?.bytes ?? Math.max(GIB, Math.floor(((used + available) * 0.8) / GIB) * GIB);
}

const sizeWords = (count: number) => (count % GIB === 0 ? `${count / GIB} GiB` : `${Math.round(count / 2 ** 20)} MiB`);

function NewSender({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const datasets = useQuery(datasetsQuery({ limit: 1000, sort: 'name' })).data?.items;
  const places = datasets?.filter(({ system, telemetry }) => !system && !telemetry).map(({ name }) => name) ?? [];
  const [name, setName] = useState('');
  const [publicKey, setPublicKey] = useState('');
  const [chosen, setUnder] = useState<string | null>(null);
  const under = chosen ?? places[0] ?? '';
  const dataset = datasets?.find((one) => one.name === under);
  const [typed, setQuota] = useState<string | null>(null);
  const quota = typed ?? (dataset ? sizeWords(quotaFor(dataset)) : '');
  const add = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/replication-senders', {
          body: {
            ...{ name: name.trim(), publicKey: publicKey.trim(), under },
            quotaBytes: quota.trim() === '' ? null : (sizeIn(quota) ?? 0),
          },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: sendersQuery.queryKey });
      onClose();
    },
  });
  const problem = add.error ? asProblem(add.error) : null;
  const why =
    name.trim() === ''
      ? 'Give it a name.'
      : publicKey.trim() === ''
        ? 'Paste its public key.'
        : under === ''
          ? 'Make a dataset for it first.'
          : quota.trim() !== '' && !sizeIn(quota)
            ? 'Write the quota as a size, such as 100 GiB.'
            : null;
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="sender-title">
      <ModalHeader title="Add a sender" labelId="sender-title" />
      <ModalBody>
        <FormShell
          submit="Add the sender"
          busy={add.isPending}
          error={add.error}
          fields={['/publicKey', '/under', '/name', '/quotaBytes']}
          mayNot={why}
          onSubmit={() => add.mutate()}
          cancel={onClose}
        >
          <TextField label="Name" value={name} onChange={setName} help="Of the machine, for you." autoFocus required />
          <TextField
            label="Its public key"
            value={publicKey}
            onChange={setPublicKey}
            help="One line. Another Cistern shows it on this page; elsewhere it is the .pub file of an SSH key."
            error={fieldMessage(problem, '/publicKey')}
            required
          />
          <SelectField
            label="It replicates to datasets below"
            help="It can add there, and look at what it has sent. It can destroy nothing, and reach nothing else."
            error={fieldMessage(problem, '/under')}
            value={under}
            onChange={setUnder}
            options={places.map((one) => [one, one])}
          />
          <TextField
            label="Quota of that dataset"
            value={quota}
            onChange={setQuota}
            help={
              quota.trim() === '' && dataset?.quota === null
                ? 'Without one a sender can fill the pool, and then the appliance’s own measurements have no room.'
                : 'The most that all senders together may take there. Empty: it stays as it is.'
            }
            error={fieldMessage(problem, '/quotaBytes')}
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

export function Senders() {
  const { data, error, refetch } = useQuery(sendersQuery);
  const mayNot = useMayNot('administrator');
  const datasets = useQuery(datasetsQuery({ limit: 1000, sort: 'name' })).data?.items;
  const limitOf = (under: string) => {
    const found = datasets?.find(({ name }) => name === under);
    if (found === undefined) return '';
    return found.quota === null
      ? ', which has no quota: they can fill the pool'
      : `, up to ${bytes(found.quota.bytes)} (${percent(found.quota.ratio)} used)`;
  };
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Sender | null>(null);
  return (
    <div className="cistern-beside">
      <Card>
        <CardTitle component="h2">This appliance’s key</CardTitle>
        <CardBody>
          {data === undefined ? (
            <ProblemAlert error={error} retry={() => void refetch()} />
          ) : (
            <div className="cistern-stack">
              <p>
                A machine that this one replicates to has to know it: on a Cistern below “Machines that replicate to
                here”, elsewhere in the user’s authorized_keys.
              </p>
              <ClipboardCopy isReadOnly textAriaLabel="Public key" hoverTip="Copy" clickTip="Copied">
                {data.identity.publicKey}
              </ClipboardCopy>
            </div>
          )}
        </CardBody>
      </Card>
      <Card>
        <CardTitle component="h2">Machines that replicate to here</CardTitle>
        <CardBody>
          <div className="cistern-stack">
            {data?.accepting.failure && (
              <Alert isInline variant="danger" component="h3" title="Nothing can be received">
                <p>{data.accepting.failure}</p>
              </Alert>
            )}
            {data?.items.length === 0 && <p className="cistern-quiet">None. Nothing listens for them.</p>}
            {data !== undefined && data.items.length > 0 && (
              <>
                <p>
                  They reach this appliance at port {data.accepting.port}, and see the key{' '}
                  <code>{data.accepting.hostFingerprint}</code>: compare it when it is asked for there.
                </p>
                <ul className="cistern-alerts" aria-label="Senders">
                  {data.items.map((sender) => (
                    <li key={sender.id} className="cistern-alert">
                      <div className="cistern-spread">
                        <span>
                          <strong>{sender.name}</strong> to datasets below {sender.under}
                          {limitOf(sender.under)}
                        </span>
                        <Explained why={mayNot}>
                          <Button
                            variant="link"
                            isDanger
                            isInline
                            isAriaDisabled={mayNot !== null}
                            aria-label={`Remove the sender ${sender.name}`}
                            onClick={() => setRemoving(sender)}
                          >
                            Remove
                          </Button>
                        </Explained>
                      </div>
                      <p className="cistern-quiet">
                        Added <Ago time={sender.createdAt} />.
                      </p>
                    </li>
                  ))}
                </ul>
              </>
            )}
            <div>
              <Explained why={mayNot}>
                <Button variant="secondary" isAriaDisabled={mayNot !== null} onClick={() => setAdding(true)}>
                  Add a sender
                </Button>
              </Explained>
            </div>
          </div>
        </CardBody>
      </Card>
      {adding && <NewSender onClose={() => setAdding(false)} />}
      {removing && (
        <Confirm
          title={`Remove the sender “${removing.name}”?`}
          action="Remove it"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/replication-senders/{id}', { params: { path: { id: removing.id } } }));
            await queries.invalidateQueries({ queryKey: sendersQuery.queryKey });
          }}
        >
          <p>What it has sent stays. A replication from it that is running is interrupted.</p>
        </Confirm>
      )}
    </div>
  );
}
