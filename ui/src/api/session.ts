// Who is signed in, and whether that is enough for an action; if not, why, in words for the disabled control.
import { createContext, use } from 'react';
import type { Schemas } from './client.ts';

export type User = Schemas['SessionUser'];
export const SessionContext = createContext<User>({ name: '', role: 'viewer' });

const ranks: Record<User['role'], number> = { viewer: 1, operator: 2, administrator: 3 };

export const mayBe = (user: User, role: User['role']): boolean => ranks[user.role] >= ranks[role];

/** Null when the user may; else the reason. */
export function useMayNot(role: User['role']): string | null {
  const user = use(SessionContext);
  if (mayBe(user, role)) return null;
  return `You are signed in as ${user.role}; this needs ${role === 'viewer' ? 'a' : 'an'} ${role}.`;
}
