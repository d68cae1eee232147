// The dialog that asks before something is done: it stays open, with what went wrong, until that has been done.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { type ReactNode, useId, useState } from 'react';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { Explained } from './Explained.tsx';

export interface ConfirmDialogProps {
  title: string;
  /** `confirm` does it, as the button does: for a field in which Enter means yes. */
  children: ReactNode | ((confirm: () => void) => ReactNode);
  action: string;
  danger?: boolean;
  /** Something is lost: the title carries a sign. */
  warning?: boolean;
  /** Why it cannot be done yet. */
  mayNot?: string | null;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, mayNot = null, onConfirm, onClose } = props;
  // One may be asked over another.
  const id = useId();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
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
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby={id}>
      <ModalHeader title={title} labelId={id} {...(props.warning && { titleIconVariant: 'warning' })} />
      <ModalBody>
        <div className="cistern-form">
          {typeof children === 'function' ? children(() => void confirm()) : children}
          <ProblemAlert error={error} />
        </div>
      </ModalBody>
      <ModalFooter>
        <Explained why={mayNot}>
          <Button
            variant={props.danger ? 'danger' : 'primary'}
            isLoading={busy}
            isAriaDisabled={mayNot !== null}
            onClick={() => void confirm()}
          >
            {props.action}
          </Button>
        </Explained>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}
