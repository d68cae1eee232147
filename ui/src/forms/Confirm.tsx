// Before something that can be taken back, or loses nothing, but should not happen by a slip: says what it does.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { ProblemAlert } from '../words/ProblemAlert.tsx';

export interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, children, action, danger = false, onConfirm, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    if (busy) return;
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
      <ModalHeader title={title} labelId="confirm-title" />
      <ModalBody>
        <div className="cistern-form">
          {children}
          <ProblemAlert error={error} />
        </div>
      </ModalBody>
      <ModalFooter>
        <Button variant={danger ? 'danger' : 'primary'} isLoading={busy} onClick={() => void confirm()}>
          {action}
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}
