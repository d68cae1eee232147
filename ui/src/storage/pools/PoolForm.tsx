// Which disks, and how they are laid out: for the wizard and the storage page alike. What the advice recommends is chosen
// until the user chooses otherwise.
import { Checkbox, FormSelect, FormSelectOption, Progress } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, Failure, fieldMessage } from '../../api/problem.ts';
import { adviceQuery, disksQuery, jobsQuery, poolsQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { bytes, exactBytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { diskName } from '../disks/DiskTile.tsx';
import { LayoutField } from './LayoutField.tsx';
import { vdevKinds } from './words.ts';

type Disk = Schemas['Disk'];
type LayoutId = Schemas['Layout']['id'];

type Kind = Schemas['AddInput']['kind'];

export function DiskChoice({
  disk,
  chosen,
  onChange,
  kind,
  onKind,
}: {
  disk: Disk;
  chosen: boolean;
  onChange: (chosen: boolean) => void;
  /** What the disk is to be in the pool, where that can be chosen for each. */
  kind?: Kind;
  onKind?: (kind: Kind) => void;
}) {
  const free = disk.state === 'available';
  return (
    <Checkbox
      id={`disk-${disk.id}`}
      className="cistern-choice"
      label={
        <>
          <strong>{diskName(disk)}</strong> <span title={exactBytes(disk.bytes)}>{bytes(disk.bytes)}</span>
        </>
      }
      description={free ? `${disk.model}, ${disk.path}` : (disk.reason ?? 'It is in use.')}
      isChecked={chosen}
      isDisabled={!free}
      onChange={(_event, checked) => onChange(checked)}
      body={
        chosen &&
        onKind && (
          <FormSelect
            aria-label={`What ${diskName(disk)} is for`}
            value={kind}
            onChange={(_event, value) => onKind(value as Kind)}
          >
            {vdevKinds.map(([id, title]) => (
              <FormSelectOption key={id} value={id} label={title} />
            ))}
          </FormSelect>
        )
      }
    />
  );
}

/** Disks beside the data, as they are laid out: copies where losing one would cost something. */
function besideOf(chosen: readonly string[], kinds: ReadonlyMap<string, Kind>): Schemas['Beside'][] {
  return (['special', 'log', 'cache', 'spare'] as const).flatMap((kind) => {
    const disks = chosen.filter((id) => kinds.get(id) === kind);
    const mirrored = (kind === 'special' || kind === 'log') && disks.length > 1;
    return disks.length === 0 ? [] : [{ kind, layout: mirrored ? 'mirror' : 'stripe', disks }];
  });
}

export interface PoolFormProps {
  submit: string;
  /** Where the wizard is: the pool is to hold the measurements, without asking. */
  forTelemetry: boolean;
  mayNot?: string | null;
  /** The pool is being made from now on. */
  onStart?: () => void;
  onDone: (name: string) => void;
  cancel?: string;
  more?: ReactNode;
}

export function PoolForm({ submit, forTelemetry, mayNot = null, onStart, onDone, cancel, more }: PoolFormProps) {
  const queries = useQueryClient();
  // While disks are chosen, one that is plugged in should appear without a wait.
  const disks = useQuery({ ...disksQuery, refetchInterval: 3_000 });
  const pools = useQuery(poolsQuery);
  const held = pools.data?.items.some((pool) => pool.telemetry) ?? false;
  const [name, setName] = useState('tank');
  const [telemetry, setTelemetry] = useState<boolean | null>(null);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [wanted, setWanted] = useState<LayoutId | null>(null);
  const [byKind, setByKind] = useState(false);
  const [kinds, setKinds] = useState<ReadonlyMap<string, Kind>>(new Map());
  const [jobId, setJobId] = useState<string | null>(null);

  const free = disks.data?.items.filter((disk) => disk.state === 'available') ?? [];
  // Every free disk is in until it is taken out: a disk that appears meanwhile joins, one that vanishes leaves.
  const chosen = free.filter((disk) => !left.has(disk.id)).map((disk) => disk.id);
  const beside = byKind ? besideOf(chosen, kinds) : [];
  const data = chosen.filter((id) => !beside.some(({ disks }) => disks.includes(id)));
  const advice = useQuery(adviceQuery(data));
  const layouts = advice.data?.layouts ?? [];
  const layout =
    layouts.find(({ id, allowed }) => id === wanted && allowed) ??
    layouts.find(({ id }) => id === advice.data?.recommended);

  const job = useQuery({
    ...jobsQuery,
    enabled: jobId !== null,
    refetchInterval: jobId === null ? false : 300,
  }).data?.find(({ id }) => id === jobId);
  const done = useRef(onDone);
  done.current = onDone;
  useEffect(() => {
    if (job === undefined || job.state === 'running') return;
    void queries.invalidateQueries({ queryKey: ['disks'] });
    void queries.invalidateQueries({ queryKey: ['pools'] });
    if (job.state === 'done') done.current(name);
  }, [job?.state, job, name, queries]);

  const create = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/pools', {
          body: {
            name,
            layout: layout?.id ?? 'mirror',
            disks: data,
            ...(beside.length > 0 && { beside }),
            telemetry: telemetry ?? (forTelemetry || !held),
          },
        }),
      ),
    onSuccess: (made) => {
      setJobId(made.id);
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
    onError: () => void queries.invalidateQueries({ queryKey: ['disks'] }),
  });
  const running = create.isPending || (jobId !== null && (job === undefined || job.state === 'running'));
  const failure =
    create.error ??
    (job?.error
      ? new Failure(job.error)
      : job && job.state !== 'running' && job.state !== 'done'
        ? new Error(`It was ${job.state}.`)
        : null);
  const problem = failure ? asProblem(failure) : null;
  const why =
    mayNot ??
    (chosen.length === 0
      ? 'Choose at least one disk.'
      : data.length === 0
        ? 'At least one disk has to hold data.'
        : layout === undefined
          ? 'There is no layout for these disks yet.'
          : name.trim() === ''
            ? 'Give the pool a name.'
            : null);

  if (disks.error && disks.data === undefined)
    return <ProblemAlert error={disks.error} retry={() => void disks.refetch()} />;
  if (running) {
    return (
      <div className="cistern-running" role="status">
        <Progress
          title={job?.title ?? `Creating ${name}`}
          value={job?.percent ?? 0}
          helperText={job?.step ?? 'Starting'}
          aria-label={`Creating ${name}`}
        />
      </div>
    );
  }
  return (
    <FormShell
      submit={submit}
      onSubmit={() => {
        setJobId(null);
        onStart?.();
        create.mutate();
      }}
      error={failure}
      fields={['/name']}
      mayNot={why}
      more={more}
      {...(cancel !== undefined && { cancel })}
    >
      <fieldset className="cistern-choices">
        <legend>Disks</legend>
        {disks.data?.items.map((disk) => (
          <DiskChoice
            key={disk.id}
            disk={disk}
            chosen={chosen.includes(disk.id)}
            onChange={(checked) => {
              const next = new Set(left);
              if (checked) next.delete(disk.id);
              else next.add(disk.id);
              setLeft(next);
            }}
            {...(byKind && {
              kind: kinds.get(disk.id) ?? 'data',
              onKind: (kind: Kind) => setKinds(new Map(kinds).set(disk.id, kind)),
            })}
          />
        ))}
        {disks.data && free.length === 0 && (
          <p>No disk is free. Add one to the machine; it appears here automatically.</p>
        )}
        {chosen.length > 1 && (
          <Checkbox
            id="pool-by-kind"
            label="Use some of them as spares, or for log, cache or metadata"
            isChecked={byKind}
            onChange={(_event, checked) => setByKind(checked)}
          />
        )}
        {beside.length > 0 && (
          <ul className="cistern-quiet">
            {vdevKinds
              .filter(([id]) => beside.some(({ kind }) => kind === id))
              .map(([id, title, about]) => {
                const one = beside.find(({ kind }) => kind === id) as Schemas['Beside'];
                return (
                  <li key={id}>
                    {title}: {plural(one.disks.length, 'disk')}
                    {one.layout === 'mirror' && ', mirrored'}. {about}
                  </li>
                );
              })}
          </ul>
        )}
      </fieldset>
      {data.length > 0 && (
        <LayoutField
          layouts={layouts}
          recommended={advice.data?.recommended}
          chosen={layout}
          onChange={setWanted}
          warnings={advice.data?.warnings}
          error={advice.error}
        />
      )}
      <TextField
        label="Name of the pool"
        value={name}
        onChange={setName}
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        required
      />
      {!forTelemetry && (
        <Checkbox
          id="pool-telemetry"
          label="Keep the measurements on this pool"
          description={held ? 'They are on another pool now; what was stored stays there.' : 'No pool holds them yet.'}
          isChecked={telemetry ?? !held}
          onChange={(_event, checked) => setTelemetry(checked)}
        />
      )}
      {chosen.length > 0 && (
        <p className="cistern-quiet">
          Everything on {chosen.length === 1 ? 'this disk' : `these ${chosen.length} disks`} is erased. lz4 compression
          and 4 KiB sectors (ashift 12) are set.
        </p>
      )}
    </FormShell>
  );
}
