// Lines of the services' logs, and requests of the web server's, as supportd reads them.
import { Bytes, Count, closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 }));
const Service = Type.Optional(Type.String({ maxLength: 32, pattern: '^[a-z0-9-]*$' }));
const Level = Type.Optional(
  Type.Enum(['error', 'warning', 'info', 'debug'], { description: 'this and worse; all when left out' }),
);
const Search = Type.Optional(Type.String({ maxLength: 256, description: 'contained in the line, whatever its case' }));

export const LiveLogQuery = closed({
  service: Service,
  level: Level,
  search: Search,
  after: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: 'where it is followed from: `newest` of a page; from now on without it',
    }),
  ),
});
export const LogQuery = closed({
  service: Service,
  level: Level,
  search: Search,
  limit: Limit,
  before: Type.Optional(
    Type.String({ maxLength: 512, description: 'as the last answer gave it: what came before that' }),
  ),
});
export type LogQuery = Static<typeof LogQuery>;
export const LogLine = component('LogLine', {
  time: Time,
  service: Type.String(),
  level: Type.Enum(['error', 'warning', 'info', 'debug']),
  text: Type.String(),
});
export type LogLine = Static<typeof LogLine>;
export const LogPage = component('LogPage', {
  items: Type.Array(LogLine, { description: 'the newest first' }),
  before: Type.String({ description: 'asks for the page before this one; empty: there is none' }),
  newest: Type.String({ description: 'follows the log behind this page (`after`); empty for a page of older lines' }),
});
export type LogPage = Static<typeof LogPage>;

const filter = {
  status: Type.Optional(Type.String({ maxLength: 3, description: '404, or a class as 5xx' })),
  slower: Type.Optional(Type.Number({ minimum: 0, description: 'seconds' })),
  uri: Type.Optional(Type.String({ maxLength: 256, description: 'a part of it, or a pattern with * and ?' })),
  header: Type.Optional(
    Type.String({ maxLength: 256, description: 'NAME: PATTERN, of User-Agent, Host, Referer or Content-Type' }),
  ),
  misses: Type.Optional(Type.Boolean({ description: 'only what a cache did not have' })),
};
export const LiveRequestQuery = closed({
  ...filter,
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'where they are followed from: `seen` of a page; from now on without it' }),
  ),
});
export const RequestQuery = closed({ ...filter, limit: Limit });
export const HttpRequest = component('HttpRequest', {
  time: Time,
  client: Type.String(),
  method: Type.String(),
  uri: Type.String(),
  status: Type.Integer(),
  seconds: Type.Number(),
  bytes: Bytes,
  upstream: Type.String({ description: 'seconds that the part behind the web server took; empty: none was asked' }),
  cache: Type.String({ description: 'HIT, MISS, …; empty: no cache was asked' }),
  host: Type.String(),
  userAgent: Type.String(),
  referer: Type.String(),
  contentType: Type.String(),
});
export const RequestPage = component('RequestPage', {
  items: Type.Array(HttpRequest, { description: 'the newest first' }),
  kept: Type.Integer({ minimum: 0, description: 'how many are looked through; the oldest make room' }),
  seen: Count,
  since: nullable(Time),
});
export type RequestPage = Static<typeof RequestPage>;
