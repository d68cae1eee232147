// The schedule of scrubs of a pool, and what its scrubs and resilvers found so far.
import { Button, Card, CardBody, CardTitle, Checkbox, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ScheduleFields, useSchedule } from '../../forms/ScheduleFields.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, duration } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { scansQuery, scrubScheduleQuery } from './queries.ts';

type ScrubSchedule = Schemas['ScrubSchedule'];

const SHOWN = 10;

interface FormProps {
  pool: string;
  was: ScrubSchedule;
  onClose: () => void;
}

/** Begins anew with what was typed when the current values were loaded. */
function ScheduleForm(props: FormProps) {
  const [loaded, setLoaded] = useState(props.was);
  return <ScheduleFormOf key={loaded.etag ?? ''} {...props} was={loaded} onLoad={setLoaded} />;
}

function ScheduleFormOf(props: FormProps & { onLoad: (merged: ScrubSchedule) => void }) {
  const { pool, was, onClose } = props;
  const queries = useQueryClient();
  const schedule = useSchedule(was.schedule);
  const [enabled, setEnabled] = useState(was.enabled);
  const path = { name: pool };
  const body = { enabled, schedule: schedule.value };
  const edit = useEdited({
    now: was,
    read: () => answerOf(client.GET('/api/pools/{name}/scrub-schedule', { params: { path } })),
    onLoad: (current, before) => props.onLoad({ ...current, ...keepTyped(body, before, current) }),
  });
  const save = useMutation({
    mutationFn: () =>
      edit.guard(
        answerOf(client.PUT('/api/pools/{name}/scrub-schedule', { params: { path, header: edit.header }, body })),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: scrubScheduleQuery(pool).queryKey });
      onClose();
    },
  });
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="scrub-schedule-title">
      <ModalHeader title={`When “${pool}” is scrubbed`} labelId="scrub-schedule-title" />
      <ModalBody>
        <FormShell
          submit="Save"
          busy={save.isPending}
          error={save.error}
          mayNot={schedule.why}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          <ScheduleFields
            schedule={schedule}
            offered={['day', 'week', 'month']}
            help="Once a month is enough for most pools. It slows other work down a little."
          />
          <Checkbox
            id="scrub-enabled"
            label="Enabled"
            isChecked={enabled}
            onChange={(_event, checked) => setEnabled(checked)}
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

export function Scrubs({ pool }: { pool: string }) {
  const mayNot = useMayNot('operator');
  const schedule = useQuery(scrubScheduleQuery(pool));
  const scans = useQuery(scansQuery(pool));
  const [editing, setEditing] = useState(false);
  const [all, setAll] = useState(false);
  const past = scans.data ?? [];
  return (
    <Card component="section" aria-label="Scrubs">
      <CardTitle component="h2">Scrubs</CardTitle>
      <CardBody>
        <p className="cistern-quiet">
          A scrub reads everything on the pool, checks it, and repairs what is damaged from another copy.
        </p>
        <ProblemAlert error={schedule.error ?? scans.error} />
        {schedule.data && (
          <div className="cistern-actions">
            <span>
              {schedule.data.enabled ? (
                <>
                  {`Scrubbed ${schedule.data.words}. `}
                  {schedule.data.nextRun && (
                    <>
                      Next <Ago time={schedule.data.nextRun} />.
                    </>
                  )}
                </>
              ) : (
                'No scrubs are scheduled.'
              )}
            </span>
            <Explained why={mayNot}>
              <Button variant="link" isInline isAriaDisabled={mayNot !== null} onClick={() => setEditing(true)}>
                Change when
              </Button>
            </Explained>
          </div>
        )}
        {scans.data && past.length === 0 && <p>It has not been scrubbed yet.</p>}
        {past.length > 0 && (
          <ul className="cistern-list cistern-past" aria-label="Past scrubs and resilvers">
            {past.slice(0, all ? undefined : SHOWN).map((scan) => (
              <li key={scan.startedAt + scan.kind}>
                {scan.kind === 'scrub' ? 'Scrub' : 'Resilver'} <Ago time={scan.finishedAt ?? scan.startedAt} />
                {': '}
                <span className={scan.errors > 0 ? 'cistern-bad' : undefined}>{scan.sentence}</span>{' '}
                <span className="cistern-quiet">
                  {bytes(scan.bytes)}
                  {scan.finishedAt &&
                    ` in ${duration((Date.parse(scan.finishedAt) - Date.parse(scan.startedAt)) / 1000)}`}
                </span>
              </li>
            ))}
          </ul>
        )}
        {past.length > SHOWN && !all && (
          <Button variant="link" isInline onClick={() => setAll(true)}>
            Show all {past.length}
          </Button>
        )}
      </CardBody>
      {editing && schedule.data && <ScheduleForm pool={pool} was={schedule.data} onClose={() => setEditing(false)} />}
    </Card>
  );
}
