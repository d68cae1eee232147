// The applications: whatever names one in what is stored, asked of the store when somebody looks.
import type { Audit } from '../../access/audit/index.ts';
import { BY_HOST, hostOf } from '../../base/hosts.ts';
import { fail } from '../../base/problems/problem.ts';
import { plural } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ExpressionError, type Metric, type Storaged } from '../../peers/storaged.ts';
import { type Settings, setting } from '../../state/settings.ts';
import { APPLICATION_LABEL, type Kind, type Source, sourcesOf, type Unit } from './conventions.ts';
import {
  chartsOf,
  type Durations,
  durationsOf,
  LOGGED_STATUS,
  ofApplication,
  ofNames,
  ofWebServer,
  WEB_SERVER,
} from './expressions.ts';
import { checkRules, type Named, namer } from './names.ts';
import type {
  Application,
  ApplicationDetail,
  ApplicationFigures,
  ApplicationList,
  ApplicationOperation,
  ApplicationPart,
  ApplicationRule,
  ApplicationRulesInput,
} from './schema.ts';

const MOST_METRICS = 20_000;
const MOST_OPERATIONS = 100;
const MOST_HOSTS = 100;
/** Each is four questions. */
const MOST_NAMED = 100;
/** The statistic that nginx' log is. */
const LOG = 'http.requests';
const MEDIAN = 0.5;
const HIGH = 0.99;

const rulesSetting = setting<ApplicationRulesInput>('applications.rules');

export interface ApplicationParts {
  readonly settings: Settings;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly storaged: Pick<Storaged, 'metrics' | 'queryBatch'>;
}

interface Value {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Figures = Pick<ApplicationFigures, 'rate' | 'errors' | 'median' | 'p99'>;

const inSeconds = (value: number | undefined, unit: Unit) =>
  value === undefined || !Number.isFinite(value) ? null : unit === 'milliseconds' ? value / 1000 : value;

/** As the operation is called: "GET /cart/{id}"; what has no labels that say it is all that is left. */
const operationName = (labels: Value['labels'], source: Source) =>
  source.convention.operation
    .map((label) => labels[source.label(label)] ?? '')
    .filter((word) => word !== '')
    .join(' ') || 'not named';

export class Applications {
  readonly #parts: ApplicationParts;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
  }

  rules(): ApplicationRulesInput {
    return this.#parts.settings.get(rulesSetting) ?? { rules: [] };
  }

  setRules(caller: Caller, { rules }: ApplicationRulesInput): ApplicationRulesInput {
    checkRules(rules);
    const { settings, audit, changes } = this.#parts;
    audit.record(caller, 'application-naming.set', plural(rules.length, 'rule'), this.rules(), { rules });
    settings.set(rulesSetting, { rules });
    changes.publish('applications');
    return this.rules();
  }

  /** @param host those of which something comes from it */
  async list(seconds: number, host?: string): Promise<ApplicationList> {
    const metrics = await this.#parts.storaged.metrics(MOST_METRICS);
    const found = new Map<string, ApplicationFigures[]>();
    const add = (name: string, part: ApplicationFigures) => found.set(name, [...(found.get(name) ?? []), part]);
    for (const source of sourcesOf(metrics)) {
      const { kind, unit } = source.convention;
      const durations = durationsOf(source);
      const there = host === undefined ? null : await this.#applicationsOn(host, durations.selector);
      if (there?.size === 0) continue;
      const figures = await this.#figuresBy(durations, [APPLICATION_LABEL], seconds);
      for (const { labels, ...one } of figures) {
        const name = labels[APPLICATION_LABEL];
        if (name && there?.has(name) !== false) add(name, { kind, source: source.name, unit, ...one });
      }
    }
    let leftOut = 0;
    for (const rule of this.rules().rules) {
      const all = [...this.#named(metrics, rule).keys()].sort();
      const known = all.slice(0, MOST_NAMED);
      leftOut += all.length - known.length;
      const names = host === undefined ? known : await this.#namesOn(host, rule, known);
      const figures = await this.#figuresOf(
        names.map((application) => ofNames(rule, { application })),
        seconds,
      );
      names.forEach((name, at) => {
        const one = figures[at];
        if (one) add(name, { kind: 'names', source: rule.durations, unit: 'seconds', ...one });
      });
    }
    const log = host === undefined ? await this.#log() : null;
    const [logged] = log === null ? [] : await this.#figuresOf([log], seconds);
    if (logged) add(WEB_SERVER, { kind: 'log', source: LOG, unit: 'seconds', ...logged });
    const rate = ({ parts }: Application) => Math.max(...parts.map((part) => part.rate));
    const items = [...found].map(([name, parts]) => ({ name, parts })).sort((a, b) => rate(b) - rate(a));
    return { items, leftOut };
  }

