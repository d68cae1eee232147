// The hosts as they are: what the store knows of each, what people said of it, and what of alerts and silences is about it.
// Each has a version, so that a page is sent only what has changed. When a host that reports was heard of last changes with
// each of its samples and is no change.

import type { Alerts } from '../../alerting/alerts/index.ts';
import type { Severity } from '../../alerting/catalogue/severity.ts';
import type { Silences } from '../../alerting/silences/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { hostOf } from '../../base/hosts.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Storaged, StoredHost } from '../../peers/storaged.ts';
import type { Database } from '../../state/database.ts';
import type { Host, HostList, HostQuery } from './schema.ts';
import { HOST_STATES, type HostState, type StoreTimes, stateOf } from './state.ts';

export interface Said {
  readonly note: string;
  readonly ownLabels: Readonly<Record<string, string>>;
  readonly retired: { readonly at: number; readonly by: string } | null;
}

export const NOTHING_SAID: Said = { note: '', ownLabels: {}, retired: null };

interface Known {
  readonly stored: StoredHost;
  said: Said;
  shown: Host;
  /** What a page shows of it; another one is a change. */
  print: string;
  version: number;
  /** Something was heard or said of it since it was shown. */
  fresh: boolean;
}

interface Concerns {
  alerts: number;
  worst: Severity | null;
}

export interface HostsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly storaged: Pick<Storaged, 'hosts'>;
  readonly alerts: Pick<Alerts, 'activeSubjects'>;
  readonly silences: Pick<Silences, 'hostsHeld'>;
}

const GONE_KEPT = 10_000;
const SEVERITIES: readonly Severity[] = ['info', 'warning', 'critical'];

export class Hosts {
  readonly #parts: HostsParts;
  readonly #known = new Map<string, Known>();
  readonly #said = new Map<string, Said>();
  #gone: { name: string; version: number }[] = [];
  /** Tells versions of this start of akd from those of another. */
  readonly #epoch: string;
  #version = 1;
  #stored = '';
  #times: StoreTimes = { now: 0, started: 0, heardBefore: 0 };
  #concerns = new Map<string, Concerns>();
  /** Until when silences hold their alerts back; ms. */
  #held = new Map<string, number>();
  #concernsOld = true;
  #error: string | null = 'The store was not asked yet.';
  #looking: Promise<void> | null = null;
  readonly #stop: () => void;

