// What ZFS allows a pool to be called (zpoolconcepts, zpool-create: names that it would read as something else).
const RESERVED = /^(mirror|raidz|draid|spare|log)/;

/** Why the name cannot be used, or null. */
export function poolNameProblem(name: string): string | null {
  if (!/^[a-zA-Z]/.test(name)) return 'must begin with a letter';
  if (!/^[a-zA-Z0-9_.:-]+$/.test(name)) return 'may hold letters, digits, "_", "-", "." and ":" only';
  if (name.length > 64) return 'must not be longer than 64 characters';
  if (RESERVED.test(name) || /^c[0-9]/.test(name)) return 'begins with a word ZFS uses for itself';
  return null;
}