  async get(name: string, seconds: number): Promise<ApplicationDetail> {
    const metrics = await this.#parts.storaged.metrics(MOST_METRICS);
    const parts: ApplicationPart[] = [];
    const selectors: string[] = [];
    const add = async (
      { kind, source, unit, durations }: { kind: Kind; source: string; unit: Unit; durations: Durations },
      operations: () => Promise<{ all: ApplicationOperation[]; total: number }>,
    ) => {
      const [figures] = await this.#figuresOf([durations], seconds);
      if (figures === null || figures === undefined) return;
      const { all, total } = await operations();
      selectors.push(durations.selector);
      parts.push({ kind, source, unit, ...figures, ...chartsOf(durations), operations: all, operationsTotal: total });
    };
    for (const source of sourcesOf(metrics)) {
      const { kind, unit } = source.convention;
      const durations = ofApplication(source, name);
      await add({ kind, source: source.name, unit, durations }, () => this.#operations(source, name, seconds));
    }
    for (const rule of this.rules().rules) {
      const operations = this.#named(metrics, rule).get(name);
      if (operations === undefined) continue;
      const durations = ofNames(rule, { application: name });
      await add({ kind: 'names', source: rule.durations, unit: 'seconds', durations }, () =>
        this.#namedOperations(rule, name, operations, seconds),
      );
    }
    const log = name === WEB_SERVER ? await this.#log() : null;
    if (log !== null)
      await add({ kind: 'log', source: LOG, unit: 'seconds', durations: log }, async () => ({ all: [], total: 0 }));
    if (parts.length === 0)
      throw fail(
        'not_found',
        `Nothing came from an application ${name} in the last ${plural(Math.round(seconds / 60), 'minute')}.`,
      );
    return { name, parts, hosts: await this.#hosts(selectors) };
  }

  /** What nginx' log says. */
  async #log(): Promise<Durations> {
    const [status = []] = await this.#ask([`count(${LOGGED_STATUS})`]);
    return ofWebServer(status.length > 0);
  }

  /** The operations of each application whose names a rule matches. */
  #named(metrics: readonly Metric[], rule: ApplicationRule): Map<string, string[]> {
    const found = new Map<string, string[]>();
    const of = namer(rule.durations);
    for (const { name, type } of metrics) {
      const named: Named | null = type === 'histogram' ? of(name) : null;
      if (named === null) continue;
      found.set(named.application, [...(found.get(named.application) ?? []), named.operation]);
    }
    return found;
  }

