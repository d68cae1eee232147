// One change, and who made it; which of them are asked for; how long they are kept.
import { closed, component, Etag, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { WAYS } from '../../http/gate/caller.ts';

const Way = Type.Enum([...WAYS], {
  description:
    'page: a browser; token: a program with an API token; cli: the command `cistern`; console: on the appliance itself; ' +
    'support: the page of supportd; ssh: a user who came in by ssh; appliance: nobody, the appliance did it by itself',
});

export const AuditEntry = component('AuditEntry', {
  id: Type.Integer(),
  time: Time,
  user: Type.String({ description: "a user's name, `token:NAME`, `setup` or `appliance`; `-`: nobody who is known" }),
  address: Type.String({ description: 'where the request came from' }),
  way: nullable(Way),
  action: Type.String({ description: 'what was done, as domain.verb' }),
  target: Type.String({ description: 'what it was done to' }),
  before: nullable(Type.Unknown({ description: 'secrets are masked' })),
  after: nullable(Type.Unknown({ description: 'secrets are masked' })),
  hash: Type.String({ description: 'SHA-256 over the entry and the hash of the one before it, in hexadecimal' }),
});
export type AuditEntry = Static<typeof AuditEntry>;

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description }));
const filter = {
  user: text("a user's name, or `token:NAME`"),
  action: text('as user.create; with a dot at its end all of a domain, as user.'),
  target: text('what it was done to'),
  address: text('where the request came from'),
  way: Type.Optional(Way),
  from: Type.Optional(Type.Number({ description: 'seconds since the epoch' })),
  to: Type.Optional(Type.Number({ description: 'seconds since the epoch, not included' })),
  search: text('occurs in the user, the action, the target, or a value before or after; case does not matter'),
};
export const AuditFilter = closed(filter);
export type AuditFilter = Static<typeof AuditFilter>;
export const AuditQuery = closed({
  ...filter,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 when left out' })),
  before: Type.Optional(Type.Integer({ minimum: 1, description: 'the id of the last entry of the page before' })),
});
export const AuditExportQuery = closed({
  ...filter,
  format: Type.Enum(['jsonl', 'csv'], { description: 'jsonl: each line is an AuditEntry' }),
});

const kept = {
  days: Type.Integer({ minimum: 30, maximum: 36_500, description: 'entries that are older are dropped' }),
  entries: Type.Integer({ minimum: 10_000, maximum: 1_000_000, description: 'so many of the newest are kept' }),
};
export const AuditRetentionInput = component('AuditRetentionInput', kept);
export type AuditRetentionInput = Static<typeof AuditRetentionInput>;
export const AuditRetention = component('AuditRetention', { ...kept, etag: Etag });
