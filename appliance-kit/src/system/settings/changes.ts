// What differs between two values of a part, for people and programs: secrets are named, and never shown.
import { isDeepStrictEqual } from 'node:util';
import type { SettingsPart } from '../../domain/settings-part.ts';
import { at, escaped, isObject, type Json, keysOf, put } from './pointer.ts';
import type { SettingsChange } from './schema.ts';

export const same = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b);

const MASK = '********';

/** As it is shown, beneath a pointer of the part. */
function within(part: SettingsPart, pointer: string, value: unknown): unknown {
  const way = keysOf(pointer);
  if (part.many && way.length === 0) {
    return Object.fromEntries(
      Object.entries(value as Json).map(([key, one]) => [key, within(part, `/${escaped(key)}`, one)]),
    );
  }
  const beneath = part.many ? way.slice(1) : way;
  let shown = value;
  for (const secret of [...(part.secrets ?? []), ...(part.credentials ?? [])]) {
    const rest = keysOf(secret);
    if (!beneath.every((key, index) => rest[index] === key)) continue;
    const below = rest.slice(beneath.length);
    if (below.length === 0) return MASK;
    const path = below.map((key) => `/${escaped(key)}`).join('');
    if (at(shown, path) !== undefined) shown = put(shown, path, MASK);
  }
  return shown;
}

function* between(part: SettingsPart, before: unknown, after: unknown, pointer: string): Generator<SettingsChange> {
  if (same(before, after)) return;
  const path = `/${part.name}${pointer}`;
  if (before === undefined) yield { kind: 'added', path, after: within(part, pointer, after) };
  else if (after === undefined) yield { kind: 'removed', path, before: within(part, pointer, before) };
  else if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    for (const key of keys) {
      const of = (one: Readonly<Record<string, unknown>>) => (Object.hasOwn(one, key) ? one[key] : undefined);
      yield* between(part, of(before), of(after), `${pointer}/${escaped(key)}`);
    }
  } else {
    yield {
      ...{ kind: 'changed', path },
      ...{ before: within(part, pointer, before), after: within(part, pointer, after) },
    };
  }
}

/** In the order of their paths. */
export const changesBetween = (part: SettingsPart, before: unknown, after: unknown): SettingsChange[] => [
  ...between(part, before, after, ''),
];

/** A whole value as it is shown. */
export const shownOf = (part: SettingsPart, value: unknown): unknown => within(part, '', value);
