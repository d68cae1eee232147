// The snapshots of a dataset, newest first; those that are ticked are held or destroyed together.
import {
  Button,
  Checkbox,
  EmptyState,
  EmptyStateBody,
  Label,
  Modal,
  ModalBody,
  ModalHeader,
  Pagination,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, exactBytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type DatasetDetail, type Snapshot, snapshotPath, snapshotsQuery } from './queries.ts';

const PAGE = 50;

export function TakeSnapshot({ dataset, onClose }: { dataset: DatasetDetail; onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [recursive, setRecursive] = useState(false);
  const take = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/snapshots', {
          body: { datasets: [dataset.name], recursive, ...(name.trim() !== '' && { name: name.trim() }) },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      onClose();
    },
  });
  const problem = take.error ? asProblem(take.error) : null;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="take-title">
      <ModalHeader title={`Take a snapshot of “${dataset.name}”`} labelId="take-title" />
      <ModalBody>
        <FormShell
          submit="Take it now"
          busy={take.isPending}
          error={take.error}
          fields={['/name']}
          onSubmit={() => take.mutate()}
          cancel={onClose}
        >
          <TextField
            label="Name of the snapshot"
            value={name}
            onChange={setName}
            placeholder="manual-…"
            help="Empty: the time is its name."
            error={fieldMessage(problem, '/name')}
            autoComplete="off"
            autoFocus
          />
          {dataset.children > 0 && (
            <Checkbox
              id="take-recursive"
              label="And of all datasets below it"
              description="All of them are of the same moment."
              isChecked={recursive}
              onChange={(_event, checked) => setRecursive(checked)}
            />
          )}
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

