// What is asked of the store about durations: how many, how many failed, and how long; for one source of them.
import { APPLICATION_LABEL, type Matcher, type Source, type Unit } from './conventions.ts';
import { matching, type Named } from './names.ts';
import type { ApplicationRule } from './schema.ts';

const quoted = (text: string) => JSON.stringify(text);

export interface Durations {
  readonly unit: Unit;
  /** A selector of histograms; of classic ones of nothing. */
  readonly histograms: string | null;
  /** Operations a second. */
  count(window: string, by?: readonly string[]): string;
  /** Failures a second, in parts that are added up; null: nothing says it. */
  errors(window: string, by?: readonly string[]): readonly string[] | null;
  /** In `unit`. */
  quantile(q: number, window: string, by?: readonly string[]): string;
  /** Any series of it. */
  readonly selector: string;
}

const grouped = (by: readonly string[]) => (by.length === 0 ? '' : ` by (${by.map(quoted).join(', ')})`);

/** @param where of these series only */
export function durationsOf({ convention, name, classic, label }: Source, where: readonly Matcher[] = []): Durations {
  const select = (metric: string, more: readonly Matcher[] = []) => {
    const matchers = [...where, ...more].map((one) => `${quoted(label(one.label))}${one.how}${quoted(one.value)}`);
    return `{${[`__name__=${quoted(metric)}`, ...matchers].join(', ')}}`;
  };
  const count = (window: string, by: readonly string[], more?: readonly Matcher[]) =>
    classic
      ? `sum${grouped(by)} (rate(${select(`${name}_count`, more)}[${window}]))`
      : `histogram_count(sum${grouped(by)} (rate(${select(name, more)}[${window}])))`;
  return {
    unit: convention.unit,
    histograms: classic ? null : select(name),
    selector: select(classic ? `${name}_count` : name),
    count: (window, by = []) => count(window, by),
    errors: (window, by = []) => convention.errors.map((one) => count(window, by, one)),
    quantile: (q, window, by = []) =>
      classic
        ? `histogram_quantile(${q}, sum${grouped([...by, 'le'])} (rate(${select(`${name}_bucket`)}[${window}])))`
        : `histogram_quantile(${q}, sum${grouped(by)} (rate(${select(name)}[${window}])))`,
  };
}

/** Of an application of a convention. */
export const ofApplication = (source: Source, name: string, more: readonly Matcher[] = []) =>
  durationsOf(source, [{ label: APPLICATION_LABEL, how: '=', value: name }, ...more]);

/** Of the names that a rule gives to an application, or to one of its operations. Timers of statsd are kept in seconds. */
export function ofNames(rule: ApplicationRule, named: Partial<Named>): Durations {
  const select = (pattern: string) => `{__name__=~${quoted(matching(pattern, named))}}`;
  const histograms = select(rule.durations);
  return {
    ...{ unit: 'seconds', histograms, selector: histograms },
    count: (window) => `histogram_count(sum (rate(${histograms}[${window}])))`,
    errors: (window) => (rule.failures === '' ? null : [`sum (rate(${select(rule.failures)}[${window}]))`]),
    quantile: (q, window) => `histogram_quantile(${q}, sum (rate(${histograms}[${window}])))`,
  };
}

/** The log of nginx on this appliance, as statistics are stored of it (docs/api/tracerd.md, "Names and values"). */
export const WEB_SERVER = 'nginx on this appliance';
const logged = (by: string, more = '') =>
  `{__name__="cistern_http_requests", dataset=${quoted(`http.requests[${by}]`)}${more}}`;
/** Any series of requests by their status: it says what failed, when that is measured. */
export const LOGGED_STATUS = logged('status');

/** @param failures requests are measured by their status */
export function ofWebServer(failures: boolean): Durations {
  const histograms = logged('latency');
  // What is stored of a second is what happened in it.
  const failed = (window: string) =>
    `sum (sum_over_time(${logged('status', ', status=~"5.."')}[${window}])) / ${windowSeconds(window)}`;
  return {
    ...{ unit: 'seconds', histograms, selector: histograms },
    count: (window) => `histogram_count(sum (rate(${histograms}[${window}])))`,
    errors: (window) => (failures ? [failed(window)] : null),
    quantile: (q, window) => `histogram_quantile(${q}, sum (rate(${histograms}[${window}])))`,
  };
}

const windowSeconds = (window: string) => Number.parseInt(window, 10) * (window.endsWith('m') ? 60 : 1);

/** Each point of a chart is of a minute: nothing that comes every ten or fifteen seconds is missed. */
const WINDOW = '1m';

/** What is drawn of it. */
export function chartsOf(durations: Durations) {
  const errors = durations.errors(WINDOW);
  return {
    rateQuery: durations.count(WINDOW),
    // What has no failures yet has no series of them: that is none, not unknown.
    errorsQuery: errors === null ? null : errors.map((one) => `(${one} or vector(0))`).join(' + '),
    durationsQuery: durations.histograms ?? durations.quantile(0.99, WINDOW),
    histograms: durations.histograms !== null,
  };
}
