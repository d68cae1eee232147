// The few properties of a pool that an administrator may set.
import { Card, CardBody, CardTitle, Switch } from '@patternfly/react-core';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import type { Pool } from './queries.ts';
import { usePoolAction } from './usePoolAction.ts';

const switches = [
  ['autotrim', 'Report free blocks to the disks at once', 'autotrim. SSDs stay fast by it; hard disks ignore it.'],
  ['autoexpand', 'Grow when all disks of a group have grown', 'autoexpand. Otherwise the added room waits.'],
] as const;

export function PoolProperties({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const change = usePoolAction();
  const [comment, setComment] = useState<string | null>(null);
  const path = { name: pool.name };
  const edit = useEdited({
    now: pool,
    read: () => answerOf(client.GET('/api/pools/{name}', { params: { path } })),
    // The page itself shows the pool as it is; the comment stays as it was typed.
    onLoad: () => {},
    editing: comment !== null,
  });
  const set = (body: Schemas['PropertiesInput'], done?: () => void) =>
    change.mutate(
      () => edit.guard(answerOf(client.PUT('/api/pools/{name}', { params: { path, header: edit.header }, body }))),
      { onSuccess: done },
    );
  const text = comment ?? pool.properties.comment;
  const why =
    mayNot ??
    (!/^[ -~]*$/.test(text)
      ? 'ZFS takes letters, digits and signs of ASCII only.'
      : text.length > 32
        ? 'It may have 32 characters at most.'
        : text === pool.properties.comment
          ? 'Nothing has been changed.'
          : null);
  return (
    <Card component="section" aria-label="Properties">
      <CardTitle component="h2">Properties</CardTitle>
      <CardBody>
        <div className="cistern-form">
          {switches.map(([property, label, help]) => (
            <div key={property}>
              <Explained why={mayNot}>
                <Switch
                  id={`pool-${property}`}
                  label={label}
                  isChecked={pool.properties[property]}
                  isDisabled={mayNot !== null || change.isPending}
                  onChange={(_event, checked) => set({ [property]: checked })}
                />
              </Explained>
              <div className="cistern-quiet">{help}</div>
            </div>
          ))}
          <FormShell
            submit="Save the comment"
            busy={false}
            mayNot={why}
            onSubmit={() => set({ comment: text }, () => setComment(null))}
          >
            <TextField
              label="Comment"
              value={text}
              onChange={setComment}
              help="Where it stands, or whose it is. It is on the disks: whoever imports the pool reads it."
              autoComplete="off"
            />
          </FormShell>
          <ProblemAlert error={change.error} />
        </div>
      </CardBody>
    </Card>
  );
}
