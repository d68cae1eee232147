// The note of whoever takes charge of an alert, or of many.
import { Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';

export function NoteForm(props: {
  title: string;
  acknowledge: (note: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const { title, acknowledge, onClose } = props;
  const [note, setNote] = useState('');
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: () => acknowledge(note.trim()),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['alerts'] });
      onClose();
    },
  });
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="acknowledge-title">
      <ModalHeader title={`Acknowledge “${title}”`} labelId="acknowledge-title" />
      <ModalBody>
        <FormShell
          submit="Acknowledge"
          busy={save.isPending}
          error={save.error}
          fields={['/note']}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          <p>No more reminders are sent and it is not escalated any more. It stays active until all is well.</p>
          <TextField
            label="Note"
            value={note}
            onChange={setNote}
            help="What you know, or what you do about it. Everyone sees it."
            error={fieldMessage(save.error ? asProblem(save.error) : null, '/note')}
            autoComplete="off"
            autoFocus
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}
