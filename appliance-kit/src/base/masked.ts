// Secrets in what is written down.

const SECRET =
  /^(code|url|authorization)$|(password|passphrase|secret|token|community|privatekey|apikey|credentials?)$/i;

/** A copy in which every field that is named as a secret says only that there is one. */
export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET.test(key) ? (inner === '' || inner === undefined ? '' : '********') : masked(inner),
    ]),
  );
}
