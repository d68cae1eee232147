// A part of the settings document: what an administrator can set in one domain, declared in the domain's own folder. Who reads,
// compares and applies documents (system/settings) is handed the list of all parts and knows none of them.
// docs/FORMATS.md, "Settings document"; docs/decisions/0033-settings-document.md.
import type { Problem } from '../base/problems/schema.ts';
import type { Static, TSchema } from '../base/schema/schema.ts';
import type { Caller } from '../http/gate/caller.ts';
import type { Call, Handler } from '../http/handlers.ts';
import type { Route } from '../http/routes.ts';

export type Complaint = NonNullable<Problem['errors']>[number];

/** Thrown by a check for what cannot be here and does not matter to all else, as the schedule of a pool that is elsewhere. */
export class LeftOut extends Error {}

/** What a value names in another part: it has to be there, or be made before. */
export interface Reference {
  readonly part: string;
  readonly key: string;
  /** JSON pointer within the value. */
  readonly path: string;
}

interface Declared<T> {
  /** Its key in the document: it stays. */
  readonly name: string;
  /** What it is on pages. */
  readonly title: string;
  /** Of the form of its value; from 1. */
  readonly version: number;
  /** The routes by which the same is set one by one. A write by one of them may have changed the part. */
  readonly covers: readonly string[];
  /** Parts that are applied before it. */
  readonly after?: readonly string[];
  /** Of the value, or of each of many: that of the API. */
  readonly schema: TSchema;
  /** JSON pointers within the value, or each of many. */
  readonly secrets?: readonly string[];
  /** Secrets by which somebody gets in: the history does not keep them, and one that is left out stays as it is. */
  readonly credentials?: readonly string[];
  /** What the API keeps as it is when it is left out, and takes away when it is empty, besides secrets. */
  readonly emptied?: readonly string[];
  /** How the value of an older version is read: from version N to N + 1. */
  readonly older?: Readonly<Record<number, (value: unknown) => unknown>>;
  /** As it is read back once it is applied. Throws what is wrong with it. */
  readonly normalise?: (value: T, key: string) => T;
  readonly refersTo?: (value: T) => readonly Reference[];
}

/** One value. What is given to `check` and `set` is what the API takes: a secret that is left out stays, an empty one goes. */
export interface OnePart<T> extends Declared<T> {
  readonly many: false;
  readonly read: () => T | Promise<T>;
  /** Throws why it cannot be set; changes nothing. */
  readonly check?: (given: T, by: Caller) => void | Promise<void>;
  readonly set: (given: T, by: Caller) => unknown;
  /** What cannot be undone about the change. */
  readonly warn?: (before: T, after: T) => string | null;
}

/** Things with names. A document that has the part has all of them: those that it does not name are removed. */
export interface ManyPart<T> extends Declared<T> {
  readonly many: true;
  /** What a key must be. */
  readonly keys?: RegExp;
  /** They are neither made nor removed, as inputs: those that the document does not name stay as they are. */
  readonly fixed?: true;
  /** Removed when all other parts are applied: what goes with them does not come back. */
  readonly removedLast?: true;
  readonly read: () => Readonly<Record<string, T>> | Promise<Readonly<Record<string, T>>>;
  readonly check?: (key: string, given: T, by: Caller) => void | Promise<void>;
  /** What is wrong with all of them together; paths begin with the key. */
  readonly checkAll?: (wanted: Readonly<Record<string, T>>, by: Caller) => readonly Complaint[];
  readonly update: (key: string, given: T, by: Caller) => unknown;
  /** Of fixed ones there is none of these. */
  readonly create?: (key: string, given: T, by: Caller) => unknown;
  readonly remove?: (key: string, by: Caller) => unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of parts, each of values of its own
export type SettingsPart = OnePart<any> | ManyPart<any>;

export const onePart = <S extends TSchema>(part: Omit<OnePart<Static<S>>, 'many'> & { schema: S }): SettingsPart => ({
  ...part,
  many: false,
});

export const manyPart = <S extends TSchema>(part: Omit<ManyPart<Static<S>>, 'many'> & { schema: S }): SettingsPart => ({
  ...part,
  many: true,
});

/** Has the handler of a route do it, as if somebody had asked for it. */
export const asked = <R extends Route>(handler: Handler<R>, call: Pick<Call<R>, 'caller'> & Partial<Call<R>>) =>
  handler(call as Call<R>);

/** What an id may be that a document gives. */
export const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
