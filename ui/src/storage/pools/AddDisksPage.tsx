// More disks for a pool: room, spares, or fast disks for its log, its cache and its small blocks.
import { Progress } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { adviceQuery, disksQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ChoiceField } from '../../forms/ChoiceField.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { useJob } from '../datasets/useJob.ts';
import { LayoutField } from './LayoutField.tsx';
import { PoolCrumbs } from './PoolCrumbs.tsx';
import { DiskChoice } from './PoolForm.tsx';
import { type Pool, poolPath, poolQuery } from './queries.ts';
import { useStorageRead } from './usePoolAction.ts';
import { vdevKinds } from './words.ts';

type Kind = Schemas['AddInput']['kind'];
type Layout = Schemas['Layout'];

const OUTSIDE = ['spare', 'log', 'cache', 'special', 'dedup'];

/** Layouts as they suit this pool: it is as safe as its weakest group. */
function suited(layouts: readonly Layout[], kind: Kind, pool: Pool): Layout[] {
  const there = pool.vdevs.find(({ type }) => !OUTSIDE.includes(type))?.type ?? 'disk';
  if (kind === 'log') return layouts.filter(({ id }) => id === 'mirror' || id === 'stripe');
  if (there === 'disk' || kind === 'spare' || kind === 'cache') return [...layouts];
  return layouts.map((layout) => {
    const type = layout.vdevs[0]?.type ?? layout.id;
    const reason =
      type === 'stripe'
        ? 'A disk without a second copy would put all of the pool at risk.'
        : kind === 'data' && type.replace(/^mirror3$/, 'mirror') !== there
          ? `The pool is made of ${there} groups; add the same kind.`
          : null;
    return layout.allowed && reason !== null ? { ...layout, allowed: false, reason } : layout;
  });
}

function AddDisks({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  const read = useStorageRead();
  const disks = useQuery({ ...disksQuery, refetchInterval: 3_000 });
  const [kind, setKind] = useState<Kind>('data');
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [wanted, setWanted] = useState<Layout['id'] | null>(null);
  const free = disks.data?.items.filter(({ state }) => state === 'available') ?? [];
  const chosen = free.filter(({ id }) => picked.has(id)).map(({ id }) => id);
  const single = kind === 'spare' || kind === 'cache';
  const { watch, job, running, done, error } = useJob();
  const add = useMutation({
    mutationFn: (layout: Layout['id']) =>
      answerOf(
        client.POST('/api/pools/{name}/add', {
          params: { path: { name: pool.name } },
          body: { kind, layout, disks: chosen },
        }),
      ),
    onSuccess: ({ id }) => watch(id),
    onSettled: read,
  });
  // Disks that are being added are free no more: there is nothing left to advise.
  const advice = useQuery({
    ...adviceQuery(chosen),
    enabled: chosen.length > 0 && !single && !add.isPending && !running && !done,
  });
  const layouts = chosen.length === 0 ? [] : suited(advice.data?.layouts ?? [], kind, pool);
  const recommended =
    layouts.find(({ id, allowed }) => id === advice.data?.recommended && allowed) ??
    layouts.find(({ allowed }) => allowed);
  const layout = layouts.find(({ id, allowed }) => id === wanted && allowed) ?? recommended;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the job has ended
  useEffect(() => {
    if (done) void read().then(() => navigate(poolPath(pool.name)));
  }, [done]);
  if (running || done) {
    return (
      <div role="status" className="cistern-running">
        <Progress
          title={job?.title ?? 'Adding the disks'}
          value={job?.percent ?? 0}
          helperText={job?.step}
          aria-label="Adding the disks"
        />
      </div>
    );
  }
  const why =
    mayNot ??
    (chosen.length === 0
      ? 'Choose at least one disk.'
      : !single && layout === undefined
        ? 'These disks cannot be laid out so that the pool stays as safe as it is.'
        : null);
  return (
    <FormShell
      submit={chosen.length === 0 ? 'Add the disks' : `Add ${plural(chosen.length, 'disk')}`}
      busy={add.isPending}
      error={add.error ?? error}
      mayNot={why}
      onSubmit={() => add.mutate(single ? 'stripe' : (layout?.id ?? 'mirror'))}
      cancel={poolPath(pool.name)}
    >
      <ChoiceField
        label="What for"
        value={kind}
        onChange={setKind}
        options={vdevKinds.map(([id, title, about]) => [id, <strong key={id}>{title}</strong>, about])}
      />
      <fieldset className="cistern-choices">
        <legend>Disks</legend>
        {free.map((disk) => (
          <DiskChoice
            key={disk.id}
            disk={disk}
            chosen={picked.has(disk.id)}
            onChange={(checked) => {
              const next = new Set(picked);
              if (checked) next.add(disk.id);
              else next.delete(disk.id);
              setPicked(next);
            }}
          />
        ))}
        {disks.data && free.length === 0 && (
          <p>No disk is free. Add one to the machine; it appears here automatically.</p>
        )}
      </fieldset>
      {chosen.length > 0 && !single && (
        <LayoutField
          layouts={layouts}
          recommended={recommended?.id}
          chosen={layout}
          onChange={setWanted}
          warnings={advice.data?.warnings}
          error={advice.error}
        />
      )}
      {chosen.length > 0 && (
        <p className="cistern-quiet">
          Everything on {chosen.length === 1 ? 'this disk' : `these ${chosen.length} disks`} is erased.
          {kind === 'data' && /raidz/.test(layout?.id ?? '') && ' A raidz group cannot be taken out of a pool again.'}
        </p>
      )}
    </FormShell>
  );
}

export default function AddDisksPage() {
  const { name = '' } = useParams();
  const pool = useQuery(poolQuery(name));
  return (
    <PageShell title={`Add disks to “${name}”`} sentence={pool.data?.sentence}>
      <PoolCrumbs name={name} last="Add disks" />
      {pool.data ? <AddDisks pool={pool.data} /> : <Waiting on={pool} />}
    </PageShell>
  );
}
