// What an entry of the audit log has changed, field by field.
export interface Difference {
  /** As `quota` or `email.to.0`; empty: the value as a whole. */
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** The leaves of a value, by where they are. */
function leaves(value: unknown, at: string, found: Map<string, string>): Map<string, string> {
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    for (const [key, inner] of Object.entries(value)) leaves(inner, at === '' ? key : `${at}.${key}`, found);
  } else if (value !== null && value !== undefined) {
    found.set(at, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return found;
}

/** Fields that are the same on both sides are left out. */
export function differences(before: unknown, after: unknown): Difference[] {
  const [was, is] = [leaves(before, '', new Map()), leaves(after, '', new Map())];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((field) => was.get(field) !== is.get(field))
    .map((field) => ({ field, before: was.get(field) ?? null, after: is.get(field) ?? null }));
}
