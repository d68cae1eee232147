// The few schema shapes that every domain shares, so that a time, a list or a nullable looks the same everywhere.
//
// Objects are closed: an unknown field is refused in a request, and noticed by the tests in a reply. A schema that
// carries `$id` becomes a named component of the OpenAPI document, wherever it is used.
import { Type } from 'typebox';

export type { Static, TSchema } from 'typebox';
export { Type };

export function closed<P extends Type.TProperties>(properties: P, options: Type.TObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** A closed object that is a named component. */
export function component<P extends Type.TProperties>(id: string, properties: P, description?: string) {
  return closed(properties, description === undefined ? { $id: id } : { $id: id, description });
}

export function nullable<T extends Type.TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export function list<T extends Type.TSchema>(item: T) {
  return closed({ items: Type.Array(item) });
}

/** ISO 8601, UTC, as Date.prototype.toISOString writes it. */
export const Time = Type.String({ description: 'ISO 8601 time in UTC' });
export const Bytes = Type.Integer({ minimum: 0, description: 'bytes' });
/** Added by http/ to what can be edited; a handler does not give it. */
export const Etag = Type.Optional(
  Type.String({ description: 'its version, for the If-Match of a change or a removal; always there in an answer' }),
);
export const Ratio = Type.Number({ minimum: 0, description: 'ratio, 0..1' });
export const Labels = Type.Record(Type.String(), Type.String());
export const Count = Type.Integer({ minimum: 0 });
/** Half a percent is not worth a frame of the browser's time, but the bar may be drawn as exactly as it is known. */
export const Percent = Type.Number({ minimum: 0, maximum: 100, description: 'percent, 0..100' });
/** One line of text a person typed: a name. Control characters would let it forge a header or a log line. */
export const Line = (options: { maxLength: number; minLength?: number; description?: string }) =>
  Type.String({ minLength: 1, pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...options });
