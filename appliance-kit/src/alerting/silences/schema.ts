// A silence: what it matches, and for how long.
import { component, Etag, Line, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Severity } from '../catalogue/severity.ts';

const silence = {
  name: Line({ maxLength: 200, description: 'what it is for' }),
  start: Type.Integer({ minimum: 0, maximum: 99_999_999_999, description: 'seconds since the epoch' }),
  end: Type.Integer({
    minimum: 0,
    maximum: 99_999_999_999,
    description: 'seconds since the epoch; there is always one',
  }),
  classes: Type.Array(Line({ maxLength: 100 }), {
    maxItems: 100,
    description: 'classes, or the beginning of some: pool.*; none: all',
  }),
  severities: Type.Array(Severity, { maxItems: 3, description: 'none: all' }),
  text: Line({
    minLength: 0,
    maxLength: 200,
    description: 'is in the key, the title or a label of the alert; empty: any',
  }),
  hosts: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
      maxItems: 10_000,
      description: 'the alert is about one of these hosts, by its labels; none, or left out: any',
    }),
  ),
};
export const SilenceInput = component('SilenceInput', silence);
export type SilenceInput = Static<typeof SilenceInput>;
export const Silence = component('Silence', {
  id: Type.String(),
  etag: Etag,
  ...silence,
  state: Type.Enum(['waiting', 'acting', 'ended']),
  by: Type.String(),
  createdAt: Time,
  active: Type.Integer({ minimum: 0, description: 'active alerts that it holds back now' }),
  suppressed: Type.Integer({ minimum: 0, description: 'messages that it has suppressed so far' }),
});
export type Silence = Static<typeof Silence>;
