// JSON pointers (RFC 6901), and secrets at them.
import type { SettingsPart } from '../../domain/settings-part.ts';

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A copy as JSON has it: without what is undefined. */
export const plain = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

export const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
export const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The value at a pointer; undefined when there is none. */
export function at(value: unknown, pointer: string): unknown {
  let found = value;
  for (const key of keysOf(pointer)) {
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

/** A copy with another value at a pointer; undefined takes it out. What does not lead there stays as it is. */
export function put(value: unknown, pointer: string, wanted: unknown): unknown {
  const [key, ...rest] = keysOf(pointer);
  if (key === undefined || !isObject(value)) return value;
  if (rest.length > 0) {
    if (!Object.hasOwn(value, key)) return value;
    const inner = put(value[key], rest.map((one) => `/${escaped(one)}`).join(''), wanted);
    return { ...value, [key]: inner };
  }
  const { [key]: _, ...others } = value;
  return wanted === undefined ? others : { ...others, [key]: wanted };
}

/** The pointers of all secrets of a part's value, as they are in it. */
export function secretsIn(part: SettingsPart, value: unknown): string[] {
  const within = [...(part.secrets ?? []), ...(part.credentials ?? [])];
  const found = (one: unknown, before: string) =>
    within.filter((pointer) => at(one, pointer) !== undefined).map((pointer) => before + pointer);
  if (!part.many) return found(value, '');
  return Object.entries(value as Json).flatMap(([key, one]) => found(one, `/${escaped(key)}`));
}

/** A copy with each secret replaced by what `change` makes of it; undefined takes it out. */
export function withSecrets<T>(part: SettingsPart, value: T, change: (secret: unknown, pointer: string) => unknown): T {
  let changed: unknown = value;
  for (const pointer of secretsIn(part, value)) changed = put(changed, pointer, change(at(value, pointer), pointer));
  return changed as T;
}
