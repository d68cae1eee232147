// What akd asks of the telemetry store: the present value of an expression, and how the store itself is.
import type { Readable } from 'node:stream';
import type { Measure } from '../base/quantity.ts';
import type { Peer } from './peer.ts';

/** A rule that takes longer than this to evaluate would delay all others. */
const QUERY_DEADLINE_MS = 10_000;
/** A user waits for it in a form. */
const RANGE_DEADLINE_MS = 20_000;
const MAX_RANGE_BYTES = 24 * 1024 * 1024;
/** Rules with 10,000 series each, heard of for the first time. */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;
const STATUS_DEADLINE_MS = 1_000;

/** A value of now, for a series of the appliance's own. */
export interface Measurement {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Sample {
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** A machine that metrics come from; times are seconds since the epoch. */
export interface StoredHost {
  readonly name: string;
  readonly by: readonly string[];
  readonly firstTime: number;
  readonly lastTime: number;
  /** By the store's clock. */
  readonly heardTime: number;
  /** 0: not known yet. */
  readonly intervalSeconds: number;
  readonly series: number;
  readonly inputs: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface StoredHosts {
  readonly version: string;
  readonly full: boolean;
  readonly now: number;
  readonly hosts: readonly StoredHost[];
  readonly gone: readonly string[];
}

/** PromQL's own words about an expression it cannot evaluate. */
/** An expression that cannot be evaluated; `at` is where in it, when PromQL's parser says so. */
export class ExpressionError extends Error {
  readonly at: { line: number; column: number } | null;