  constructor(parts: HostsParts) {
    this.#parts = parts;
    this.#epoch = parts.clock.now().toString(36);
    for (const row of parts.db.all('SELECT * FROM hosts')) {
      const retired =
        row.retired_at === null ? null : { at: row.retired_at as number, by: String(row.retired_by ?? '') };
      const ownLabels = JSON.parse(row.labels_json as string) as Record<string, string>;
      this.#said.set(row.name as string, { note: row.note as string, ownLabels, retired });
    }
    this.#stop = parts.changes.listen(({ topic }) => {
      if (topic === 'alerts' || topic === 'silences') this.#concernsOld = true;
    });
  }

  stop(): void {
    this.#stop();
  }

  /** Asks the store what has changed. One at a time. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      const answer = await this.#parts.storaged.hosts(this.#stored);
      const started = Number(answer.version.split('-')[0]) / 1e9;
      if (answer.full) {
        const before = answer.hosts.map(({ heardTime }) => heardTime).filter((time) => time < started);
        const heardBefore = before.reduce((latest, time) => Math.max(latest, time), 0);
        this.#times = { now: answer.now, started, heardBefore };
        const names = new Set(answer.hosts.map(({ name }) => name));
        for (const name of this.#known.keys()) if (!names.has(name)) this.#forget(name);
      }
      this.#times = { ...this.#times, now: answer.now };
      for (const name of answer.gone) this.#forget(name);
      for (const stored of answer.hosts) this.#take(stored);
      this.#stored = answer.version;
      this.#error = null;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
    }
    this.refresh();
  }

  #forget(name: string): void {
    if (!this.#known.delete(name)) return;
    this.#gone.push({ name, version: ++this.#version });
    if (this.#gone.length > GONE_KEPT) this.#gone = this.#gone.slice(-GONE_KEPT);
  }

  #take(stored: StoredHost): void {
    const known = this.#known.get(stored.name);
    const said = this.#said.get(stored.name) ?? NOTHING_SAID;
    const shown = known?.shown ?? (undefined as never);
    this.#known.set(stored.name, {
      stored,
      said,
      shown,
      print: known?.print ?? '',
      version: known?.version ?? 0,
      fresh: true,
    });
  }

  /** Finds out what has changed of what is shown, and informs the pages. */
  refresh(): void {
    const before = this.#version;
    const held = this.#parts.silences.hostsHeld();
    // A silence begins and ends by the clock, too.
    const all = this.#concernsOld || held.size !== this.#held.size;
    this.#held = held;
    if (all) this.#concern();
    for (const one of this.#known.values()) {
      // Most hosts are as they were; what changes by itself is the state.
      if (!all && !one.fresh && this.#stateOf(one) === one.shown.state) continue;
      one.fresh = false;
      one.shown = this.#show(one);
      const print = JSON.stringify(one.shown.state === 'reporting' ? { ...one.shown, lastAt: '' } : one.shown);
      if (print === one.print) continue;
      one.print = print;
      one.version = ++this.#version;
    }
    if (this.#version !== before) this.#parts.changes.publish('hosts');
  }

  #concern(): void {
    this.#concernsOld = false;
    this.#concerns = new Map();
    for (const { labels, severity } of this.#parts.alerts.activeSubjects()) {
      const name = hostOf(labels);
      if (name === null) continue;
      const one = this.#concerns.get(name) ?? { alerts: 0, worst: null };
      one.alerts++;
      if (one.worst === null || SEVERITIES.indexOf(severity) > SEVERITIES.indexOf(one.worst)) one.worst = severity;
      this.#concerns.set(name, one);
    }
  }

  #stateOf({ stored, said }: Known): HostState {
    return stateOf(stored, said.retired === null ? null : said.retired.at / 1000, this.#times);
  }

  #show(known: Known): Host {
    const { stored, said } = known;
    const state = this.#stateOf(known);
    const silencedUntil = this.#held.get(stored.name);
    const { alerts, worst } = this.#concerns.get(stored.name) ?? { alerts: 0, worst: null };
    const retired = state === 'retired' ? said.retired : null;
    return {
      name: stored.name,
      note: said.note,
      ownLabels: said.ownLabels,
      state,
      firstAt: iso(Math.round(stored.firstTime * 1000)),
      lastAt: iso(Math.round(stored.heardTime * 1000)),
      intervalSeconds: stored.intervalSeconds > 0 ? Math.round(stored.intervalSeconds) || 1 : null,
      by: [...stored.by],
      series: stored.series,
      inputs: [...stored.inputs],
      labels: { ...stored.labels, ...said.ownLabels },
      retired: retired && { at: iso(retired.at), by: retired.by },
      silencedUntil: silencedUntil === undefined ? null : iso(silencedUntil),
      alerts,
      worst,
    };
  }

  /** Why the store did not answer when it was asked last; null: it did. */
  get error(): string | null {
    return this.#error;
  }

  /** How many there are of each state. */
  counts(): Record<HostState, number> {
    const counts = { reporting: 0, late: 0, absent: 0, retired: 0 };
    for (const { shown } of this.#known.values()) counts[shown.state]++;
    return counts;
  }

  all(): Host[] {
    return [...this.#known.values()].map(({ shown }) => shown);
  }

  find(name: string): Host | undefined {
    return this.#known.get(name)?.shown;
  }

  get(name: string): Host {
    const host = this.find(name);
    if (host !== undefined) return host;
    throw fail('not_found', `There is no host ${name}.`, 'It sends nothing, or all that it sent was deleted.');
  }

  list(query: HostQuery): HostList {
    const since = this.#readVersion(query.since);
    const search = query.search?.toLowerCase() ?? '';
    const wanted = (query.label ?? []).map((text) => {
      const at = text.indexOf('=');
      return [text.slice(0, at), text.slice(at + 1)] as const;
    });
    const fits = (host: Host) =>
      (query.state === undefined || query.state.length === 0 || query.state.includes(host.state)) &&
      wanted.every(([name, value]) => (host.labels[name] ?? '') === value) &&
      (search === '' || textOf(host).includes(search));
    const gone: string[] = [];
    const items: Host[] = [];
    for (const { shown, version } of this.#known.values()) {
      if (version <= since) continue;
      if (fits(shown)) items.push(shown);
      else if (since > 0) gone.push(shown.name);
    }
    if (since > 0)
      for (const one of this.#gone) if (one.version > since && !this.#known.has(one.name)) gone.push(one.name);
    items.sort(ORDERS[query.sort ?? 'name']);
    const { limit = 10_000, offset = 0 } = query;
    return {
      items: items.slice(offset, offset + limit),
      total: items.length,
      version: `${this.#epoch}-${this.#version}`,
      full: since === 0,
      gone,
      states: this.counts(),
      error: this.#error,
    };
  }

  /** 0: all are wanted. */
  #readVersion(text: string | undefined): number {
    const [epoch, version] = (text ?? '').split('-');
    const since = Number(version);
    if (epoch !== this.#epoch || !Number.isSafeInteger(since) || since > this.#version) return 0;
    const forgotten = this.#gone.length === GONE_KEPT && since < (this.#gone[0]?.version ?? 0);
    return forgotten ? 0 : since;
  }

  said(name: string): Said {
    return this.#said.get(name) ?? NOTHING_SAID;
  }

  /** Of all of which something is said, also of those that are not there. */
  allSaid(): ReadonlyMap<string, Said> {
    return this.#said;
  }

  /** Writes what is said of hosts; the caller has a transaction, and calls `refresh` behind it. */
  say(all: ReadonlyMap<string, Said>): void {
    const { db } = this.#parts;
    for (const [name, said] of all) {
      if (said.note === '' && said.retired === null && Object.keys(said.ownLabels).length === 0) {
        db.run('DELETE FROM hosts WHERE name = ?', name);
        this.#said.delete(name);
      } else {
        db.run(
          'INSERT OR REPLACE INTO hosts (name, note, labels_json, retired_at, retired_by) VALUES (?, ?, ?, ?, ?)',
          name,
          said.note,
          JSON.stringify(said.ownLabels),
          said.retired?.at ?? null,
          said.retired?.by ?? null,
        );
        this.#said.set(name, said);
      }
      const known = this.#known.get(name);
      if (known === undefined) continue;
      known.said = said;
      known.fresh = true;
    }
  }
}

const textOf = ({ name, note, labels }: Host) =>
  [name, note, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].join('\n').toLowerCase();

const byName = (a: Host, b: Host) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const ORDERS: Record<NonNullable<HostQuery['sort']>, (a: Host, b: Host) => number> = {
  name: byName,
  state: (a, b) => HOST_STATES.indexOf(a.state) - HOST_STATES.indexOf(b.state) || byName(a, b),
  lastAt: (a, b) => a.lastAt.localeCompare(b.lastAt) || byName(a, b),
  series: (a, b) => b.series - a.series || byName(a, b),
  alerts: (a, b) => b.alerts - a.alerts || byName(a, b),
};
