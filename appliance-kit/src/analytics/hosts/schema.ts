// A host, what is asked of many, and what is done to many.
import { Severity } from '../../alerting/catalogue/severity.ts';
import {
  Count,
  closed,
  component,
  Etag,
  Labels,
  Line,
  nullable,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';
import { Chart } from '../worksheets/index.ts';
import { HOST_STATES } from './state.ts';

/** As long as a label's value can be. */
const Name = Type.String({ minLength: 1, maxLength: 2048 });
export const HostName = closed({ name: Name });
const LabelName = Line({ maxLength: 100 });
const LabelValue = Line({ maxLength: 200 });

const said = {
  note: Type.String({ maxLength: 2000, description: 'what people should know of it' }),
  ownLabels: Type.Record(LabelName, LabelValue, {
    maxProperties: 50,
    description: 'given here, beside those that it sends; of one name these count',
  }),
};
export const HostInput = component('HostInput', said);
export type HostInput = Static<typeof HostInput>;

export const Host = component('Host', {
  name: Name,
  etag: Etag,
  ...said,
  state: Type.Enum([...HOST_STATES], {
    description: 'absent: silent for more than three of its usual intervals, and 30 s at least',
  }),
  firstAt: Time,
  lastAt: Time,
  intervalSeconds: nullable(Type.Number({ description: 'how far apart it usually sends; null: it was heard once' })),
  by: Type.Array(Type.String(), { description: 'what names it: host, host.name, host_name, instance, sender' }),
  series: Count,
  inputs: Type.Array(Type.String()),
  labels: Labels,
  retired: nullable(closed({ at: Time, by: Type.String() })),
  silencedUntil: nullable(Time),
  alerts: Count,
  worst: nullable(Severity),
});
export type Host = Static<typeof Host>;

const filter = {
  search: Type.Optional(Type.String({ maxLength: 200, description: 'is in the name, the note or a label' })),
  state: Type.Optional(Type.Array(Type.Enum([...HOST_STATES]), { maxItems: 4, description: 'none: all' })),
  label: Type.Optional(
    Type.Array(Type.String({ maxLength: 300, pattern: '=' }), { maxItems: 20, description: 'NAME=VALUE; all of them' }),
  ),
};

export const HostQuery = closed({
  ...filter,
  since: Type.Optional(
    Type.String({ maxLength: 80, description: 'the version of an answer before: only what has changed since' }),
  ),
  sort: Type.Optional(Type.Enum(['name', 'state', 'lastAt', 'series', 'alerts'])),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  offset: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type HostQuery = Static<typeof HostQuery>;

export const HostList = component('HostList', {
  items: Type.Array(Host),
  total: Type.Integer({ minimum: 0, description: 'that match, without limit and offset' }),
  version: Type.String(),
  full: Type.Boolean({ description: 'these are all that match, not only those that have changed' }),
  gone: Type.Array(Type.String(), { description: 'names of those that are hosts no more' }),
  states: closed(
    { reporting: Count, late: Count, absent: Count, retired: Count },
    { description: 'how many of all hosts' },
  ),
  error: nullable(Type.String({ description: 'why the store does not answer; what is shown is older' })),
});
export type HostList = Static<typeof HostList>;

export const HostValueQuery = closed({
  metric: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: 'a metric’s name; none: how long work waits' }),
  ),
  as: Type.Optional(Type.Enum(['value', 'rate'], { description: 'rate: how quickly a counter grows in a second' })),
  of: Type.Optional(Type.Enum(['max', 'sum', 'avg', 'min'], { description: 'of a host’s series with the metric' })),
  group: Type.Optional(
    Type.Array(Type.String({ maxLength: 256 }), {
      maxItems: 2,
      description: 'labels: who shares their values are peers',
    }),
  ),
});
export type HostValueQuery = Static<typeof HostValueQuery>;

export const HostValues = component('HostValues', {
  items: Type.Array(
    closed({
      name: Name,
      value: Type.Number(),
      measure: Type.String({ description: 'what it is of, where that differs from host to host' }),
      unlike: nullable(
        closed({
          median: Type.Number(),
          deviation: Type.Number({ description: 'median absolute deviation' }),
          peers: Count,
          words: Type.String(),
        }),
      ),
    }),
  ),
});
export type HostValues = Static<typeof HostValues>;

export const HostCharts = closed({ items: Type.Array(Chart) });

const Names = Type.Array(Name, { minItems: 1, maxItems: 10_000, uniqueItems: true });
export const HostsChosen = component('HostsChosen', { hosts: Names });
export const HostsSilence = component('HostsSilence', {
  hosts: Names,
  reason: Line({ maxLength: 200 }),
  forSeconds: Type.Integer({ minimum: 60, maximum: 366 * 86_400 }),
});
export const HostsLabels = component('HostsLabels', {
  hosts: Names,
  set: Type.Record(LabelName, LabelValue, { maxProperties: 20 }),
  remove: Type.Array(LabelName, { maxItems: 20 }),
});
export const HostsRule = component('HostsRule', {
  hosts: Names,
  name: Line({ maxLength: 200 }),
  metric: Type.String({ minLength: 1, maxLength: 1024 }),
  as: Type.Enum(['value', 'rate']),
  direction: Type.Enum(['above', 'below']),
  limit: Type.Number(),
  severity: Severity,
});
export type HostsRule = Static<typeof HostsRule>;

export const HostsChange = component('HostsChange', {
  changed: Count,
  skipped: Type.Array(closed({ name: Name, why: Type.String() })),
  id: nullable(Type.String({ description: 'of the silence or the rule that was made' })),
});
export type HostsChange = Static<typeof HostsChange>;

const view = {
  name: Line({ maxLength: 120 }),
  shared: Type.Boolean({ description: 'everybody may open it; only its owner and administrators delete it' }),
  address: Type.String({
    maxLength: 4000,
    pattern: '^[^\\u0000-\\u0020#]*$',
    description: 'the query of the page’s address',
  }),
};
export const HostViewInput = component('HostViewInput', view);
export type HostViewInput = Static<typeof HostViewInput>;
export const HostView = component('HostView', {
  id: Type.String(),
  ...view,
  owner: Type.String(),
  mayChange: Type.Boolean(),
});
export type HostView = Static<typeof HostView>;
