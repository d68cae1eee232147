// What applying a document would do: everything is looked through before anything is done.
import { createHmac, randomBytes } from 'node:crypto';
import { asProblem } from '../../base/problems/problem.ts';
import { complaints, fits } from '../../base/validate.ts';
import { type Complaint, ID, LeftOut, type SettingsPart } from '../../domain/settings-part.ts';
import { canonical } from '../../http/etags.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { changesBetween, same } from './changes.ts';
import { markerIn, type PartValue, type Read, upgraded } from './document.ts';
import { at, escaped, isObject, type Json, plain, put } from './pointer.ts';
import type { SettingsPlan } from './schema.ts';

/** One part that changes. */
export interface PartPlan {
  readonly part: SettingsPart;
  readonly before: unknown;
  readonly wanted: unknown;
  /** Pointers, within the part, of secrets that stay as they are and were not given. */
  readonly kept: ReadonlySet<string>;
}

export interface Plan {
  readonly shown: SettingsPlan;
  readonly parts: readonly PartPlan[];
}

export interface Wanted {
  readonly document: Pick<Read, 'parts'>;
  /** Parts that count; undefined: all of the document. */
  readonly only?: readonly string[] | undefined;
  /** By pointers that begin with the part; null: they are taken as left out. */
  readonly secrets: ReadonlyMap<string, unknown> | null;
}

/** As the API takes it: a secret that stays is left out, one that goes is empty. */
export function givenOf(
  part: SettingsPart,
  pointer: string,
  before: unknown,
  wanted: unknown,
  kept: ReadonlySet<string>,
): unknown {
  let given = wanted;
  const credentials = part.credentials ?? [];
  for (const within of [...(part.secrets ?? []), ...credentials, ...(part.emptied ?? [])]) {
    const now = at(before, within);
    if (kept.has(pointer + within)) given = put(given, within, undefined);
    else if (at(given, within) === undefined && now !== undefined && !credentials.includes(within)) {
      given = put(given, within, '');
    }
  }
  return given;
}

/** One part on the way to its plan. */
class Planning {
  readonly part: SettingsPart;
  readonly before: unknown;
  wanted: unknown;
  readonly kept = new Set<string>();
  readonly refused: Complaint[] = [];
  readonly leftOut: Complaint[] = [];
  readonly missing: string[] = [];
  readonly #secrets: Wanted['secrets'];
  readonly #by: Caller;

  constructor(part: SettingsPart, before: unknown, secrets: Wanted['secrets'], by: Caller) {
    this.part = part;
    this.before = before;
    this.wanted = before;
    this.#secrets = secrets;
    this.#by = by;
  }

  refuse(pointer: string, message: string): void {
    this.refused.push({ path: `/parts/${this.part.name}/value${pointer}`, message });
  }

