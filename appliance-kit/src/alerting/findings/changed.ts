// Which series changed before an alert was raised. The store is asked for those that share a label's value with the alert
// first, then for others, until as many are read as this may cost; names with few series come before those with many.
import { iso } from '../../base/clock.ts';
import { plural } from '../../base/words.ts';
import type { Metric, SeriesChange, Storaged } from '../../peers/storaged.ts';
import { selectorOf, selectorsOf } from '../thresholds/index.ts';
import type { ChangedSeries, Kept } from './schema.ts';

type Labels = Readonly<Record<string, string>>;
export type Store = Pick<Storaged, 'query' | 'changed' | 'metrics'>;

export interface Question {
  readonly labels: Labels;
  /** Of the alert's rule; null: it has none. */
  readonly expression: string | null;
  /** Seconds since the epoch. */
  readonly raisedAt: number;
  readonly until: number;
  readonly windowSeconds: number;
}

/** Series that are compared for one alert. */
const MOST_SERIES = 10_000;
const MOST_NAMES = 5_000;
/** Of those that have changed so many are looked at, of each question. */
const MOST_CHANGED = 2_000;
/** Labels that say where a series comes from are looked at before others. */
const PLACES = ['host', 'instance', 'sender', 'node', 'pod', 'service', 'job'];
const MOST_LABELS = 4;
const SHOWN = 5;
const NAMED = 3;
const SHORTEST_WINDOW = 300;
const LONGEST_WINDOW = 3_600;

const quoted = (text: string) => JSON.stringify(text);
const asRegex = (names: readonly string[]) =>
  quoted(names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'));
const rank = (label: string) => (PLACES.includes(label) ? PLACES.indexOf(label) : PLACES.length);
const own = (name: string) => name.startsWith('cistern_');

/** Names to ask about, under the labels that their series have and those that they do not have. */
interface Part {
  readonly matchers: string;
  readonly names: readonly { readonly name: string; readonly series: number }[];
}

/** Which names are asked about, and how many series there are. */
async function plan(store: Store, { labels, expression }: Question, window: number, metrics: readonly Metric[]) {
  // What the appliance measures of itself moves with all that it does: it counts for alerts about the appliance.
  const about = expression === null || selectorsOf(expression).some(({ name }) => name === null || own(name));
  const wanted = (name: string) => about || !own(name);
  const parts: Part[] = [];
  let left = MOST_SERIES;
  const take = (matchers: string, names: Part['names']) => {
    const taken = [...names]
      .sort((a, b) => a.series - b.series || (a.name < b.name ? -1 : 1))
      .filter(({ series }) => {
        if (series > left) return false;
        left -= series;
        return true;
      });
    if (taken.length > 0) parts.push({ matchers, names: taken });
  };
  const shared = Object.entries(labels)
    .filter(([label]) => label !== '__name__')
    .sort(([a], [b]) => rank(a) - rank(b))
    .slice(0, MOST_LABELS);
  const without: string[] = [];
  for (const [label, value] of shared) {
    const key = /^[a-zA-Z_]\w*$/.test(label) ? label : quoted(label);
    const matchers = [`${key}=${quoted(value)}`, ...without].join(', ');
    // Also those that were there before and are gone.
    const counts = new Map<string, number>();
    for (const when of ['', ` offset ${window}s`]) {
      for (const { labels: of, value } of await store.query(
        `count by (__name__) ({__name__!="", ${matchers}}${when})`,
      )) {
        const name = of.__name__ ?? '';
        if (wanted(name)) counts.set(name, Math.max(value, counts.get(name) ?? 0));
      }
    }
    take(
      matchers,
      [...counts].map(([name, series]) => ({ name, series })),
    );
    without.push(`${key}!=${quoted(value)}`);
  }
  const rest = metrics.filter(({ name }) => wanted(name));
  take(without.join(', '), rest);
  return { parts, of: rest.reduce((sum, { series }) => sum + series, 0) };
}

export async function changedSeries(store: Store, question: Question): Promise<Kept['series']> {
  const { raisedAt, until, expression, labels } = question;
  const window = Math.min(LONGEST_WINDOW, Math.max(SHORTEST_WINDOW, question.windowSeconds));
  const start = raisedAt - window;
  const { parts, of } = await plan(store, question, window, await store.metrics(MOST_NAMES));
  const found: SeriesChange[] = [];
  const began = { count: 0, names: [] as string[] };
  const ended = { count: 0, names: [] as string[] };
  let compared = 0;
  let baselineFrom = start;
  for (const { matchers, names } of parts) {
    const selector = `{__name__=~${asRegex(names.map(({ name }) => name))}${matchers && `, ${matchers}`}}`;
    const answer = await store.changed(selector, start, until, MOST_CHANGED);
    compared += answer.compared;
    baselineFrom = answer.baselineStart;
    found.push(...answer.series);
    for (const [all, some] of [[began, answer.began] as const, [ended, answer.ended] as const]) {
      all.count += some.count;
      all.names.push(...some.series.map(selectorOf));
    }
  }
  /** The alert's own series has changed, and that is known. */
  const own = new Set(expression === null ? [] : selectorsOf(expression).map(({ name }) => name));
  const isOwn = (of: Labels) =>
    (own.has(of.__name__ ?? '') || of.__name__ === labels.__name__) &&
    Object.entries(labels).every(([label, value]) => label === '__name__' || of[label] === value);
  return {
    items: ranked(
      found.filter((one) => !isOwn(one.labels)),
      labels,
    ),
    compared,
    of: Math.max(of, compared),
    began: { ...began, names: began.names.slice(0, NAMED) },
    ended: { ...ended, names: ended.names.slice(0, NAMED) },
    ...{ from: iso(start * 1000), to: iso(until * 1000), baselineFrom: iso(baselineFrom * 1000) },
    note:
      compared < of
        ? `${plural(of - compared, 'series', 'series')} could not be compared: without values in that time, or more than are read for one alert.`
        : null,
  };
}

/** Those that share labels first; of a metric the one that changed most, with how many more have. */
function ranked(found: readonly SeriesChange[], labels: Labels): ChangedSeries[] {
  const shares = (of: Labels) =>
    Object.keys(labels).filter((label) => label !== '__name__' && of[label] === labels[label]);
  const moved = (one: SeriesChange) =>
    Math.abs(one.after - one.before) / (Math.abs(one.after) + Math.abs(one.before) || 1);
  const sorted = found
    .map((one) => ({ ...one, shares: shares(one.labels) }))
    .sort(
      (a, b) => Number(b.shares.length > 0) - Number(a.shares.length > 0) || b.score - a.score || moved(b) - moved(a),
    );
  const byName = new Map<string, number>();
  for (const { labels: of } of sorted) byName.set(of.__name__ ?? '', (byName.get(of.__name__ ?? '') ?? 0) + 1);
  const seen = new Set<string>();
  return sorted
    .filter(({ labels: of }) => !seen.has(of.__name__ ?? '') && seen.add(of.__name__ ?? ''))
    .slice(0, SHOWN)
    .map(({ measure, ...one }) => ({
      labels: one.labels,
      measure,
      ...{ before: one.before, after: one.after, score: Math.round(one.score * 10) / 10 },
      shares: one.shares,
      alike: (byName.get(one.labels.__name__ ?? '') ?? 1) - 1,
      query: measure === 'rate' ? `rate(${selectorOf(one.labels)}[1m])` : selectorOf(one.labels),
    }));
}
