// Checks what a client sent against the route's schema, and says in words what does not fit.
import { Compile } from 'typebox/compile';
import { fail } from './problems/problem.ts';
import type { Static, TSchema } from './schema/schema.ts';

type Compiled = ReturnType<typeof Compile>;
/** Compiled when first used: most routes are not used by most processes, and each costs memory. */
const compiled = new WeakMap<TSchema, Compiled>();

/** No reader fixes more than these at once, and a hostile body could make thousands. */
const MAX_ERRORS = 20;

function validator(schema: TSchema): Compiled {
  let found = compiled.get(schema);
  if (found === undefined) {
    found = Compile(schema);
    compiled.set(schema, found);
  }
  return found;
}

export function fits(schema: TSchema, value: unknown): boolean {
  return validator(schema).Check(value);
}

export function complaints(schema: TSchema, value: unknown): { path: string; message: string; unknown: boolean }[] {
  const found: { path: string; message: string; unknown: boolean }[] = [];
  for (const error of validator(schema).Errors(value)) {
    if (error.keyword === 'boolean') continue;
    const params = error.params as Record<string, unknown>;
    if (error.keyword === 'additionalProperties') {
      for (const key of params.additionalProperties as string[]) {
        found.push({ path: `${error.instancePath}/${key}`, message: 'is not a known field', unknown: true });
      }
    } else if (error.keyword === 'required') {
      for (const key of params.requiredProperties as string[]) {
        found.push({ path: `${error.instancePath}/${key}`, message: 'is missing', unknown: false });
      }
    } else if (error.keyword === 'enum') {
      const allowed = (params.allowedValues as unknown[]).join(', ');
      found.push({ path: error.instancePath, message: `must be one of: ${allowed}`, unknown: false });
    } else if (error.keyword === 'pattern') {
      found.push({ path: error.instancePath, message: 'must be one line without control characters', unknown: false });
    } else {
      found.push({ path: error.instancePath, message: error.message, unknown: false });
    }
    if (found.length >= MAX_ERRORS) break;
  }
  return found;
}

/** The value, if it fits; else the problem that is the answer. */
export function mustFit<S extends TSchema>(schema: S, value: unknown, what: string): Static<S> {
  if (fits(schema, value)) return value as Static<S>;
  const found = complaints(schema, value);
  const words = found.map(({ path, message }) => `${path || what} ${message}`).join('; ');
  throw fail(
    found.length > 0 && found.every((one) => one.unknown) ? 'unknown_field' : 'invalid_request',
    `The ${what} was refused: ${words}.`,
    undefined,
    found.map(({ path, message }) => ({ path, message })),
  );
}

/** Everything in a URL is text: what the schema wants as a number or a list is read as one, if it is one. */
export function fromText<S extends TSchema>(schema: S, value: unknown, what: string): Static<S> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const read = Object.entries(value as Record<string, string | string[]>).map(([name, text]) => {
    const type = properties[name]?.type;
    if (type === 'array') return [name, Array.isArray(text) ? text : [text]];
    const isNumber =
      (type === 'integer' || type === 'number') && typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text);
    return [name, isNumber ? Number(text) : text];
  });
  return mustFit(schema, Object.fromEntries(read), what);
}
