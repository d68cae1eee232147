// What is done about a whole group of alerts: each is one request, however many they are.
import { Button, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { plural } from '../../words/format.ts';
import { NoteForm } from './NoteForm.tsx';
import type { AlertGroup } from './words.ts';

const lengths: readonly [string, string][] = [
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['86400', '1 day'],
  ['604800', '1 week'],
];

function SilenceForm({ group, onClose }: { group: AlertGroup; onClose: () => void }) {
  const [name, setName] = useState(group.title.slice(0, 200));
  const [length, setLength] = useState('14400');
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: () => {
      const end = Math.round(Date.now() / 1000 + Number(length));
      const body = { name: name.trim(), end };
      return answerOf(client.POST('/api/alert-groups/{id}/silence', { params: { path: { id: group.id } }, body }));
    },
    onSuccess: async () => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['alerts'] }),
        queries.invalidateQueries({ queryKey: ['silences'] }),
      ]);
      onClose();
    },
  });
  const what = group.ruleName === null ? `the class ${group.class}` : `the rule “${group.ruleName}”`;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="silence-title">
      <ModalHeader title={`Silence “${group.title}”`} labelId="silence-title" />
      <ModalBody>
        <FormShell
          submit="Begin the silence"
          busy={save.isPending}
          error={save.error}
          fields={['/name']}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          <p>
            Alerts of {what} are kept in the log and sent to no one, new ones as well. What is still active at the end
            is sent then.
          </p>
          <TextField
            label="What it is for"
            value={name}
            onChange={setName}
            error={fieldMessage(save.error ? asProblem(save.error) : null, '/name')}
            autoComplete="off"
            required
          />
          <SelectField label="For how long" value={length} onChange={setLength} options={lengths} />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

export function GroupActions({ group }: { group: AlertGroup }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const [asking, setAsking] = useState<'note' | 'silence' | null>(null);
  const params = { path: { id: group.id } };
  const open = group.active - group.acknowledged;
  const withdraw = useMutation({
    mutationFn: () => answerOf(client.POST('/api/alert-groups/{id}/withdraw-acknowledgement', { params })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['alerts'] }),
  });
  const close = () => setAsking(null);
  const acknowledge = open > 0 ? `Acknowledge ${plural(open, 'alert')}` : 'Withdraw the acknowledgements';
  return (
    <>
      <Explained why={mayNot}>
        <Button
          variant="link"
          isInline
          isLoading={withdraw.isPending}
          isAriaDisabled={mayNot !== null || withdraw.isPending}
          aria-label={`${acknowledge}: ${group.title}`}
          onClick={() => (open > 0 ? setAsking('note') : withdraw.mutate())}
        >
          {acknowledge}
        </Button>
      </Explained>
      {!group.silence && (
        <Explained why={mayNot}>
          <Button
            variant="link"
            isInline
            isAriaDisabled={mayNot !== null}
            aria-label={`Silence: ${group.title}`}
            onClick={() => setAsking('silence')}
          >
            Silence
          </Button>
        </Explained>
      )}
      {asking === 'note' && (
        <NoteForm
          title={group.title}
          acknowledge={(note) =>
            answerOf(client.POST('/api/alert-groups/{id}/acknowledge', { params, body: { note } }))
          }
          onClose={close}
        />
      )}
      {asking === 'silence' && <SilenceForm group={group} onClose={close} />}
    </>
  );
}
