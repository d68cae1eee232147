// From when on the past of a rule is evaluated.
import { TextInput } from '@patternfly/react-core';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { Field } from '../../forms/Field.tsx';
import { localTime } from '../../words/localTime.ts';
import type { RecordingRule } from './rule.ts';

export function FillDialog(props: { rule: RecordingRule; onClose: () => void; onDone: () => Promise<unknown> }) {
  const { rule } = props;
  const [from, setFrom] = useState(() => localTime(Date.now() - 86_400_000));
  const time = Date.parse(from);
  return (
    <ConfirmDialog
      title={`Fill the past of ${rule.name}?`}
      action="Fill the past"
      mayNot={Number.isNaN(time) ? 'Choose a time first.' : time >= Date.now() ? 'Choose a time in the past.' : null}
      onClose={props.onClose}
      onConfirm={async () => {
        const body = { from: new Date(time).toISOString() };
        await answerOf(client.POST('/api/recording-rules/{id}/fill', { params: { path: { id: rule.id } }, body }));
        await props.onDone();
      }}
    >
      {() => (
        <>
          <p>
            The rule is evaluated for every interval from this time on, in the background. What is recorded there
            already is replaced.
          </p>
          <Field label="From" required>
            {(id) => (
              <TextInput id={id} type="datetime-local" value={from} onChange={(_event, text) => setFrom(text)} />
            )}
          </Field>
        </>
      )}
    </ConfirmDialog>
  );
}
