// Which role somebody's groups give.
import { atLeast } from '../../http/gate/caller.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { GroupRole } from './schema.ts';

/** Distinguished names are the same in capitals, and with or without blanks after the commas (RFC 4517, 4.2.15, in what matters). */
const plain = (group: string) =>
  group
    .trim()
    .toLowerCase()
    .replace(/\s*([,=])\s*/g, '$1');

/** `cn` of a distinguished name: groups may be given by it alone. */
const commonName = (group: string) => /^cn=((?:\\.|[^,\\])+)/i.exec(group)?.[1]?.toLowerCase();

/** Null: no group fits, and there is no role for those. */
export function roleOf(groups: readonly string[], roles: readonly GroupRole[], otherwise: Role | null): Role | null {
  const mine = new Set(groups.flatMap((group) => [plain(group), commonName(group) ?? plain(group)]));
  let found = otherwise;
  for (const { group, role } of roles)
    if (mine.has(plain(group)) && (found === null || atLeast(role, found))) found = role;
  return found;
}
