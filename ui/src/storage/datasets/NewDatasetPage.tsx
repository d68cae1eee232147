// A file system or a volume is made.
import { Checkbox } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ChoiceField } from '../../forms/ChoiceField.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { CompressionField } from './CompressionField.tsx';
import { datasetPath, datasetsQuery } from './queries.ts';
import { sizeIn } from './words.ts';

type Kind = 'filesystem' | 'volume';
const kinds: readonly [Kind, string, string][] = [
  ['filesystem', 'File system', 'Files and directories.'],
  ['volume', 'Volume', 'A disk of a fixed size, for a virtual machine.'],
];
type Key = 'none' | 'passphrase' | 'keyFile';
const keys: readonly [Key, string, string][] = [
  ['none', 'Not encrypted', 'Whoever has the disks can read it. This cannot be changed later.'],
  ['passphrase', 'With a passphrase', 'It must be entered after every start. Without it the data is lost.'],
  ['keyFile', 'With a key file', 'The appliance keeps the key on its system disk, and loads it at every start.'],
];

export default function NewDatasetPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [params] = useSearchParams();
  const mayNot = useMayNot('administrator');
  // The places to make it at: one look is enough, longer lists are typed.
  const parents = useQuery(datasetsQuery({ limit: 1000, sort: 'name' })).data?.items.filter(({ system }) => !system);
  const [chosen, setParent] = useState(params.get('below'));
  const parent = chosen ?? parents?.[0]?.name ?? '';
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('filesystem');
  const [size, setSize] = useState('10 GiB');
  const [sparse, setSparse] = useState(false);
  const [mountpoint, setMountpoint] = useState<string | null>(null);
  const [compression, setCompression] = useState('');
  const [quota, setQuota] = useState('');
  const [key, setKey] = useState<Key>('none');
  const [passphrase, setPassphrase] = useState('');
  const full = `${parent}/${name.trim()}`;
  const place = mountpoint ?? `/srv/${full}`;
  const create = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/datasets', {
          body: {
            name: full,
            kind,
            ...(kind === 'volume' && { volumeBytes: sizeIn(size) ?? 0, sparse }),
            properties: {
              ...(kind === 'filesystem' && { mountpoint: place.trim() === '' ? 'none' : place.trim() }),
              ...(kind === 'filesystem' && quota.trim() !== '' && { quota: String(sizeIn(quota)) }),
              ...(compression !== '' && { compression }),
            },
            ...(key !== 'none' && { encryption: { format: key, ...(key === 'passphrase' && { passphrase }) } }),
          },
        }),
      ),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      void navigate(datasetPath(made.name));
    },
  });
  const problem = create.error ? asProblem(create.error) : null;
  const why =
    mayNot ??
    (name.trim() === ''
      ? 'Give it a name.'
      : kind === 'volume' && !sizeIn(size)
        ? 'Give the volume a size, such as 10 GiB.'
        : quota.trim() !== '' && !sizeIn(quota)
          ? 'Write the quota as a size, such as 10 GiB.'
          : key === 'passphrase' && passphrase.length < 8
            ? 'A passphrase has at least 8 characters.'
            : null);
  return (
    <PageShell
      title="New dataset"
      sentence="A dataset is a part of a pool with settings and snapshots of its own."
      way={[['Datasets', '/storage/datasets']]}
      here="New"
    >
      <FormShell
        submit="Create the dataset"
        busy={create.isPending}
        error={create.error}
        fields={['/name', '/properties/mountpoint', '/properties/quota', '/volumeBytes', '/encryption/passphrase']}
        mayNot={why}
        onSubmit={() => create.mutate()}
        cancel="/storage/datasets"
      >
        <ChoiceField label="What it is" value={kind} onChange={setKind} options={kinds} />
        <SelectField
          label="Below"
          value={parent}
          onChange={setParent}
          options={(parents ?? []).map((one) => [one.name, one.name])}
        />
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          help={name.trim() === '' ? 'Letters, digits, “-”, “_”, “.” and “:”.' : `Its full name is ${full}.`}
          error={fieldMessage(problem, '/name')}
          autoComplete="off"
          autoFocus
          required
        />
        {kind === 'volume' ? (
          <>
            <TextField
              label="Size"
              value={size}
              onChange={setSize}
              error={fieldMessage(problem, '/volumeBytes')}
              autoComplete="off"
              required
            />
            <Checkbox
              id="sparse"
              label="Do not reserve the space"
              description="More can then be promised than there is; writing fails when the pool is full."
              isChecked={sparse}
              onChange={(_event, checked) => setSparse(checked)}
            />
          </>
        ) : (
          <>
            <TextField
              label="Mount point"
              value={place}
              onChange={setMountpoint}
              help="A directory below /srv. Empty: it is not mounted."
              error={fieldMessage(problem, '/properties/mountpoint')}
              autoComplete="off"
            />
            <TextField
              label="Quota"
              value={quota}
              onChange={setQuota}
              placeholder="none"
              help="The most it may use, such as 100 GiB. Empty: as much as the pool has."
              error={fieldMessage(problem, '/properties/quota')}
              autoComplete="off"
            />
          </>
        )}
        <CompressionField
          value={compression}
          onChange={setCompression}
          above={['', `as ${parent} has it`]}
          help="As the dataset above it has it."
        />
        <ChoiceField label="Encryption" value={key} onChange={setKey} options={keys} />
        {key === 'passphrase' && (
          <TextField
            label="Passphrase"
            type="password"
            value={passphrase}
            onChange={setPassphrase}
            help="At least 8 characters. Keep a copy: it cannot be recovered."
            error={fieldMessage(problem, '/encryption/passphrase')}
            autoComplete="new-password"
            required
          />
        )}
      </FormShell>
    </PageShell>
  );
}
