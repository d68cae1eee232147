// Who is asking, as the gate found out.
import type { TokenRole } from './roles.ts';

export interface CallerSession {
  readonly id: string;
  /** When it ends, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Until when what needs a confirmation is allowed, in milliseconds since the epoch; in the past when it is not. */
  readonly confirmedUntil: number;
  /** Signed in by a one-time password: until it is changed the caller has no role. */
  readonly mustChangePassword: boolean;
  /** A second factor is needed: until one is added the caller has no role. */
  readonly mustAddFactor: boolean;
}

/**
 * By which way something was asked for, as the audit log has it. A program says itself what it is, so "cli" and "page" are
 * what a caller claims; who it is and where it comes from are known.
 */
export const WAYS = ['page', 'token', 'cli', 'console', 'support', 'ssh', 'appliance'] as const;
export type Way = (typeof WAYS)[number];

export interface Caller {
  /** A user's name, `token:NAME`, `setup`, `nginx`, or empty for an anonymous caller. */
  readonly name: string;
  readonly role: TokenRole | null;
  /** `cookie` callers are browsers, whose writes must come from our own pages. */
  readonly by: 'anonymous' | 'cookie' | 'token' | 'setup';
  /** Where from: the client's address as nginx saw it, or `local` for a caller on the socket itself. */
  readonly address: string;
  readonly way: Way;
  /** Whose token it is; null: the appliance's. */
  readonly owner?: string | null;
  /** Of a token: forced on what it sends. */
  readonly labels?: Readonly<Record<string, string>>;
  /** When the token ends, in milliseconds since the epoch; undefined: never. */
  readonly tokenExpiresAt?: number;
  /** Of a token that may read nothing but the series which this selects. */
  readonly selector?: string;
  /** Of those who have signed in. */
  readonly session?: CallerSession;
}

/** Who did something, as it is recorded. */
export type By = Pick<Caller, 'name' | 'address' | 'way'>;

const ranks: Record<TokenRole, number> = { writer: 0, viewer: 1, operator: 2, administrator: 3 };

export function atLeast(role: TokenRole | null, needed: TokenRole): boolean {
  return role !== null && ranks[role] >= ranks[needed];
}

/** The appliance itself, in the audit log. */
export const appliance: Caller = {
  name: 'appliance',
  role: 'administrator',
  by: 'anonymous',
  address: 'local',
  way: 'appliance',
};
