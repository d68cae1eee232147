// One snapshot: who holds it, what is in it, what changed since, and going back to it.
import { Button, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Facts } from '../../shells/Facts.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { type Part, PartTabs } from '../../shells/PartTabs.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { DatasetCrumbs } from '../datasets/DatasetCrumbs.tsx';
import { datasetPath, snapshotPath, snapshotQuery } from '../datasets/queries.ts';
import { RenameForm } from '../datasets/RenameForm.tsx';
import { HoldForm } from '../datasets/SnapshotsTab.tsx';
import { Rollback } from './Rollback.tsx';
import { Changes, Files } from './SnapshotContents.tsx';

const tabs = [
  ['', 'About'],
  ['files', 'Files'],
  ['changes', 'Changes'],
  ['rollback', 'Roll back'],
] as const;

function CloneForm({ name, onClose }: { name: string; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const dataset = name.slice(0, name.indexOf('@'));
  const [to, setTo] = useState(`${dataset}-copy`);
  const [mountpoint, setMountpoint] = useState<string | null>(null);
  const place = mountpoint ?? `/srv/${to}`;
  const clone = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/snapshots/{name}/clone', {
          params: { path: { name } },
          body: { name: to.trim(), ...(place.trim() !== '' && { mountpoint: place.trim() }) },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      void navigate(datasetPath(to.trim()));
    },
  });
  const problem = clone.error ? asProblem(clone.error) : null;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="clone-title">
      <ModalHeader title="Clone this snapshot" labelId="clone-title" />
      <ModalBody>
        <FormShell
          submit="Make the clone"
          busy={clone.isPending}
          error={clone.error}
          fields={['/name', '/mountpoint']}
          mayNot={to.trim() === '' ? 'Give it a name.' : null}
          onSubmit={() => clone.mutate()}
          cancel={onClose}
        >
          <p>A clone begins as the snapshot is, can be written to, and takes space only for what differs.</p>
          <TextField
            label="Name of the clone"
            value={to}
            onChange={setTo}
            error={fieldMessage(problem, '/name')}
            autoComplete="off"
            autoFocus
            required
          />
          <TextField
            label="Mount point"
            value={place}
            onChange={setMountpoint}
            help="A directory below /srv. Empty: as the dataset above it has it."
            error={fieldMessage(problem, '/mountpoint')}
            autoComplete="off"
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

function About({ name }: { name: string }) {
  const queries = useQueryClient();
  const mayNotHold = useMayNot('operator');
  const mayNotChange = useMayNot('administrator');
  const [asking, setAsking] = useState<'hold' | 'clone' | 'rename' | null>(null);
  const navigate = useNavigate();
  const { data, error } = useQuery(snapshotQuery(name));
  const release = useMutation({
    mutationFn: (tag: string) => answerOf(client.POST('/api/snapshots/release', { body: { names: [name], tag } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
  if (data === undefined) return <Waiting on={{ error }} />;
  const facts: [string, React.ReactNode][] = [
    ['Taken', <Ago key="t" time={data.createdAt} />],
    ['By', data.schedule ? 'a schedule' : (data.reason ?? 'a user, or another system')],
    ['Only in it', bytes(data.used)],
    ['Written since', bytes(data.writtenSince)],
    [
      'Clones',
      data.clones.length === 0
        ? 'none'
        : data.clones.map((clone) => (
            <div key={clone}>
              <Link to={datasetPath(clone)}>{clone}</Link>
            </div>
          )),
    ],
  ];
  return (
    <div className="cistern-stack">
      <div className="cistern-actions">
        <Explained why={mayNotHold}>
          <Button variant="secondary" isAriaDisabled={mayNotHold !== null} onClick={() => setAsking('hold')}>
            Hold
          </Button>
        </Explained>
        <Explained why={mayNotChange}>
          <Button variant="secondary" isAriaDisabled={mayNotChange !== null} onClick={() => setAsking('clone')}>
            Clone
          </Button>
        </Explained>
        <Explained why={mayNotChange}>
          <Button variant="secondary" isAriaDisabled={mayNotChange !== null} onClick={() => setAsking('rename')}>
            Rename
          </Button>
        </Explained>
      </div>
      <Facts facts={facts} isHorizontal isCompact />
      <section>
        <h2>Holds</h2>
        <ProblemAlert error={release.error} />
        {data.heldBy.length === 0 && <p>Nothing holds it.</p>}
        <ul className="cistern-list" aria-label="Holds">
          {data.heldBy.map(({ tag, at }) => (
            <li key={tag}>
              <strong>{tag}</strong>, <Ago time={at} />{' '}
              <Explained why={mayNotChange}>
                <Button
                  variant="link"
                  isInline
                  isAriaDisabled={mayNotChange !== null}
                  aria-label={`Release the hold ${tag}`}
                  onClick={() => release.mutate(tag)}
                >
                  Release
                </Button>
              </Explained>
            </li>
          ))}
        </ul>
      </section>
      {asking === 'hold' && <HoldForm names={[name]} onClose={() => setAsking(null)} />}
      {asking === 'rename' && (
        <RenameForm
          title="Rename this snapshot"
          label="New name, behind the @"
          name={data.snapshot}
          about="A schedule destroys only snapshots with the names that it gave; a renamed snapshot stays until it is destroyed by hand."
          rename={(to) =>
            answerOf(client.POST('/api/snapshots/{name}/rename', { params: { path: { name } }, body: { to } }))
          }
          onDone={(to) => void navigate(snapshotPath(`${data.dataset}@${to}`), { replace: true })}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === 'clone' && <CloneForm name={name} onClose={() => setAsking(null)} />}
    </div>
  );
}

export default function SnapshotPage() {
  const { name: dataset = '', snapshot = '', tab = '' } = useParams();
  const name = `${dataset}@${snapshot}`;
  const { data, error } = useQuery(snapshotQuery(name));
  if (!tabs.some(([id]) => id === tab)) return <NoSuchPage />;
  if (data === undefined) {
    return (
      <Waiting on={{ error }} page>
        <DatasetCrumbs name={dataset} last={snapshot} />
      </Waiting>
    );
  }
  return (
    <PageShell
      title={name}
      sentence={
        data.keptBy ??
        `${bytes(data.used)} are only in this snapshot. ${plural(data.heldBy.length, 'hold')} ${data.heldBy.length === 1 ? 'keeps' : 'keep'} it.`
      }
      tabs={
        <PartTabs
          of="Snapshot"
          active={tab}
          parts={tabs.map(([id, title]): Part<string> => [id, title, `${snapshotPath(name)}${id && `/${id}`}`])}
        />
      }
    >
      <DatasetCrumbs name={dataset} last={snapshot} />
      {tab === '' && <About name={name} />}
      {tab === 'files' && <Files name={name} />}
      {tab === 'changes' && <Changes name={name} />}
      {tab === 'rollback' && <Rollback name={name} />}
    </PageShell>
  );
}
