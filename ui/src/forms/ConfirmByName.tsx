// Asks before data is lost: names what, and requires the name to be typed.
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { TextField } from './Field.tsx';

export interface ConfirmByNameProps {
  title: string;
  /** What will be lost. */
  children: ReactNode;
  name: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function ConfirmByName({ children, name, ...dialog }: ConfirmByNameProps) {
  const [typed, setTyped] = useState('');
  const mayNot = typed.trim() === name ? null : `Type “${name}” first.`;
  return (
    <ConfirmDialog {...dialog} danger warning mayNot={mayNot}>
      {(confirm) => (
        <>
          {children}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              confirm();
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
        </>
      )}
    </ConfirmDialog>
  );
}
