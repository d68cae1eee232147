// Who is asking, as the gate found out.
import type { TokenRole } from './roles.ts';

export interface Caller {
  /** A user's name, `token:NAME`, `setup`, `nginx`, or empty for an anonymous caller. */
  readonly name: string;
  readonly role: TokenRole | null;
  /** `cookie` callers are browsers, whose writes must come from our own pages. */
  readonly by: 'anonymous' | 'cookie' | 'token' | 'setup';
  /** Where from: the client's address as nginx saw it, or `local` for a caller on the socket itself. */
  readonly address: string;
  /** When the session ends, for those who have one: milliseconds since the epoch. */
  readonly expiresAt?: number;
}

const ranks: Record<TokenRole, number> = { writer: 0, viewer: 1, operator: 2, administrator: 3 };

export function atLeast(role: TokenRole | null, needed: TokenRole): boolean {
  return role !== null && ranks[role] >= ranks[needed];
}

/** The appliance itself, in the audit log. */
export const appliance: Caller = { name: 'appliance', role: 'administrator', by: 'anonymous', address: 'local' };
