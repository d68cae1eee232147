// Asks before something that can be undone, or loses nothing, but should not happen by mistake.
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
