// How what is sent here is: worked out behind whoever looks, one question to the store after the other, and answered as it was
// then with its age. While nobody looks nothing is asked.

import { CachedReading } from '../../base/cached-reading.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { LogReader } from '../../system/logs/index.ts';
import type { Hosts } from '../hosts/index.ts';
import { type Moment, worstMoments } from './moments.ts';
import type { Incoming as Document, WorstMoment } from './schema.ts';
import { type SilentHosts, silentHosts } from './silent.ts';
import { type Compared, comparedWithBefore, type Slower } from './slower.ts';

const NAMED = 5;
const IN_WORDS = 2;

export interface IncomingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly storaged: Pick<Storaged, 'query' | 'queryRange' | 'metrics'>;
  readonly hosts: Pick<Hosts, 'look' | 'error' | 'all'>;
  readonly logs: Pick<LogReader, 'between'>;
}

const number = new Intl.NumberFormat('en-US');
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** `checkout_seconds` is what one calls checkout. */
const called = (metric: string) =>
  metric.replace(/[._](?:seconds|duration|latency|time|ms|millis|milliseconds)+$/i, '');

/** As "4.1 %": shares that are worth a word are of a few hundredths. */
const percent = (share: number) => `${Number((share * 100).toPrecision(2))} %`;

function slowerWords({ metric, share, against }: Slower, weekday: string): string {
  const before = against === 'week' ? `last ${weekday}` : 'yesterday';
  return `${called(metric)} slower than ${before} for ${percent(share)} of what it measured`;
}

/** How old an answer may be before it is worked out anew, and how long who asks waits for that. */
const SILENCE = { maxAgeMs: 10_000, patienceMs: 500 };
const COMPARED = { maxAgeMs: 60_000, patienceMs: 0 };
const MOMENTS = { maxAgeMs: 5 * 60_000, patienceMs: 1_000 };

export class Incoming {
  readonly #clock: Clock;
  readonly #hosts: CachedReading<SilentHosts | null>;
  readonly #compared: CachedReading<(Compared & { at: number }) | null>;
  readonly #moments: CachedReading<{ items: Moment[]; at: number } | null>;

  constructor({ clock, log, storaged, logs, hosts }: IncomingParts) {
    this.#clock = clock;
    this.#hosts = new CachedReading<SilentHosts | null>(
      async () => {
        await hosts.look();
        // What was known before stays, and grows older.
        if (hosts.error !== null) throw new Error(hosts.error);
        return silentHosts(hosts.all(), clock.now());
      },
      clock,
      { ...SILENCE, nothing: null },
    );
    this.#compared = new CachedReading<(Compared & { at: number }) | null>(
      async () => {
        const at = clock.now();
        return { ...(await comparedWithBefore(storaged, log)), at };
      },
      clock,
      { ...COMPARED, nothing: null },
    );
    this.#moments = new CachedReading<{ items: Moment[]; at: number } | null>(
      async () => {
        const at = clock.now();
        return { items: await worstMoments(storaged, logs, log, Math.floor(at / 1000)), at };
      },
      clock,
      { ...MOMENTS, nothing: null },
    );
  }

  async read(): Promise<Document> {
    const [{ value: hosts, ageSeconds }, { value: compared }] = await Promise.all([
      this.#hosts.get(),
      this.#compared.get(),
    ]);
    const slower = compared?.slower ?? [];
    // That of a week ago is today's.
    const weekday = days[new Date(compared?.at ?? this.#clock.now()).getUTCDay()] as string;
    const bad = [
      ...(hosts !== null && hosts.silent.length > 0
        ? [
            `${number.format(hosts.silent.length)} of ${number.format(hosts.total)} ${hosts.total === 1 ? 'host' : 'hosts'} silent`,
          ]
        : []),
      ...slower.slice(0, IN_WORDS).map((one) => slowerWords(one, weekday)),
      ...(slower.length > IN_WORDS ? [`${slower.length - IN_WORDS} more slower`] : []),
    ];
    return {
      ...answer(hosts, compared, bad, weekday),
      hosts: hosts && {
        total: hosts.total,
        silent: hosts.silent.length,
        names: hosts.silent.slice(0, NAMED).map(({ name, since }) => ({ name, silentSince: since })),
        ageSeconds,
      },
      slower: slower.map((one) => ({ ...one })),
      compared: compared?.compared ?? 0,
      comparedAt: compared && iso(compared.at),
    };
  }

  /** @param readsLogs whether who asks may read the log */
  async moments(readsLogs: boolean): Promise<{ items: WorstMoment[]; computedAt: string | null }> {
    const { value } = await this.#moments.get();
    const items = (value?.items ?? []).map(({ time, whom, log, note, ...rest }) => ({
      ...rest,
      time: iso(time * 1000),
      whom: whom && { ...whom },
      log: readsLogs ? log.map((line) => ({ ...line })) : [],
      note: readsLogs ? note : 'Operators may read the log.',
    }));
    return { items, computedAt: value && iso(value.at) };
  }
}

function answer(
  hosts: SilentHosts | null,
  compared: Compared | null,
  bad: readonly string[],
  weekday: string,
): Pick<Document, 'state' | 'sentence'> {
  if (hosts === null) return { state: 'info', sentence: 'Not known yet.' };
  if (bad.length > 0) {
    const text = bad.join('; ');
    return { state: 'warning', sentence: `${text.charAt(0).toUpperCase()}${text.slice(1)}.` };
  }
  if (hosts.total === 0) return { state: 'info', sentence: 'Nothing within the last day.' };
  const all = hosts.total === 1 ? 'The one host sends' : `All ${number.format(hosts.total)} hosts send`;
  if (compared === null || compared.compared === 0) return { state: 'ok', sentence: `${all}.` };
  const before = compared.against === 'week' ? `last ${weekday}` : 'yesterday';
  return { state: 'ok', sentence: `${all}, and nothing is slower than ${before}.` };
}