  constructor(words: string) {
    // As `query: 1:14: parse error: …`; Prometheus itself writes `invalid parameter "query": 1:14: …`.
    const [, line, column] = /(?:^|\s)(\d+):(\d+): /.exec(words) ?? [];
    super(words.replace(/^(?:invalid parameter "query"|query): /, ''));
    this.at = line === undefined ? null : { line: Number(line), column: Number(column) };
  }
}

export interface Question {
  readonly expression: string;
  /** The `set` of an earlier result: its labels are not sent again. */
  readonly known: string | null;
}

/** The value of each series, NaN and infinities included. */
export interface Result {
  readonly set: string;
  /** Null when they are those of the set that was known. */
  readonly labels: readonly Record<string, string>[] | null;
  /** What the values are measured in; null as the labels are. */
  readonly measure: Measure | null;
  readonly values: readonly number[];
}

/** Of the newest number of each series that a plain selector matches. */
export interface Limit {
  readonly query: string;
  readonly above?: number;
  readonly below?: number;
}

type BatchResult =
  | { later: true }
  | { error: string }
  | {
      set: string;
      labels?: Record<string, string>[];
      unit?: string;
      perSecond?: boolean;
      values: (number | null)[];
      nan?: number[];
      inf?: number[];
      ninf?: number[];
    };

export interface Metric {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'native_histogram';
  readonly series: number;
}

/** By how much one series has changed. */
export interface SeriesChange {
  readonly labels: Readonly<Record<string, string>>;
  /** What before and after are: of a counter its rate a second, of a histogram its median. */
  readonly measure: 'value' | 'rate' | 'median';
  readonly before: number;
  readonly after: number;
  /** How many times its usual deviation it has moved. */
  readonly score: number;
}
interface SomeSeries {
  readonly count: number;
  /** The first of them. */
  readonly series: readonly Readonly<Record<string, string>>[];
}
interface Compared {
  readonly compared: number;
  readonly began: SomeSeries;
  readonly ended: SomeSeries;
}
export interface SeriesChanges extends Compared {
  /** Seconds since the epoch. */
  readonly baselineStart: number;
  readonly series: readonly SeriesChange[];
}
interface ChangedAnswer extends Compared {
  readonly baseline: { readonly start: number };
  readonly series: readonly (Omit<SeriesChange, 'labels'> & { readonly metric: Record<string, string> })[];
}

/** What was counted in one window of time, which begins at `time`: seconds since the epoch. */
export interface CountedWindow {
  readonly time: number;
  readonly count: number;
  /** Above the limit. */
  readonly over: number;
  /** In the bin that the limit divides: `over` is off by less than this. */
  readonly within: number;
}
export interface Counted {
  /** Those in which something was measured. */
  readonly windows: CountedWindow[];
  readonly approximate: boolean;
  readonly warnings: string[];
}

export interface RangeSeries {
  readonly labels: Record<string, string>;
  /** Seconds since the epoch, and the value; a moment without a value is left out. */
  readonly values: readonly (readonly [number, number])[];
}

/** A block of which not everything can be read. */
/** What storaged calls its journal among its blocks. */
export const JOURNAL = 'journal';

export interface Damage {
  /** Or the journal. */
  readonly block: string;
  /** Nothing of it is served. */
  readonly setAside: boolean;
  /** Seconds since the epoch; both 0 when that is unreadable too. */
  readonly minTime: number;
  readonly maxTime: number;
  readonly detail: string;
}

export interface Drops {
  readonly kernelDrops: number;
  readonly kernelDropsKnown: boolean;
}

export interface Refusing {
  /** ISO 8601. */
  readonly since: string;
  readonly reason: string;
  readonly detail: string;
  /** How often a sample was refused since then. */
  readonly samples: number;
}

export interface StorageStatus {
  /** What the kernel dropped of the datagrams of each; absent when it is off. */
  readonly statsd?: Drops;
  readonly graphite?: Drops;
  readonly collectd?: Drops;
  /** There: it refused samples within the last minute for reasons of its own. */
  readonly refusing?: Refusing;
  readonly damaged: readonly Damage[];
  /** How old the oldest sample is that is in no block yet, and after how long it should be. */
  readonly journal?: { readonly lagSeconds: number; readonly blockSeconds: number };
  readonly series: number;
  readonly samplesPerSecond: number;
  readonly rejected: Record<string, number>;
  /** Samples, by input. */
  readonly accepted: Record<string, number>;
  /** ISO 8601. */
  readonly startedAt?: string;
  /** What was read back from the journal at the start, and what of it could not be read. */
  readonly replayed?: {
    readonly samples: number;
    readonly seconds: number;
    readonly damagedBytes: number;
    readonly damagedEntries: number;
  };
}

export interface LabelSize {
  readonly value: string;
  readonly series: number;
  /** Those in blocks. */
  readonly samples: number;
  readonly diskBytes: number;
  readonly memoryBytes: number;
}

/** As Prometheus' API writes numbers: "NaN", "+Inf" and "-Inf" included. */
function number(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}

type Pair = [number, string];
interface MatrixSeries {
  readonly metric: Record<string, string>;
  readonly values?: Pair[];
}
type QueryAnswer =
  | { status: 'success'; data: { resultType: 'vector'; result: { metric: Record<string, string>; value?: Pair }[] } }
  | { status: 'success'; data: { resultType: 'scalar'; result: Pair } }
  | { status: 'success'; data: { resultType: 'matrix'; result: MatrixSeries[] } }
  | { status: 'success'; data: { resultType: 'string' } }
  | { status: 'error'; errorType: string; error: string };

export class Storaged {
  readonly #peer: Peer;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /** Throws ExpressionError when the expression is at fault, a ProblemError when the store is. */
  async query(expression: string): Promise<Sample[]> {
    const { status, body } = await this.#peer.ask({
      method: 'POST',
      path: '/api/v1/query',
      form: { query: expression, timeout: `${QUERY_DEADLINE_MS / 1000}s` },
      deadlineMs: QUERY_DEADLINE_MS + 500,
      kept: true,
    });
    const answer = body as QueryAnswer | undefined;
    if (answer?.status === 'error') throw new ExpressionError(answer.error);
    if (answer?.status !== 'success') throw this.#peer.unavailable(new Error(`status ${status}`));
    const { data } = answer;
    if (data.resultType === 'scalar') return [{ labels: {}, value: number(data.result[1]) }];
    if (data.resultType !== 'vector') {
      throw new ExpressionError(
        `the expression gives a ${data.resultType}; a threshold needs one value for each series`,
      );
    }
    // A histogram has no single value to compare: PromQL's functions make one of it.
    return data.result.flatMap(({ metric, value }) => (value ? [{ labels: metric, value: number(value[1]) }] : []));
  }