  async #operations(source: Source, name: string, seconds: number) {
    const { convention, label } = source;
    const by = convention.operation.map(label);
    const figures = await this.#figuresBy(ofApplication(source, name), by, seconds);
    const all = figures
      .toSorted((a, b) => b.rate - a.rate)
      .slice(0, MOST_OPERATIONS)
      .map(({ labels, ...one }) => {
        const where = convention.operation.map((word) => ({
          ...{ label: word, how: '=' as const, value: labels[label(word)] ?? '' },
        }));
        return { name: operationName(labels, source), ...one, ...chartsOf(ofApplication(source, name, where)) };
      });
    return { all, total: figures.length };
  }

  async #namedOperations(rule: ApplicationRule, application: string, operations: readonly string[], seconds: number) {
    const asked = operations.filter((one) => one !== '').slice(0, MOST_NAMED);
    const durations = asked.map((operation) => ofNames(rule, { application, operation }));
    const figures = await this.#figuresOf(durations, seconds);
    const all = asked.flatMap((name, at) => {
      const [one, of] = [figures[at], durations[at]];
      return one && of ? [{ name, ...one, ...chartsOf(of) }] : [];
    });
    return { all: all.sort((a, b) => b.rate - a.rate), total: operations.length };
  }

  /** Whose series of a selector come from a host. */
  async #applicationsOn(host: string, selector: string): Promise<Set<string>> {
    const by = BY_HOST.replace('(', `(${APPLICATION_LABEL}, `);
    const [found = []] = await this.#ask([`count ${by} (${selector})`]);
    return new Set(found.flatMap(({ labels }) => (hostOf(labels) === host ? (labels[APPLICATION_LABEL] ?? []) : [])));
  }

  async #namesOn(host: string, rule: ApplicationRule, names: readonly string[]): Promise<string[]> {
    const answers = await this.#ask(
      names.map((application) => `count ${BY_HOST} (${ofNames(rule, { application }).selector})`),
    );
    return names.filter((_, at) => answers[at]?.some(({ labels }) => hostOf(labels) === host));
  }

  async #hosts(selectors: readonly string[]): Promise<string[]> {
    const answers = await this.#ask(selectors.map((one) => `count ${BY_HOST} (${one})`));
    const names = answers.flatMap((values) => values.flatMap(({ labels }) => hostOf(labels) ?? []));
    return [...new Set(names)].sort().slice(0, MOST_HOSTS);
  }

  /** The figures of each value of some labels. */
  async #figuresBy(durations: Durations, by: readonly string[], seconds: number) {
    const window = `${seconds}s`;
    const errors = durations.errors(window, by) ?? [];
    const [counts = [], median = [], high = [], ...failures] = await this.#ask([
      durations.count(window, by),
      durations.quantile(MEDIAN, window, by),
      durations.quantile(HIGH, window, by),
      ...errors,
    ]);
    const key = ({ labels }: Value) => JSON.stringify(by.map((label) => labels[label] ?? ''));
    const table = (values: readonly Value[]) => new Map(values.map((one) => [key(one), one.value]));
    const [medians, highs, failed] = [table(median), table(high), failures.map(table)];
    return counts
      .filter(({ value }) => value > 0)
      .map((one) => {
        const at = key(one);
        return {
          ...{ labels: one.labels, rate: one.value },
          errors: durations.errors(window) === null ? null : failed.reduce((sum, of) => sum + (of.get(at) ?? 0), 0),
          median: inSeconds(medians.get(at), durations.unit),
          p99: inSeconds(highs.get(at), durations.unit),
        };
      });
  }

  /** The figures of each; null: there was nothing. */
  async #figuresOf(all: readonly Durations[], seconds: number): Promise<(Figures | null)[]> {
    const window = `${seconds}s`;
    const questions = all.map((one) => [
      one.count(window),
      one.quantile(MEDIAN, window),
      one.quantile(HIGH, window),
      ...(one.errors(window) ?? []),
    ]);
    const answers = (await this.#ask(questions.flat())).map(([first]) => first?.value);
    return all.map((one, at) => {
      const from = questions.slice(0, at).reduce((sum, { length }) => sum + length, 0);
      const [rate, median, p99, ...errors] = answers.slice(from, from + (questions[at]?.length ?? 0));
      if (rate === undefined || !(rate > 0)) return null;
      return {
        rate,
        errors: one.errors(window) === null ? null : errors.reduce<number>((sum, value) => sum + (value ?? 0), 0),
        median: inSeconds(median, one.unit),
        p99: inSeconds(p99, one.unit),
      };
    });
  }

  async #ask(expressions: readonly string[]): Promise<Value[][]> {
    const answers = await this.#parts.storaged.queryBatch(
      expressions.map((expression) => ({ expression, known: null })),
    );
    return answers.map((answer) => {
      if (answer === null)
        throw fail('service_unavailable', 'The store is too busy to answer for all applications.', 'Try again.');
      if (answer instanceof ExpressionError)
        throw fail('invalid_request', `The store refused a question: ${answer.message}.`, 'Ask for a shorter time.');
      return (answer.labels ?? []).map((labels, at) => ({ labels, value: answer.values[at] as number }));
    });
  }
}
