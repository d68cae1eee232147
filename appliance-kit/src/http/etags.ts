// Lost edits: what is read to be edited carries an ETag, and a PUT or DELETE that sends it back in If-Match is refused when
// somebody else has changed the thing since. A GET declares `editable`; the PUT and the DELETE of the same path follow it.
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Clock, iso } from '../base/clock.ts';
import { fail } from '../base/problems/problem.ts';
import type { TSchema } from '../base/schema/schema.ts';
import type { Caller } from './gate/caller.ts';
import type { Route, Routes } from './routes.ts';

/** What of a thing can be edited, by name. Whatever changes by itself is left out, so that it conflicts with nothing. */
export type Fields = (thing: never) => Readonly<Record<string, unknown>>;

/** Each field has a hash of its own, so that a conflict can name what changed; 36 bits of each are enough for that. */
const DIGITS = 6;
/** Who wrote what last is remembered for so many things. It is named when it is known; nothing depends on it. */
const MAX_WRITERS = 1_000;

/** The same value gives the same text, whatever the order of its keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}

/** The fields that an input schema takes, as the thing has them. Secrets are not in a thing, and are not compared. */
const fieldsOf = (input: TSchema) => {
  const names = Object.keys((input as { properties?: object }).properties ?? {});
  return (thing: object) => Object.fromEntries(names.map((name) => [name, (thing as Record<string, unknown>)[name]]));
};

const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, DIGITS);

/** In a list of thousands most things have what nobody has edited: the same few texts. */
const digests = new Map<string, string>();
const [MOST_DIGESTS, LONGEST_TEXT] = [1_000, 100];

function hash(name: string, value: unknown): string {
  const text = `${name}=${canonical(value)}`;
  if (text.length > LONGEST_TEXT) return digest(text);
  const known = digests.get(text);
  if (known !== undefined) return known;
  if (digests.size >= MOST_DIGESTS) digests.clear();
  const made = digest(text);
  digests.set(text, made);
  return made;
}

function tagOf(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => hash(name, value))
    .join('');
}

/** The names of the fields whose hashes differ. */
function changedSince(tag: string, fields: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(fields);
  // Another set of fields, of another version or another kind of thing: nothing is known of single ones.
  if (tag.length !== names.length * DIGITS) return [];
  return names.filter((name, at) => tag.slice(at * DIGITS, (at + 1) * DIGITS) !== hash(name, fields[name]));
}

