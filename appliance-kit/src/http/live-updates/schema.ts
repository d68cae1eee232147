// What changed; the client then reads it anew.
import { component, type TSchema, Type } from '../../base/schema/schema.ts';

export interface Change {
  readonly topic: string;
  readonly id?: string;
}

/** @param topics those that the domains declare */
export const changeSchema = (topics: readonly string[]): TSchema =>
  component('Change', { topic: Type.Enum([...topics]), id: Type.Optional(Type.String()) });
