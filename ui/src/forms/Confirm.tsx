// Before something that can be undone, or loses nothing, but should not happen by a slip: says what it does.
import type { ReactNode } from 'react';
import { ConfirmDialog } from './ConfirmDialog.tsx';

export interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm(props: ConfirmProps) {
  return <ConfirmDialog {...props} />;
}