  #refuseAs(pointer: string, error: unknown): void {
    const { detail, errors = [] } = asProblem(error);
    if (errors.length === 0) this.refuse(pointer, detail);
    for (const { path, message } of errors) this.refuse(pointer + path, message);
  }

  /** With the secrets that it has, and those that stay; how many are neither. */
  #withSecrets(pointer: string, item: unknown, before: unknown): { item: unknown; missing: string[] } {
    const { part } = this;
    const missing: string[] = [];
    let found = item;
    for (const within of [...(part.secrets ?? []), ...(part.credentials ?? [])]) {
      const value = at(item, within);
      const marker = markerIn(value);
      const stays = marker !== undefined || (value === undefined && part.credentials?.includes(within) === true);
      if (value === '') found = put(found, within, undefined);
      if (!stays) continue;
      const sealed = marker === 'sealed' ? this.#secrets?.get(`/${part.name}${pointer}${within}`) : undefined;
      const now = at(before, within);
      if (sealed === undefined && now !== undefined) this.kept.add(pointer + within);
      if (sealed === undefined && now === undefined && marker !== undefined) missing.push(pointer + within);
      found = put(found, within, sealed ?? now);
    }
    return { item: found, missing };
  }

  /** The value as it is to be; undefined: it stays as it is, or is not made. */
  async one(
    pointer: string,
    key: string,
    item: unknown,
    before: unknown,
    check: ((given: unknown) => void | Promise<void>) | undefined,
  ): Promise<unknown> {
    const { part } = this;
    const read = this.#withSecrets(pointer, item, before);
    if (!fits(part.schema, read.item)) {
      for (const { path, message } of complaints(part.schema, read.item)) this.refuse(pointer + path, message);
      return undefined;
    }
    try {
      const wanted = plain(part.normalise === undefined ? read.item : part.normalise(read.item, key));
      if (!same(wanted, before)) await check?.(givenOf(part, pointer, before, wanted, this.kept));
      this.missing.push(...read.missing.map((one) => `/${part.name}${one}`));
      return wanted;
    } catch (error) {
      if (error instanceof LeftOut) this.leftOut.push({ path: `/${part.name}${pointer}`, message: error.message });
      else if (read.missing.length > 0 && before === undefined) {
        const message = `cannot be made without its secrets, which the document does not have: ${read.missing.join(', ')}`;
        this.leftOut.push({ path: `/${part.name}${pointer}`, message });
      } else this.#refuseAs(pointer, error);
      return undefined;
    }
  }

  async all(value: unknown): Promise<void> {
    const { part } = this;
    if (!part.many) {
      const check = part.check && ((given: unknown) => part.check?.(given, this.#by));
      this.wanted = (await this.one('', '', value, this.before, check)) ?? this.before;
      return;
    }
    if (!isObject(value)) return this.refuse('', 'must have its things by their keys');
    const before = this.before as Json;
    const wanted: [string, unknown][] = part.fixed
      ? Object.entries(before).filter(([key]) => !Object.hasOwn(value, key))
      : [];
    for (const [key, item] of Object.entries(value)) {
      const pointer = `/${escaped(key)}`;
      const now = Object.hasOwn(before, key) ? before[key] : undefined;
      if (!(part.keys ?? ID).test(key)) {
        this.refuse(pointer, 'is no key that it can have here');
        continue;
      }
      if (part.fixed && now === undefined) {
        this.leftOut.push({ path: `/${part.name}${pointer}`, message: 'is not on this appliance' });
        continue;
      }
      const check = part.check && ((given: unknown) => part.check?.(key, given, this.#by));
      const one = (await this.one(pointer, key, item, now, check)) ?? now;
      if (one !== undefined) wanted.push([key, one]);
    }
    this.wanted = Object.fromEntries(wanted);
    if (this.refused.length === 0 && !same(this.wanted, before)) {
      for (const { path, message } of part.checkAll?.(this.wanted as Json, this.#by) ?? []) this.refuse(path, message);
    }
  }
}

export class Planner {
  readonly #parts: readonly SettingsPart[];
  readonly #key = randomBytes(32);

  /** @param parts in the order in which they are applied */
  constructor(parts: readonly SettingsPart[]) {
    this.#parts = parts;
  }

  async plan({ document, only, secrets }: Wanted, by: Caller): Promise<Plan> {
    const refused: Complaint[] = [];
    const known = new Map(this.#parts.map((part) => [part.name, part]));
    for (const [name, { version }] of document.parts) {
      if (known.has(name) || (only !== undefined && !only.includes(name))) continue;
      const message = `is no part that this appliance knows (version ${version}): update the appliance first, or take the part out`;
      refused.push({ path: `/parts/${name}`, message });
    }
    for (const name of only ?? []) {
      if (document.parts.has(name)) continue;
      refused.push({ path: `/parts/${name}`, message: 'is not in the document' });
    }
    const all: Planning[] = [];
    for (const part of this.#parts) {
      const value = document.parts.get(part.name);
      if (value === undefined || (only !== undefined && !only.includes(part.name))) continue;
      try {
        all.push(await this.#planned(part, value, secrets, by));
      } catch (error) {
        // What cannot be read now cannot be compared.
        refused.push({ path: `/parts/${part.name}`, message: asProblem(error).detail });
      }
    }
    await this.#lookUp(all);
    const parts = all.filter(({ before, wanted }) => !same(before, wanted));
    return {
      parts: parts.map(({ part, before, wanted, kept }) => ({ part, before, wanted, kept })),
      shown: {
        fingerprint: this.#fingerprint(parts),
        parts: parts.map(({ part, before, wanted }) => {
          const warning = part.many ? null : (part.warn?.(before, wanted) ?? null);
          const warnings = warning === null ? [] : [warning];
          return { part: part.name, title: part.title, changes: changesBetween(part, before, wanted), warnings };
        }),
        refused: [...refused, ...all.flatMap((one) => one.refused)],
        leftOut: all.flatMap(({ leftOut }) => leftOut),
        missingSecrets: all.flatMap(({ missing }) => missing),
      },
    };
  }

  async #planned(part: SettingsPart, value: PartValue, secrets: Wanted['secrets'], by: Caller): Promise<Planning> {
    const planning = new Planning(part, plain(await part.read()), secrets, by);
    const now = upgraded(part, value);
    if (typeof now !== 'string') await planning.all(now.value);
    else planning.refused.push({ path: `/parts/${part.name}/version`, message: now });
    return planning;
  }

  /** What is named in other parts has to be there, or be made by the same document. */
  async #lookUp(all: readonly Planning[]): Promise<void> {
    const keys = new Map<string, ReadonlySet<string>>();
    const has = async (name: string, key: string) => {
      const known = keys.get(name);
      if (known !== undefined) return known.has(key);
      const planned = all.find(({ part }) => part.name === name)?.wanted;
      const value = planned ?? (await this.#parts.find((part) => part.name === name)?.read()) ?? {};
      const found = new Set(Object.keys(value as Json));
      keys.set(name, found);
      return found.has(key);
    };
    for (const one of all) {
      const { part, before, wanted } = one;
      if (part.refersTo === undefined || same(before, wanted)) continue;
      const items = part.many
        ? Object.entries(wanted as Json).filter(([key, item]) => !same(item, (before as Json)[key]))
        : [['', wanted] as const];
      for (const [key, item] of items) {
        for (const { part: other, key: named, path } of part.refersTo(item)) {
          if (await has(other, named)) continue;
          one.refuse(`${part.many ? `/${escaped(key)}` : ''}${path}`, `names ${named}, which is not in ${other}`);
        }
      }
    }
  }

  /** With a key of this process: a hash of secrets alone would let them be guessed. */
  #fingerprint(parts: readonly PartPlan[]): string {
    const text = canonical(parts.map(({ part, before, wanted }) => [part.name, before, wanted]));
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