export function HoldForm({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const queries = useQueryClient();
  const [tag, setTag] = useState('');
  const hold = useMutation({
    mutationFn: () => answerOf(client.POST('/api/snapshots/hold', { body: { names: [...names], tag: tag.trim() } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      onClose();
    },
  });
  const problem = hold.error ? asProblem(hold.error) : null;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="hold-title">
      <ModalHeader title={`Hold ${plural(names.length, 'snapshot')}`} labelId="hold-title" />
      <ModalBody>
        <FormShell
          submit="Hold"
          busy={hold.isPending}
          error={hold.error}
          fields={['/tag']}
          mayNot={tag.trim() === '' ? 'Enter what it is for.' : null}
          onSubmit={() => hold.mutate()}
          cancel={onClose}
        >
          <TextField
            label="What for"
            value={tag}
            onChange={setTag}
            help="A word such as “audit-2026”. A snapshot with a hold cannot be destroyed."
            error={fieldMessage(problem, '/tag')}
            autoComplete="off"
            autoFocus
            required
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

function Facts({ snapshot }: { snapshot: Snapshot }) {
  return (
    <>
      {snapshot.holds > 0 && (
        <Label isCompact color="orange">
          held
        </Label>
      )}{' '}
      {snapshot.clones.length > 0 && (
        <Label isCompact color="purple" title={snapshot.clones.join(', ')}>
          cloned
        </Label>
      )}{' '}
      {snapshot.replication && (
        <Label isCompact color="blue" title="A replication goes on from it">
          replication
        </Label>
      )}{' '}
      {snapshot.schedule ? (
        <span className="cistern-quiet">by schedule</span>
      ) : (
        snapshot.reason && <span className="cistern-quiet">{snapshot.reason}</span>
      )}
    </>
  );
}

export function SnapshotsTab({ dataset }: { dataset: DatasetDetail }) {
  const queries = useQueryClient();
  const [page, setPage] = useState(1);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<'take' | 'hold' | 'destroy' | null>(null);
  const [refused, setRefused] = useState<readonly { name: string; reason: string }[]>([]);
  const mayNotTake = useMayNot('operator');
  const mayNotDestroy = useMayNot('administrator');
  const { data, error, refetch } = useQuery(
    snapshotsQuery({ dataset: dataset.name, limit: PAGE, offset: (page - 1) * PAGE }),
  );
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const chosen = [...ticked];
  const none = chosen.length === 0 ? 'Tick at least one snapshot.' : null;
  const sure =
    chosen.length === 1 ? (chosen[0] as string).slice(dataset.name.length + 1) : `${chosen.length} snapshots`;
  const size = data.items.filter(({ name }) => ticked.has(name)).reduce((sum, { used }) => sum + used, 0);
  return (
    <div className="cistern-stack">
      <div className="cistern-actions">
        <Explained why={mayNotTake}>
          <Button isAriaDisabled={mayNotTake !== null} onClick={() => setAsking('take')}>
            Take a snapshot
          </Button>
        </Explained>
        <Explained why={mayNotTake ?? none}>
          <Button variant="secondary" isAriaDisabled={(mayNotTake ?? none) !== null} onClick={() => setAsking('hold')}>
            Hold
          </Button>
        </Explained>
        <Explained why={mayNotDestroy ?? none}>
          <Button
            variant="secondary"
            isDanger
            isAriaDisabled={(mayNotDestroy ?? none) !== null}
            onClick={() => setAsking('destroy')}
          >
            Destroy
          </Button>
        </Explained>
      </div>
      {refused.length > 0 && (
        <ProblemAlert
          error={new Error(refused.map(({ name, reason }) => `${name}: ${reason}`).join(' '))}
          title={`${plural(refused.length, 'snapshot')} ${refused.length === 1 ? 'was' : 'were'} not destroyed`}
          stale
        />
      )}
      {data.items.length === 0 ? (
        <EmptyState headingLevel="h2" titleText="There is no snapshot yet">
          <EmptyStateBody>
            A snapshot keeps everything as it is now, and takes space only for what changes afterwards.
          </EmptyStateBody>
        </EmptyState>
      ) : (
        <ListTable
          label="Snapshots"
          rows={data.items}
          keyOf={(snapshot) => snapshot.name}
          columns={[
            {
              title: 'Chosen',
              control: 'choice',
              cell: (snapshot) => (
                <Checkbox
                  id={`choose-${snapshot.snapshot}`}
                  aria-label={`Choose ${snapshot.snapshot}`}
                  isChecked={ticked.has(snapshot.name)}
                  onChange={(_event, on) => {
                    const next = new Set(ticked);
                    if (on) next.add(snapshot.name);
                    else next.delete(snapshot.name);
                    setTicked(next);
                  }}
                />
              ),
            },
            {
              title: 'Snapshot',
              cell: (snapshot) => (
                <Link className="cistern-name" to={snapshotPath(snapshot.name)}>
                  {snapshot.snapshot}
                </Link>
              ),
            },
            { title: 'Taken', cell: (snapshot) => <Ago time={snapshot.createdAt} /> },
            {
              title: 'Only in it',
              cell: (snapshot) => <span title={exactBytes(snapshot.used)}>{bytes(snapshot.used)}</span>,
            },
            { title: 'Refers to', cell: (snapshot) => bytes(snapshot.referenced) },
            {
              title: 'Kept',
              cell: (snapshot) => (
                <div>
                  <Facts snapshot={snapshot} />
                </div>
              ),
            },
          ]}
        />
      )}
      {data.total > PAGE && (
        <Pagination
          itemCount={data.total}
          perPage={PAGE}
          perPageOptions={[]}
          page={page}
          onSetPage={(_event, next) => setPage(next)}
          variant="bottom"
          titles={{ paginationAriaLabel: 'Pages of snapshots' }}
        />
      )}
      {asking === 'take' && <TakeSnapshot dataset={dataset} onClose={() => setAsking(null)} />}
      {asking === 'hold' && (
        <HoldForm
          names={chosen}
          onClose={() => {
            setAsking(null);
            setTicked(new Set());
          }}
        />
      )}
      {asking === 'destroy' && (
        <ConfirmByName
          title={`Destroy ${plural(chosen.length, 'snapshot')}?`}
          name={sure}
          action="Destroy"
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            const answer = await answerOf(client.POST('/api/snapshots/destroy', { body: { names: chosen } }));
            setRefused(answer.refused);
            setTicked(new Set());
            await queries.invalidateQueries({ queryKey: ['datasets'] });
          }}
        >
          <p>
            At least {bytes(size)} that are nowhere else are lost. What is held, or the origin of a clone, stays and is
            reported.
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}