/** The tags of an If-Match header; a proxy that compresses marks them as weak. Null: any will do. */
function tagsIn(header: string): string[] | null {
  if (header.trim() === '*') return null;
  return header.split(',').map((one) =>
    one
      .trim()
      .replace(/^W\//, '')
      .replace(/^"(.*)"$/, '$1'),
  );
}

/** Of a whole answer. Weak: a proxy may compress it. */
export const wholeTag = (text: string) => `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;

/** Whether who asks has it (RFC 9110, 13.1.2: compared weakly). */
export function isKnown(tag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  const known = tagsIn(header);
  return known === null || known.includes(tag.slice(3, -1));
}

/** The path and query name one thing, whoever asks for it. */
const thingOf = (request: FastifyRequest) => request.url.split('?', 1)[0] as string;

export interface Etags {
  /** Adds `etag` to what is answered, to the thing itself or to each of a list; the header's value, if there is one thing. */
  mark(route: Route, result: unknown): { body: unknown; header: string | undefined };
  /** Whether the route takes If-Match. */
  guards(route: Route): boolean;
  /** Carries a write out when If-Match allows it, after all others of the same thing. */
  guarded<T>(
    call: { route: Route; request: FastifyRequest; caller: Caller; read: (get: Route) => Promise<unknown> },
    write: () => Promise<T>,
  ): Promise<T>;
}

/** The GET that says what of a thing is edited by the route; undefined: the route edits nothing that has an ETag. */
export function editedBy(route: Route, all: readonly Routes[]): Route | undefined {
  if (route.method !== 'PUT' && route.method !== 'DELETE') return undefined;
  return all
    .flatMap((routes) => Object.values(routes))
    .find(({ method, path, editable }) => method === 'GET' && path === route.path && editable !== undefined);
}

export function createEtags(all: readonly Routes[], clock: Clock): Etags {
  const bySchema = new Map<TSchema, (thing: object) => Readonly<Record<string, unknown>>>();
  const readers = new Map<Route, Route>();
  for (const route of all.flatMap((routes) => Object.values(routes))) {
    const { editable } = route;
    if (editable !== undefined && route.answer.schema !== null) {
      bySchema.set(
        route.answer.schema,
        typeof editable === 'function' ? (editable as (thing: object) => Record<string, unknown>) : fieldsOf(editable),
      );
    }
    const get = editedBy(route, all);
    if (get !== undefined) readers.set(route, get);
  }
  const writers = new Map<string, { by: string; at: number }>();
  const busy = new Map<string, Promise<unknown>>();

  const wrote = (thing: string, by: string) => {
    writers.delete(thing);
    writers.set(thing, { by, at: clock.now() });
    for (const oldest of [...writers.keys()].slice(0, -MAX_WRITERS)) writers.delete(oldest);
  };

  const mustMatch = (thing: string, header: string, current: Readonly<Record<string, unknown>>) => {
    const tags = tagsIn(header);
    if (tags === null || tags.includes(tagOf(current))) return;
    const changed = tags.length === 1 ? changedSince(tags[0] as string, current) : [];
    const what =
      changed.length === 0
        ? 'It was changed'
        : `${changed.map((name) => `“${name}”`).join(', ')} ${changed.length === 1 ? 'was' : 'were'} changed`;
    const writer = writers.get(thing);
    const who =
      writer === undefined
        ? ''
        : ` The last change was made by ${writer.by} at ${iso(writer.at).slice(0, 19).replace('T', ' ')} UTC.`;
    throw fail(
      'edit_conflict',
      `${what} after it was loaded, so nothing was saved.${who}`,
      'Reload, compare, save again.',
      changed.map((name) => ({ path: `/${name}`, message: 'was changed after it was loaded' })),
    );
  };

  return {
    mark: (route, result) => {
      const { schema } = route.answer;
      if (schema === null) return { body: result, header: undefined };
      const fields = bySchema.get(schema);
      if (fields !== undefined) {
        const etag = tagOf(fields(result as object));
        return { body: { ...(result as object), etag }, header: `"${etag}"` };
      }
      const item = (schema as { properties?: { items?: { items?: TSchema } } }).properties?.items?.items;
      const ofItem = item && bySchema.get(item);
      if (ofItem === undefined) return { body: result, header: undefined };
      const { items } = result as { items: readonly object[] };
      return {
        body: { ...(result as object), items: items.map((one) => ({ ...one, etag: tagOf(ofItem(one)) })) },
        header: undefined,
      };
    },
    guards: (route) => readers.has(route),
    guarded: async ({ route, request, caller, read }, write) => {
      const get = readers.get(route);
      if (get === undefined) return write();
      const thing = thingOf(request);
      const turn = async () => {
        const header = request.headers['if-match'];
        if (header !== undefined) {
          const fields = bySchema.get(get.answer.schema as TSchema) as (thing: object) => Record<string, unknown>;
          mustMatch(thing, header, fields((await read(get)) as object));
        }
        const result = await write();
        wrote(thing, caller.name);
        return result;
      };
      // Between the comparison and the write nobody else may write.
      const before = busy.get(thing) ?? Promise.resolve();
      const mine = before.then(turn, turn);
      busy.set(thing, mine);
      try {
        return await mine;
      } finally {
        if (busy.get(thing) === mine) busy.delete(thing);
      }
    },
  };
}
