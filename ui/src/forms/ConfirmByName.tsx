// Before something is lost: says what, by name, and wants the name typed.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { Explained } from './Explained.tsx';
import { TextField } from './Field.tsx';

export interface ConfirmProps {
  title: string;
  /** What will be lost. */
  children: ReactNode;
  name: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function ConfirmByName({ title, children, name, action, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const mayNot = typed.trim() === name ? null : `Type “${name}” first.`;
  const confirm = async () => {
    if (mayNot !== null || busy) return;
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="confirm-title">
      <ModalHeader title={title} titleIconVariant="warning" labelId="confirm-title" />
      <ModalBody>
        <div className="cistern-form">
          {children}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void confirm();
            }}
          >
            <TextField
              label={`Type “${name}” to confirm`}
              value={typed}
              onChange={setTyped}
              autoFocus
              autoComplete="off"
            />
          </form>
          <ProblemAlert error={error} />
        </div>
      </ModalBody>
      <ModalFooter>
        <Explained why={mayNot}>
          <Button variant="danger" isAriaDisabled={mayNot !== null} isLoading={busy} onClick={() => void confirm()}>
            {action}
          </Button>
        </Explained>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}
