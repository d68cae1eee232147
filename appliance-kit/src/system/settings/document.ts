// The document itself: its form, where secrets stand in it, and what of another version or form is said about it.
import { fail } from '../../base/problems/problem.ts';
import type { SettingsPart } from '../../domain/settings-part.ts';
import { isObject, plain, withSecrets } from './pointer.ts';
import type { SettingsDocument } from './schema.ts';

export const FORMAT = 'cistern-settings';
export const VERSION = 1;
const SECRETS_FORMAT = 'cistern-settings-secrets';

export const LEFT_OUT = { secret: 'left out' } as const;
const SEALED = { secret: 'sealed' } as const;

/** What stands in the place of a secret; undefined: something else does. */
export function markerIn(value: unknown): 'left out' | 'sealed' | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  return value.secret === 'left out' || value.secret === 'sealed' ? value.secret : undefined;
}

export interface PartValue {
  readonly version: number;
  readonly value: unknown;
}

/** What a document says, before anything of it is compared. */
export interface Read {
  readonly parts: ReadonlyMap<string, PartValue>;
  readonly sealed: string | null;
}

const refuse = (path: string, message: string, action?: string) =>
  fail('invalid_request', `The document was refused: ${path === '' ? 'it' : path} ${message}.`, action, [
    { path, message },
  ]);

const isVersion = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1;

/** Throws a sentence that names the field, and what to do. */
export function readDocument(given: unknown): Read {
  if (!isObject(given) || given.format !== FORMAT) {
    throw refuse(
      '/format',
      `must be “${FORMAT}”: this is no settings document`,
      'Give a file that “cistern settings export” wrote.',
    );
  }
  const { version, parts, sealed } = given;
  if (!isVersion(version)) throw refuse('/version', 'must be a whole number from 1 on');
  if (version > VERSION) {
    throw refuse(
      '/version',
      `is ${version}, and this appliance reads up to ${VERSION}`,
      'Update the appliance first, or export the document from one of this version.',
    );
  }
  const known = ['format', 'version', 'appliance', 'sealed', 'parts'];
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw refuse(`/${unknown}`, 'is not a known field', `Take it out; a document has ${known.join(', ')}.`);
  }
  if (sealed !== undefined && typeof sealed !== 'string') throw refuse('/sealed', 'must be an age file as text');
  if (!isObject(parts)) throw refuse('/parts', 'is missing: it has the settings, by the names of their parts');
  const found = new Map<string, PartValue>();
  for (const [name, part] of Object.entries(parts)) {
    const path = `/parts/${name}`;
    if (!isObject(part)) throw refuse(path, 'must have a version and a value');
    if (!isVersion(part.version)) throw refuse(`${path}/version`, 'must be a whole number from 1 on');
    if (!Object.hasOwn(part, 'value')) throw refuse(`${path}/value`, 'is missing');
    const more = Object.keys(part).find((key) => key !== 'version' && key !== 'value');
    if (more !== undefined) throw refuse(`${path}/${more}`, 'is not a known field');
    found.set(name, { version: part.version, value: part.value });
  }
  return { parts: found, sealed: sealed ?? null };
}

/** A value as today's version has it; a string says why it cannot be read. */
export function upgraded(part: SettingsPart, { version, value }: PartValue): { value: unknown } | string {
  if (version > part.version) {
    return `is ${version}, and this appliance reads up to ${part.version}: update the appliance first, or take the part out`;
  }
  let now = plain(value);
  for (let from = version; from < part.version; from++) {
    const step = part.older?.[from];
    if (step === undefined) return `is ${version}, which is not read any more: set it by hand, and take the part out`;
    try {
      now = step(now);
    } catch (error) {
      return `is ${version}, and its value cannot be read: ${(error as Error).message}`;
    }
  }
  return { value: now };
}

/** Written as it is kept in git: the parts and all keys in order, nothing that changes by itself. */
export function writeDocument(
  appliance: NonNullable<SettingsDocument['appliance']>,
  values: readonly (readonly [part: SettingsPart, value: unknown])[],
  sealed: string | null,
): SettingsDocument {
  const marker = sealed === null ? LEFT_OUT : SEALED;
  return {
    ...{ format: FORMAT, version: VERSION, appliance },
    ...(sealed !== null && { sealed }),
    parts: Object.fromEntries(
      values.map(([part, value]) => [
        part.name,
        { version: part.version, value: inKeyOrder(withSecrets(part, value, () => marker)) },
      ]),
    ),
  };
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, inKeyOrder(inner)]),
  );
}

/** The secrets by their pointers, as they are sealed. */
export function secretsText(values: readonly (readonly [part: SettingsPart, value: unknown])[]): string {
  const secrets: Record<string, unknown> = {};
  for (const [part, value] of values) {
    withSecrets(part, value, (secret, pointer) => {
      secrets[`/${part.name}${pointer}`] = secret;
      return secret;
    });
  }
  return JSON.stringify({ format: SECRETS_FORMAT, version: VERSION, secrets });
}

/** Throws when what was sealed is something else. */
export function secretsOf(text: string): ReadonlyMap<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    content = null;
  }
  if (!isObject(content) || content.format !== SECRETS_FORMAT || !isObject(content.secrets)) {
    throw refuse('/sealed', 'holds something else than secrets of settings');
  }
  if (!isVersion(content.version) || content.version > VERSION) {
    throw refuse('/sealed', `was sealed by a newer version: this appliance reads up to ${VERSION}`);
  }
  return new Map(Object.entries(content.secrets));
}
