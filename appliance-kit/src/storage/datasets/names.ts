// What ZFS allows datasets and snapshots to be called (zfs_namecheck.c), with the reason. execd checks the same again:
// what is said here is said before anything is asked of it.
import { fail } from '../../base/problems/problem.ts';

const LONGEST = 255;
const DEEPEST = 50;

/** Why it cannot be a part of a dataset's name, a snapshot's own name or a hold's tag; or null. */
export function partProblem(part: string): string | null {
  if (part === '') return 'has an empty part';
  if (part === '.' || part === '..') return 'has a part that is only dots';
  if (part.trim() !== part) return 'has a part that begins or ends with a space';
  const wrong = /[^A-Za-z0-9_.: -]/u.exec(part);
  if (wrong) return `holds “${wrong[0]}”; letters, digits, "-", "_", ".", ":" and spaces may be used`;
  return null;
}

export function datasetNameProblem(name: string): string | null {
  if (name.length > LONGEST) return `is ${name.length} characters long; ZFS takes ${LONGEST}`;
  const parts = name.split('/');
  if (parts.length > DEEPEST) return `is ${parts.length} levels deep; ZFS takes ${DEEPEST}`;
  for (const part of parts) {
    const wrong = partProblem(part);
    if (wrong !== null) return wrong;
  }
  return /^[A-Za-z]/.test(name) ? null : 'does not begin with a letter, as a pool’s name does';
}

export function snapshotNameProblem(name: string): string | null {
  const at = name.indexOf('@');
  if (at < 0) return 'has no “@” between the dataset and the snapshot';
  if (name.length > LONGEST) return `is ${name.length} characters long; ZFS takes ${LONGEST}`;
  return datasetNameProblem(name.slice(0, at)) ?? partProblem(name.slice(at + 1));
}

/** Throws what `check` says of the name, at the field it came from. */
export function mustBeNamed(name: string, path: string, check: (name: string) => string | null): void {
  const wrong = check(name);
  if (wrong === null) return;
  throw fail('invalid_request', `The name “${name}” ${wrong}.`, undefined, [{ path, message: wrong }]);
}

export const poolOf = (name: string): string => name.split(/[/@]/)[0] as string;
export const parentOf = (name: string): string | null =>
  name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : null;
export const within = (name: string, top: string): boolean => name === top || name.startsWith(`${top}/`);

/** The appliance itself lives on it: its values are not to be changed. */
export function isSystem(name: string, systemPool: string): boolean {
  return poolOf(name) === systemPool && !name.startsWith(`${systemPool}/telemetry`);
}
