// When snapshots are taken, how many are kept, and how the last run went.
import { Button, Checkbox, EmptyState, EmptyStateBody, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { ifMatch, keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ScheduleFields, useSchedule } from '../../forms/ScheduleFields.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { datasetPath, datasetsQuery, type SnapshotSchedule, schedulesQuery } from '../datasets/queries.ts';

type Input = Schemas['SnapshotScheduleInput'];
type Granularity = keyof Input['keep'];

const granularities: readonly [Granularity, string][] = [
  ['frequent', 'The newest'],
  ['hourly', 'One an hour, for so many hours'],
  ['daily', 'One a day, for so many days'],
  ['weekly', 'One a week, for so many weeks'],
  ['monthly', 'One a month, for so many months'],
];
const defaults: Omit<Input, 'dataset'> = {
  recursive: false,
  schedule: { every: 'hour', at: '00:00' },
  keep: { frequent: 4, hourly: 24, daily: 7, weekly: 4, monthly: 0 },
  enabled: true,
};

interface FormProps {
  existing?: SnapshotSchedule | undefined;
  dataset?: string | undefined;
  onClose: () => void;
}

/** Begins anew with what was typed when the current values were loaded. */
function ScheduleForm(props: FormProps) {
  const [loaded, setLoaded] = useState<SnapshotSchedule | undefined>(props.existing);
  return <ScheduleFormOf key={loaded?.etag ?? 'new'} {...props} existing={loaded} onLoad={setLoaded} />;
}

function ScheduleFormOf(props: FormProps & { onLoad: (merged: SnapshotSchedule) => void }) {
  const { existing, onClose } = props;
  const queries = useQueryClient();
  const was = existing ?? defaults;
  const datasets = useQuery({ ...datasetsQuery({ limit: 1000, sort: 'name' }), enabled: props.dataset === undefined });
  const places = datasets.data?.items.filter(({ system }) => !system).map(({ name }) => name) ?? [];
  const [chosen, setDataset] = useState(existing?.dataset ?? props.dataset ?? null);
  const dataset = chosen ?? places[0] ?? '';
  const [recursive, setRecursive] = useState(was.recursive);
  const schedule = useSchedule(was.schedule);
  const [enabled, setEnabled] = useState(was.enabled);
  const [keep, setKeep] = useState<Record<Granularity, string>>(
    Object.fromEntries(granularities.map(([id]) => [id, String(was.keep[id])])) as Record<Granularity, string>,
  );
  const counts = Object.fromEntries(granularities.map(([id]) => [id, Number(keep[id])])) as Input['keep'];
  const whole = Object.values(counts).every((count) => Number.isInteger(count) && count >= 0 && count <= 10_000);
  const body: Input = {
    dataset,
    recursive,
    schedule: schedule.value,
    keep: counts,
    enabled,
  };
  const path = { id: existing?.id ?? '' };
  const edit = useEdited({
    now: existing,
    read: () => answerOf(client.GET('/api/snapshot-schedules/{id}', { params: { path } })),
    onLoad: (current, before) => props.onLoad({ ...current, ...keepTyped(body, before, current) }),
  });
  const save = useMutation({
    mutationFn: () =>
      existing
        ? edit.guard(
            answerOf(client.PUT('/api/snapshot-schedules/{id}', { params: { path, header: edit.header }, body })),
          )
        : answerOf(client.POST('/api/snapshot-schedules', { body })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['datasets'] });
      onClose();
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const why =
    dataset === ''
      ? 'Choose a dataset.'
      : schedule.why !== null
        ? schedule.why
        : !whole
          ? 'How many are kept are whole numbers.'
          : Object.values(counts).every((count) => count === 0)
            ? 'Keep at least one.'
            : null;
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="schedule-title">
      <ModalHeader title={existing ? 'Change the schedule' : 'New snapshot schedule'} labelId="schedule-title" />
      <ModalBody>
        <FormShell
          submit={existing ? 'Save' : 'Add the schedule'}
          busy={save.isPending}
          error={save.error}
          fields={['/dataset', '/keep']}
          mayNot={why}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          {props.dataset === undefined && !existing && (
            <SelectField
              label="Dataset"
              value={dataset}
              onChange={setDataset}
              options={places.map((name) => [name, name])}
              error={fieldMessage(problem, '/dataset')}
            />
          )}
          <Checkbox
            id="schedule-recursive"
            label="With all datasets below it"
            description="All of them are of the same moment."
            isChecked={recursive}
            onChange={(_event, checked) => setRecursive(checked)}
          />
          <ScheduleFields schedule={schedule} />
          <fieldset className="cistern-choices">
            <legend>How many are kept</legend>
            <div className="cistern-tiles">
              {granularities.map(([id, label]) => (
                <TextField
                  key={id}
                  label={label}
                  value={keep[id]}
                  onChange={(value) => setKeep({ ...keep, [id]: value })}
                  inputMode="numeric"
                />
              ))}
            </div>
            <p className="cistern-quiet">
              What is held, cloned, needed by a replication or taken by hand is never destroyed by a schedule.
            </p>
          </fieldset>
          <Checkbox
            id="schedule-enabled"
            label="Enabled"
            isChecked={enabled}
            onChange={(_event, checked) => setEnabled(checked)}
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

/** All schedules, or those that take snapshots of one dataset. */
export function Schedules({ dataset }: { dataset?: string }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const [editing, setEditing] = useState<SnapshotSchedule | 'new' | null>(null);
  const [removing, setRemoving] = useState<SnapshotSchedule | null>(null);
  const { data, error, refetch } = useQuery(schedulesQuery(dataset));
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  return (
    <div className="cistern-stack">
      <div>
        <Explained why={mayNot}>
          <Button isAriaDisabled={mayNot !== null} onClick={() => setEditing('new')}>
            New schedule
          </Button>
        </Explained>
      </div>
      {data.length === 0 && (
        <EmptyState headingLevel="h2" titleText="No snapshots are scheduled">
          <EmptyStateBody>
            A schedule takes snapshots at its times, and destroys old ones when there are enough of them.
          </EmptyStateBody>
        </EmptyState>
      )}
      {data.length > 0 && (
        <ul className="cistern-alerts" aria-label="Snapshot schedules">
          {data.map((schedule) => (
            <li key={schedule.id} className="cistern-alert">
              <div className="cistern-spread">
                <div className="cistern-name">
                  {schedule.enabled && <ConditionIcon state={schedule.lastRun?.error ? 'warning' : 'ok'} />}{' '}
                  <Link to={datasetPath(schedule.dataset)}>{schedule.dataset}</Link>
                  {schedule.recursive && <span className="cistern-quiet"> and all below it</span>}
                </div>
                <div className="cistern-row-actions">
                  <Explained why={mayNot}>
                    <Button
                      variant="link"
                      isInline
                      isAriaDisabled={mayNot !== null}
                      aria-label={`Change the schedule of ${schedule.dataset}`}
                      onClick={() => setEditing(schedule)}
                    >
                      Change
                    </Button>
                  </Explained>
                  <Explained why={mayNot}>
                    <Button
                      variant="link"
                      isDanger
                      isInline
                      isAriaDisabled={mayNot !== null}
                      aria-label={`Remove the schedule of ${schedule.dataset}`}
                      onClick={() => setRemoving(schedule)}
                    >
                      Remove
                    </Button>
                  </Explained>
                </div>
              </div>
              <p>{`${schedule.words.charAt(0).toUpperCase()}${schedule.words.slice(1)}.`}</p>
              <p className="cistern-quiet">
                {schedule.nextRun === null ? (
                  'Switched off.'
                ) : (
                  <>
                    Next <Ago time={schedule.nextRun} />.
                  </>
                )}{' '}
                {schedule.lastRun ? (
                  <>
                    Last <Ago time={schedule.lastRun.at} />.
                  </>
                ) : (
                  'It has not run yet.'
                )}{' '}
                {plural(schedule.snapshots, 'snapshot')} of it.
              </p>
              {schedule.lastRun?.error && <p className="cistern-bad">{schedule.lastRun.error}</p>}
            </li>
          ))}
        </ul>
      )}
      {editing !== null && (
        <ScheduleForm
          existing={editing === 'new' ? undefined : editing}
          dataset={dataset}
          onClose={() => setEditing(null)}
        />
      )}
      {removing && (
        <ConfirmByName
          title="Remove this schedule?"
          name={removing.dataset}
          action="Remove the schedule"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/snapshot-schedules/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['datasets'] });
          }}
        >
          <p>No more snapshots are taken by it. The {plural(removing.snapshots, 'snapshot')} it took stay.</p>
        </ConfirmByName>
      )}
    </div>
  );
}
