// Names for things that are made here: they sort by the time they were made, and cannot be guessed from one another.
import { randomBytes } from 'node:crypto';

/** As `al-0mi5x3k9f-3f9c2b7a10`; at most 64 characters, safe in a URL and in an SNMP string. */
export function newId(prefix: string, now: number): string {
  return `${prefix}-${now.toString(36).padStart(9, '0')}-${randomBytes(5).toString('hex')}`;
}
