// Another name for a dataset or a snapshot, after listing what is renamed with it.
import { Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';

export function RenameForm(props: {
  title: string;
  label: string;
  name: string;
  about: string;
  rename: (to: string) => Promise<unknown>;
  onDone: (to: string) => void;
  onClose: () => void;
}) {
  const { title, label, name, about, onDone, onClose } = props;
  const queries = useQueryClient();
  const [typed, setTyped] = useState(name);
  const to = typed.trim();
  const save = useMutation({
    mutationFn: () => props.rename(to),
    onSuccess: async () => {
      // First to the new name: the old one is read no more.
      onDone(to);
      onClose();
      await queries.invalidateQueries({ queryKey: ['datasets'] });
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="rename-title">
      <ModalHeader title={title} labelId="rename-title" />
      <ModalBody>
        <FormShell
          submit="Rename"
          busy={save.isPending}
          error={save.error}
          fields={['/to']}
          mayNot={to === '' ? 'Give it a name.' : to === name ? 'Change the name first.' : null}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          <p>{about}</p>
          <TextField
            label={label}
            value={typed}
            onChange={setTyped}
            error={fieldMessage(problem, '/to')}
            autoComplete="off"
            autoFocus
            required
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}
