// Whom the appliance asks for the time, and what they answer.
import { closed, component, Etag, Line, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { SOURCE_STATES } from '../../platform/time.ts';

const Server = {
  address: Line({ maxLength: 253, description: 'a host name or an address' }),
  pool: Type.Boolean({ description: 'the name stands for many servers, of which up to four are asked' }),
  nts: Type.Boolean({ description: 'only answers that are authenticated (Network Time Security) are taken' }),
};
const settings = {
  servers: Type.Array(closed(Server), { maxItems: 16, description: 'asked for the time' }),
  fromNetwork: Type.Boolean({ description: 'those that the network names (DHCP) are asked as well' }),
};
export const TimeSettings = closed(settings, { $id: 'TimeSettings' });
export type TimeSettings = Static<typeof TimeSettings>;

const Source = Type.Object({
  name: Type.String({ description: 'as it was named' }),
  address: nullable(Type.String({ description: 'null: the name has none yet' })),
  state: Type.Enum([...SOURCE_STATES]),
  sentence: Type.String({ description: 'what that means' }),
  stratum: nullable(Type.Integer({ description: 'how many steps from a reference clock' })),
  answers: Type.Integer({ description: 'of the last eight questions' }),
  ageSeconds: nullable(Type.Integer({ description: 'since its last answer' })),
  offsetSeconds: nullable(Type.Number({ description: 'how far the clock is ahead of it' })),
  jitterSeconds: nullable(Type.Number({ description: 'how far its answers lie apart' })),
  nts: Type.Boolean(),
  authenticated: Type.Boolean({ description: 'its answers are, by NTS' }),
});

export const TimeState = component('TimeState', {
  ...settings,
  etag: Etag,
  running: Type.Boolean({ description: 'chrony, which keeps the clock' }),
  synchronised: Type.Boolean(),
  sentence: Type.String({ description: 'how the clock is kept' }),
  stratum: nullable(Type.Integer()),
  offsetSeconds: nullable(Type.Number({ description: 'how far the clock and the time are apart' })),
  jitterSeconds: nullable(Type.Number({ description: 'how far the measurements lie apart' })),
  leapSecond: Type.Enum(['none', 'insert', 'delete', 'unknown'], { description: 'at the end of this month' }),
  asked: Type.Array(
    Type.Object({ ...Server, from: Type.Enum(['settings', 'network', 'default'], { description: 'who named it' }) }),
  ),
  sources: Type.Array(Source),
});
export type TimeState = Static<typeof TimeState>;