  /**
   * Many expressions at one moment, in order; see POST /api/v1/query_batch in docs/api/store.md. Null is one that was not
   * begun in time: ask again. Throws a ProblemError when the store is at fault.
   */
  async queryBatch(questions: readonly Question[]): Promise<(Result | ExpressionError | null)[]> {
    const queries = questions.map(({ expression, known }) => ({ query: expression, ...(known !== null && { known }) }));
    const { results } = (await this.#peer.call({
      ...{ method: 'POST', path: '/api/v1/query_batch', json: { queries }, kept: true },
      // The last of them may begin after a second.
      deadlineMs: QUERY_DEADLINE_MS + 2_000,
      maxBytes: MAX_BATCH_BYTES,
    })) as { results: BatchResult[] };
    return questions.map((_, at) => {
      const one = results[at];
      if (one === undefined || 'later' in one) return null;
      if ('error' in one) return new ExpressionError(one.error);
      const values = one.values as number[];
      for (const place of one.nan ?? []) values[place] = Number.NaN;
      for (const place of one.inf ?? []) values[place] = Number.POSITIVE_INFINITY;
      for (const place of one.ninf ?? []) values[place] = Number.NEGATIVE_INFINITY;
      const measure = one.labels ? { unit: one.unit ?? '', perSecond: one.perSecond === true } : null;
      return { set: one.set, labels: one.labels ?? null, measure, values };
    });
  }

  /**
   * A JSON object a line, with the places of the limits that a sample has gone beyond; see POST /admin/watch in
   * docs/api/store.md. Whoever takes it destroys it.
   */
  async watch(limits: readonly Limit[]): Promise<Readable> {
    const request = { path: '/admin/watch', json: { limits }, deadlineMs: QUERY_DEADLINE_MS };
    return (await this.#peer.open(request)).content;
  }

  /** As `query`, over a time: seconds since the epoch. `lookback`: how old a value may be, where not five minutes. */
  async queryRange(
    expression: string,
    start: number,
    end: number,
    step: number,
    lookback?: number,
  ): Promise<RangeSeries[]> {
    const found = await this.#matrix(expression, start, end, step, lookback);
    return found.map(({ metric, values = [] }) => ({
      labels: metric,
      values: values.map(([time, text]) => [time, number(text)] as const),
    }));
  }

  /** The series that changed most between a time and the four times as long before it; see docs/api/store.md. */
  async changed(selector: string, start: number, end: number, limit: number): Promise<SeriesChanges> {
    const { status, body } = await this.#peer.ask({
      method: 'POST',
      path: '/api/v1/changed',
      form: {
        ...{ query: selector, start: String(start), end: String(end), limit: String(limit) },
        timeout: `${RANGE_DEADLINE_MS / 1000}s`,
      },
      deadlineMs: RANGE_DEADLINE_MS + 500,
      maxBytes: MAX_RANGE_BYTES,
    });
    if (status !== 200) {
      const { detail } = (body ?? {}) as { detail?: string };
      if (detail !== undefined && status !== 503) throw new ExpressionError(detail);
      throw this.#peer.unavailable(new Error(`status ${status}`));
    }
    const { series, baseline, ...answer } = body as ChangedAnswer;
    return {
      ...answer,
      baselineStart: baseline.start,
      series: series.map(({ metric, ...one }) => ({ labels: metric, ...one })),
    };
  }

  /** How many measurements were above a limit; see GET /api/v1/histogram/over in docs/api/store.md. Throws a ProblemError. */
  async over(selector: string, limit: number, start: number, end: number, step: number): Promise<Counted> {
    const { columns, approximate, warnings } = (await this.#peer.call({
      method: 'POST',
      path: '/api/v1/histogram/over',
      form: {
        ...{ query: selector, limit: String(limit), start: String(start), end: String(end), step: String(step) },
        timeout: `${QUERY_DEADLINE_MS / 1000}s`,
      },
      deadlineMs: QUERY_DEADLINE_MS + 500,
    })) as { columns: CountedWindow[]; approximate?: true; warnings?: string[] };
    return { windows: columns, approximate: approximate === true, warnings: warnings ?? [] };
  }

  async #matrix(expression: string, start: number, end: number, step: number, lookback?: number) {
    const { status, body } = await this.#peer.ask({
      method: 'POST',
      path: '/api/v1/query_range',
      form: {
        ...{ query: expression, start: String(start), end: String(end), step: String(step) },
        timeout: `${RANGE_DEADLINE_MS / 1000}s`,
        ...(lookback !== undefined && { lookback_delta: `${lookback}s` }),
      },
      deadlineMs: RANGE_DEADLINE_MS + 500,
      maxBytes: MAX_RANGE_BYTES,
    });
    const answer = body as QueryAnswer | undefined;
    if (answer?.status === 'error') throw new ExpressionError(answer.error);
    if (answer?.status !== 'success') throw this.#peer.unavailable(new Error(`status ${status}`));
    if (answer.data.resultType !== 'matrix') throw new ExpressionError('the expression gives no values over a time');
    return answer.data.result;
  }

  /** The names of what is stored; see GET /api/v1/metrics in docs/api/store.md. */
  async metrics(limit: number): Promise<Metric[]> {
    const request = { method: 'GET', path: `/api/v1/metrics?limit=${limit}`, deadlineMs: QUERY_DEADLINE_MS } as const;
    return ((await this.#peer.call(request)) as { metrics: Metric[] | null }).metrics ?? [];
  }

  /** @param deadlineMs a page waits no longer than a second, unless said otherwise */
  async status(deadlineMs = STATUS_DEADLINE_MS): Promise<StorageStatus> {
    const request = { method: 'GET', path: '/api/v1/status/storage', deadlineMs } as const;
    return (await this.#peer.call(request)) as StorageStatus;
  }

  /** Throws the ProblemError that says what is wrong with a selector; see POST /admin/selector/check in docs/api/store.md. */
  async checkSelector(selector: string): Promise<void> {
    const request = { method: 'POST', path: '/admin/selector/check', json: { selector } } as const;
    await this.#peer.call({ ...request, deadlineMs: STATUS_DEADLINE_MS * 5 });
  }

  /** What the series of each value of a label take; see GET /api/v1/sizes in docs/api/store.md. */
  async sizes(label: string): Promise<LabelSize[]> {
    const path = `/api/v1/sizes?label=${encodeURIComponent(label)}`;
    const request = { method: 'GET', path, deadlineMs: STATUS_DEADLINE_MS } as const;
    return ((await this.#peer.call(request)) as { sizes: LabelSize[] }).sizes;
  }

  /** The hosts, or those that have changed since a version; see GET /api/v1/hosts in docs/api/store.md. */
  async hosts(since = ''): Promise<StoredHosts> {
    const path = since === '' ? '/api/v1/hosts' : `/api/v1/hosts?since=${encodeURIComponent(since)}`;
    const request = { method: 'GET', path, deadlineMs: QUERY_DEADLINE_MS, maxBytes: MAX_RANGE_BYTES } as const;
    return (await this.#peer.call(request)) as StoredHosts;
  }

  /** The names of the metrics that any of the selectors matches, in order. */
  async metricNames(selectors: readonly string[]): Promise<string[]> {
    const query = selectors.map((one) => `match[]=${encodeURIComponent(one)}`).join('&');
    const path = `/api/v1/label/__name__/values?${query}`;
    const request = { method: 'GET', path, deadlineMs: QUERY_DEADLINE_MS } as const;
    return ((await this.#peer.call(request)) as { data: string[] }).data;
  }

  /** Stores values of now; see POST /api/v1/import in docs/api/inputs.md. */
  async store(samples: readonly Measurement[]): Promise<void> {
    await this.#peer.call({
      ...{ method: 'POST', path: '/api/v1/import', json: { samples }, deadlineMs: QUERY_DEADLINE_MS },
    });
  }
}
