// The roles that the gate decides by.
import { type Static, Type } from '../../base/schema/schema.ts';

/** The roles a person can have, from the most to the least allowed. */
export const Role = Type.Enum(['administrator', 'operator', 'viewer']);
export type Role = Static<typeof Role>;

/** The roles of an API token: a writer may send measurements and nothing else. */
export const TOKEN_ROLES = ['writer', 'viewer', 'operator', 'administrator'] as const;
export const TokenRole = Type.Enum(TOKEN_ROLES);
export type TokenRole = Static<typeof TokenRole>;
