// Applications: what they do a second, how much of it fails, and how long it takes.
import { Count, closed, component, Etag, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { KINDS } from './conventions.ts';

const Pattern = (description: string, minLength: number) =>
  Type.String({ minLength, maxLength: 200, pattern: '^[^\\s]*$', description });

export const ApplicationRule = closed({
  durations: Pattern(
    'names of histograms of durations, as {application}.{operation}.time; * is any part between two dots, {operation} may be several parts',
    1,
  ),
  failures: Pattern('names of counters of what failed, as {application}.{operation}.errors; empty: nothing says it', 0),
});
export type ApplicationRule = Static<typeof ApplicationRule>;

const rules = { rules: Type.Array(ApplicationRule, { maxItems: 20 }) };
export const ApplicationRulesInput = closed(rules, { $id: 'ApplicationRulesInput' });
export type ApplicationRulesInput = Static<typeof ApplicationRulesInput>;
export const ApplicationRules = component('ApplicationRules', { ...rules, etag: Etag });
export type ApplicationRules = Static<typeof ApplicationRules>;

/** How something did in a time. */
const figures = {
  rate: Type.Number({ minimum: 0, description: 'operations a second' }),
  errors: nullable(
    Type.Number({ minimum: 0, description: 'of these, how many a second failed; null: nothing says it' }),
  ),
  median: nullable(Type.Number({ description: 'seconds; null: there was none' })),
  p99: nullable(Type.Number({ description: 'seconds; 99 of 100 took no longer' })),
};

/** PromQL for charts. */
const charts = {
  rateQuery: Type.String(),
  errorsQuery: nullable(Type.String()),
  durationsQuery: Type.String({ description: 'a selector of histograms, or of classic ones their quantiles' }),
  histograms: Type.Boolean({ description: 'durationsQuery is a selector: it can be drawn as a heatmap' }),
};

export const ApplicationOperation = component('ApplicationOperation', {
  name: Type.String({ description: 'as GET /cart/{id}' }),
  ...figures,
  ...charts,
});
export type ApplicationOperation = Static<typeof ApplicationOperation>;

const part = {
  kind: Type.Enum([...KINDS]),
  source: Type.String({ description: 'the metric, or the rule’s pattern of names' }),
  unit: Type.Enum(['seconds', 'milliseconds'], {
    description: 'what the metric is measured in',
  }),
  ...figures,
};
const ApplicationFigures = component('ApplicationFigures', part);
export type ApplicationFigures = Static<typeof ApplicationFigures>;

export const Application = component('Application', {
  name: Type.String({
    description:
      'OpenTelemetry’s service.name, with the namespace before it (the label job), or what a rule takes from a name',
  }),
  parts: Type.Array(ApplicationFigures),
});
export type Application = Static<typeof Application>;

export const ApplicationList = component('ApplicationList', {
  items: Type.Array(Application, { description: 'the one with the most operations first' }),
  leftOut: Type.Integer({ minimum: 0, description: 'applications of rules that are not listed: 100 of a rule are' }),
});
export type ApplicationList = Static<typeof ApplicationList>;

export const ApplicationPart = component('ApplicationPart', {
  ...part,
  ...charts,
  operations: Type.Array(ApplicationOperation, { description: 'the most frequent first, 100 at most' }),
  operationsTotal: Count,
});
export type ApplicationPart = Static<typeof ApplicationPart>;

export const ApplicationDetail = component('ApplicationDetail', {
  name: Type.String(),
  parts: Type.Array(ApplicationPart),
  hosts: Type.Array(Type.String(), { description: 'from which hosts its metrics come, 100 at most' }),
});
export type ApplicationDetail = Static<typeof ApplicationDetail>;

export const ApplicationName = closed({ name: Type.String({ minLength: 1, maxLength: 1024 }) });

const seconds = {
  seconds: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 86_400, default: 300, description: 'over how long until now it is measured' }),
  ),
};
export const ApplicationQuery = closed(seconds);
export const ApplicationsQuery = closed({
  ...seconds,
  host: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'those of which something comes from this host; the figures are of all hosts',
    }),
  ),
});
