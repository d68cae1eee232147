// A replication in three questions: what, where, when. Where a machine has to be trusted its key is shown and confirmed,
// and a preview shows what would happen there before anything is sent.
import { Alert, Button, Checkbox } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ChoiceField } from '../../forms/ChoiceField.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ScheduleFields, useSchedule } from '../../forms/ScheduleFields.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { bytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { datasetsQuery } from '../datasets/queries.ts';
import { sizeIn } from '../datasets/words.ts';
import { type Replication, type ReplicationInput, replicationsQuery, sendersQuery, type Target } from './queries.ts';

type Where = 'here' | 'cistern' | 'other';
const wheres: readonly [Where, string, string][] = [
  ['cistern', 'Another Cistern', 'It accepts this appliance by its key, below a dataset of its choice.'],
  ['other', 'Another machine with ZFS', 'By SSH, as a user that may receive there.'],
  ['here', 'This appliance', 'Another pool protects against the loss of a pool, not against the loss of the machine.'],
];
const CISTERN_PORT = 8022;

/** Begins anew with what was typed when the current values were loaded. */
function Form({ was }: { was?: Replication }) {
  const [loaded, setLoaded] = useState(was);
  return <FormOf key={loaded?.etag ?? 'new'} was={loaded} onLoad={setLoaded} />;
}

function FormOf({ was, onLoad }: { was: Replication | undefined; onLoad: (merged: Replication) => void }) {
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [params] = useSearchParams();
  const datasets = useQuery(datasetsQuery({ limit: 1000, sort: 'name' }));
  const identity = useQuery(sendersQuery).data?.identity;
  const places = datasets.data?.items.filter(({ system }) => !system).map(({ name }) => name) ?? [];
  const [chosen, setDataset] = useState(was?.dataset ?? params.get('dataset'));
  const dataset = chosen ?? places.find((name) => name.includes('/')) ?? places[0] ?? '';
  const [recursive, setRecursive] = useState(was?.recursive ?? true);
  const [where, setWhere] = useState<Where>(
    was === undefined
      ? 'cistern'
      : was.target.kind === 'here'
        ? 'here'
        : was.target.user === 'cistern'
          ? 'cistern'
          : 'other',
  );
  const [host, setHost] = useState(was?.target.host ?? '');
  const [typedPort, setPort] = useState(was?.target.port === undefined ? null : String(was.target.port));
  const port = typedPort ?? String(where === 'cistern' ? CISTERN_PORT : 22);
  const [user, setUser] = useState(was?.target.user ?? '');
  const [target, setTarget] = useState(was?.target.dataset ?? '');
  // A key belongs to the machine that showed it.
  const [key, setKey] = useState<{ at: string; hostKey: string; fingerprint: string; confirmed: boolean } | null>(
    was?.target.hostKey === undefined
      ? null
      : { at: `${was.target.host} ${was.target.port}`, hostKey: was.target.hostKey, fingerprint: '', confirmed: true },
  );
  const at = `${host.trim()} ${port}`;
  const known = key !== null && key.at === at ? key : null;
  const schedule = useSchedule(was?.schedule ?? { every: 'hour', at: '00:00' });
  const [intermediate, setIntermediate] = useState(was?.intermediate ?? true);
  const [limit, setLimit] = useState(was && was.bytesPerSecond > 0 ? bytes(was.bytesPerSecond) : '');
  const [late, setLate] = useState(was ? String(was.lateAfterMinutes) : '180');
  const [enabled, setEnabled] = useState(was?.enabled ?? true);

  const place: Target =
    where === 'here'
      ? { kind: 'here', dataset: target.trim() }
      : {
          ...{
            kind: 'ssh',
            host: host.trim(),
            port: Number(port),
            user: where === 'cistern' ? 'cistern' : user.trim(),
          },
          ...(known && { hostKey: known.hostKey }),
          dataset: target.trim(),
        };
  const bytesPerSecond = limit.trim() === '' ? 0 : sizeIn(limit);
  const body: ReplicationInput = {
    ...{ dataset, recursive, target: place, schedule: schedule.value, enabled, intermediate },
    bytesPerSecond: bytesPerSecond ?? 0,
    lateAfterMinutes: Number(late) || 0,
  };

  const readKey = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/replications/fetch-host-key', { body: { host: host.trim(), port: Number(port) } })),
    onSuccess: (found) => setKey({ at, ...found, confirmed: false }),
  });
  const preview = useMutation({
    mutationFn: () => answerOf(client.POST('/api/replications/preview', { body: { dataset, target: place } })),
  });
  const path = { id: was?.id ?? '' };
  const edit = useEdited({
    now: was,
    read: () => answerOf(client.GET('/api/replications/{id}', { params: { path } })),
    onLoad: (current, before) => onLoad({ ...current, ...keepTyped(body, before, current) }),
  });
  const save = useMutation({
    mutationFn: () =>
      was
        ? edit.guard(answerOf(client.PUT('/api/replications/{id}', { params: { path, header: edit.header }, body })))
        : answerOf(client.POST('/api/replications', { body })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      void navigate('/storage/replication');
    },
  });
  const problem = save.error ? asProblem(save.error) : preview.error ? asProblem(preview.error) : null;
  const portWrong = !(Number.isInteger(Number(port)) && Number(port) >= 1 && Number(port) <= 65_535);
  const whyNoKey = host.trim() === '' ? 'Enter the machine.' : portWrong ? 'A port is a number from 1 to 65535.' : null;
  const whyNoPreview =
    where !== 'here' && whyNoKey !== null
      ? whyNoKey
      : where === 'other' && user.trim() === ''
        ? 'Enter the user.'
        : where !== 'here' && !known?.confirmed
          ? 'Read the key of the machine, and confirm it.'
          : target.trim() === ''
            ? 'Enter the dataset there.'
            : null;
  const why =
    mayNot ??
    (dataset === '' ? 'Choose a dataset.' : null) ??
    whyNoPreview ??
    schedule.why ??
    (bytesPerSecond === undefined ? 'Write the limit as a size, such as 10 MiB.' : null) ??
    (!/^\d+$/.test(late.trim()) ? 'Minutes are a whole number; 0 is never.' : null);
  return (
    <FormShell
      submit={was ? 'Save' : 'Begin to replicate'}
      busy={save.isPending}
      error={save.error}
      fields={['/dataset', '/target/dataset', '/target/host']}
      mayNot={why}
      onSubmit={() => save.mutate()}
      cancel="/storage/replication"
    >
      <SelectField
        label="Dataset"
        value={dataset}
        onChange={setDataset}
        options={places.map((name) => [name, name])}
        error={fieldMessage(problem, '/dataset')}
      />
      <Checkbox
        id="replication-recursive"
        label="With all datasets below it"
        isChecked={recursive}
        onChange={(_event, checked) => setRecursive(checked)}
      />
      <ChoiceField label="Where to" value={where} onChange={setWhere} options={wheres} />
      {where !== 'here' && (
        <>
          <TextField
            label="Machine"
            value={host}
            onChange={setHost}
            help="Its name or address."
            error={fieldMessage(problem, '/target/host')}
            autoComplete="off"
            required
          />
          <TextField label="Port" value={port} onChange={setPort} inputMode="numeric" />
          {where === 'other' && (
            <TextField
              label="User"
              value={user}
              onChange={setUser}
              help="It needs: zfs allow USER create,mount,receive,readonly PARENT"
              autoComplete="off"
              required
            />
          )}
          {identity && (
            <p className="cistern-quiet">
              It has to know this appliance’s key first: <code className="cistern-wrap">{identity.publicKey}</code>
            </p>
          )}
          {known === null ? (
            <div>
              <Explained why={whyNoKey}>
                <Button
                  variant="secondary"
                  isLoading={readKey.isPending}
                  isAriaDisabled={whyNoKey !== null || readKey.isPending}
                  onClick={() => readKey.mutate()}
                >
                  Read its key
                </Button>
              </Explained>
            </div>
          ) : known.fingerprint === '' ? (
            <p className="cistern-quiet">
              Its key was confirmed before. Nothing is sent to a machine with another key.
            </p>
          ) : (
            <Alert
              isInline
              component="h2"
              variant={known.confirmed ? 'success' : 'warning'}
              title={`${host.trim()} shows this key`}
            >
              <p>
                <code className="cistern-wrap">{known.fingerprint}</code>
              </p>
              <Checkbox
                id="replication-key"
                label="The machine itself shows the same key"
                description="A Cistern shows it under Replication; elsewhere: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
                isChecked={known.confirmed}
                onChange={(_event, confirmed) => setKey({ ...known, confirmed })}
              />
            </Alert>
          )}
          <ProblemAlert error={readKey.error} />
        </>
      )}
      <TextField
        label="Dataset there"
        value={target}
        onChange={setTarget}
        help="Its whole name. It is made by the first run, and must not exist yet unless it came from here."
        error={fieldMessage(problem, '/target/dataset')}
        autoComplete="off"
        required
      />
      <div>
        <Explained why={whyNoPreview}>
          <Button
            variant="secondary"
            isLoading={preview.isPending}
            isAriaDisabled={whyNoPreview !== null || preview.isPending}
            onClick={() => preview.mutate()}
          >
            Preview
          </Button>
        </Explained>
      </div>
      {preview.data && (
        <Alert
          isInline
          component="h2"
          variant={preview.data.possible ? 'success' : 'danger'}
          title={preview.data.possible ? 'It can be replicated there' : 'It cannot be replicated there'}
        >
          <p>{preview.data.sentence}</p>
        </Alert>
      )}
      <ProblemAlert error={preview.error} />
      <ScheduleFields schedule={schedule} />
      <Checkbox
        id="replication-intermediate"
        label="Also the snapshots between two runs"
        description="The other side has the same history. Without them it has one snapshot for each run."
        isChecked={intermediate}
        onChange={(_event, checked) => setIntermediate(checked)}
      />
      <TextField
        label="Limit per second"
        value={limit}
        onChange={setLimit}
        placeholder="10 MiB"
        help="Empty: no limit."
      />
      <TextField
        label="Alert when it lags by (minutes)"
        value={late}
        onChange={setLate}
        inputMode="numeric"
        help="The age that the copy may reach. 0: no alert."
      />
      <Checkbox
        id="replication-enabled"
        label="Enabled"
        isChecked={enabled}
        onChange={(_event, checked) => setEnabled(checked)}
      />
    </FormShell>
  );
}

export default function ReplicationFormPage() {
  const { id } = useParams();
  const { data, error } = useQuery({ ...replicationsQuery, enabled: id !== undefined });
  const was = data?.find((one) => one.id === id);
  return (
    <PageShell
      title={id === undefined ? 'New replication' : 'Change a replication'}
      sentence="First everything is sent, then what changes. Nothing at the other side is ever overwritten or destroyed."
      way={[['Replication', '/storage/replication']]}
      here={id === undefined ? 'New' : (was?.dataset ?? '')}
    >
      {id === undefined ? (
        <Form />
      ) : was ? (
        <Form key={was.id} was={was} />
      ) : data ? (
        <p>There is no such replication any more.</p>
      ) : (
        <Waiting on={{ error }} />
      )}
    </PageShell>
  );
}
