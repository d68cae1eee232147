// Silences and maintenance windows: for a time that always ends, alerts that match are raised and logged but sent to
// no one. What was suppressed is recorded; whatever of it is still active when the silence ends is sent then.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { hostOf } from '../../base/hosts.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Severity } from '../catalogue/severity.ts';
import type { routes } from './routes.ts';
import type { Silence, SilenceInput } from './schema.ts';

/** Longer is not a silence but a decision: a class can be muted. */
const LONGEST_S = 366 * 24 * 60 * 60;
/** Ended ones stay readable as long as alerts do. */
const KEPT_MS = 400 * 24 * 60 * 60 * 1000;

/** What a silence looks at. */
export interface Subject {
  readonly class: string;
  readonly severity: Severity;
  readonly key: string;
  readonly title: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A class by its name, or by its beginning: `pool.*`. */
export function classFits(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Of a silence that names hosts: these. Thousands of alerts are held against it. */
const hostSets = new WeakMap<readonly string[], ReadonlySet<string>>();

function isOfHost(hosts: readonly string[], labels: Subject['labels']): boolean {
  let set = hostSets.get(hosts);
  if (set === undefined) {
    set = new Set(hosts);
    hostSets.set(hosts, set);
  }
  const host = hostOf(labels);
  return host !== null && set.has(host);
}

export function matches(
  silence: Pick<SilenceInput, 'classes' | 'severities' | 'text' | 'hosts'>,
  subject: Subject,
): boolean {
  if (silence.severities.length > 0 && !silence.severities.includes(subject.severity)) return false;
  if (silence.classes.length > 0 && !silence.classes.some((one) => classFits(one, subject.class))) return false;
  if (silence.hosts !== undefined && silence.hosts.length > 0 && !isOfHost(silence.hosts, subject.labels)) return false;
  if (silence.text === '') return true;
  const labels = Object.entries(subject.labels).map(([name, value]) => `${name}=${value}`);
  const all = [subject.key, subject.title, ...labels].join('\n').toLowerCase();
  return all.includes(silence.text.toLowerCase());
}

interface Kept extends SilenceInput {
  readonly id: string;
  readonly by: string;
  readonly createdAt: number;
}

export interface SilenceParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly changes: Changes;
  /** Every class there is: a silence that names none of them is refused. */
  readonly classes: readonly { readonly class: string }[];
}

/** What a silence acts on. */
export interface Silenced {
  /** One began, ended or was changed: what it suppresses must be decided again. */
  changed(): void;
  /** The active alerts, to count those that a silence suppresses. */
  activeSubjects(): readonly Subject[];
}

export class Silences {
  readonly #parts: SilenceParts;
  #silenced: Silenced = { changed: () => {}, activeSubjects: () => [] };
  /** Those that have not ended; few, and asked for with every alert. */
  #open: Kept[] = [];

  constructor(parts: SilenceParts) {
    this.#parts = parts;
    this.#load();
  }

  /** Called once, by whoever raises alerts: they look at silences, so silences are there first. */
  actOn(silenced: Silenced): void {
    this.#silenced = silenced;
  }

  #load(): void {
    const sql = 'SELECT * FROM silences WHERE ends_at > ? ORDER BY starts_at, id';
    this.#open = this.#parts.db.all(sql, this.#parts.clock.now()).map((row) => this.#kept(row));
  }

  #kept(row: Row): Kept {
    return {
      ...(JSON.parse(row.input_json as string) as SilenceInput),
      id: row.id as string,
      by: row.created_by as string,
      createdAt: row.created_at as number,
      // An end that was brought forward is in the column.
      end: (row.ends_at as number) / 1000,
    };
  }

  /** The silence that holds it back now: of several, the one that lasts longest. */
  holding(subject: Subject): { id: string; name: string; until: number } | null {
    const now = this.#parts.clock.now();
    let found: Kept | null = null;
    for (const one of this.#open) {
      if (one.start * 1000 > now || one.end * 1000 <= now || !matches(one, subject)) continue;
      if (found === null || one.end > found.end) found = one;
    }
    return found && { id: found.id, name: found.name, until: found.end * 1000 };
  }

  /** The hosts that silences name which act now, and until when; ms. */
  hostsHeld(): Map<string, number> {
    const now = this.#parts.clock.now();
    const held = new Map<string, number>();
    for (const { start, end, hosts = [] } of this.#open) {
      if (start * 1000 > now || end * 1000 <= now) continue;
      for (const name of hosts) held.set(name, Math.max(end * 1000, held.get(name) ?? 0));
    }
    return held;
  }

  /** Returns whether one has ended, or begun, since the last time. */
  tick(): boolean {
    const now = this.#parts.clock.now();
    const before = this.#open.length;
    this.#open = this.#open.filter(({ end }) => end * 1000 > now);
    if (this.#open.length === before) return false;
    this.#parts.db.run('DELETE FROM held WHERE at < ?', now - KEPT_MS);
    this.#parts.db.run('DELETE FROM silences WHERE ends_at < ?', now - KEPT_MS);
    this.#parts.changes.publish('silences');
    return true;
  }

  #describe({ id, by, createdAt, ...input }: Kept, subjects: readonly Subject[]): Silence {
    const now = this.#parts.clock.now();
    const state = input.end * 1000 <= now ? 'ended' : input.start * 1000 > now ? 'waiting' : 'acting';
    const { n } = this.#parts.db.get('SELECT count(*) AS n FROM held WHERE silence_id = ?', id) as { n: number };
    const active = state === 'acting' ? subjects.filter((one) => matches(input, one)).length : 0;
    return { id, ...input, state, by, createdAt: iso(createdAt), active, suppressed: n };
  }

  list(): Silence[] {
    const subjects = this.#silenced.activeSubjects();
    const sql = 'SELECT * FROM silences ORDER BY ends_at DESC, id DESC LIMIT 500';
    return this.#parts.db.all(sql).map((row) => this.#describe(this.#kept(row), subjects));
  }

  get(id: string): Silence {
    const row = this.#parts.db.get('SELECT * FROM silences WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no silence ${id}.`);
    return this.#describe(this.#kept(row), this.#silenced.activeSubjects());
  }

  #check(input: SilenceInput): void {
    const wrong = (path: string, message: string) =>
      fail('invalid_request', `The silence was refused: ${path.slice(1)} ${message}.`, undefined, [{ path, message }]);
    const now = this.#parts.clock.now() / 1000;
    if (input.end <= input.start) throw wrong('/end', 'must be after the start');
    if (input.end <= now) throw wrong('/end', 'is in the past');
    if (input.end - Math.max(input.start, now) > LONGEST_S) {
      throw wrong('/end', 'may be a year away at most; a class that is not wanted at all can be muted instead');
    }
    input.classes.forEach((one, at) => {
      if (this.#parts.classes.some((kind) => classFits(one, kind.class))) return;
      throw wrong(`/classes/${at}`, `names no class of alerts: ${one}`);
    });
  }

  create(input: SilenceInput, caller: Caller): Silence {
    const { db, clock, audit } = this.#parts;
    this.#check(input);
    const now = clock.now();
    const id = newId('si', now);
    db.transaction(() => {
      db.run(
        'INSERT INTO silences VALUES (?, ?, ?, ?, ?, ?)',
        id,
        JSON.stringify(input),
        input.start * 1000,
        input.end * 1000,
        caller.name,
        now,
      );
      audit.record(caller, 'silence.create', input.name, null, input);
    });
    return this.#after(id);
  }

  update(id: string, input: SilenceInput, caller: Caller): Silence {
    const { db, audit } = this.#parts;
    const before = this.get(id);
    if (before.state === 'ended') throw fail('conflict', `The silence “${before.name}” has ended.`, 'Make a new one.');
    this.#check(input);
    db.transaction(() => {
      db.run(
        'UPDATE silences SET input_json = ?, starts_at = ?, ends_at = ? WHERE id = ?',
        JSON.stringify(input),
        input.start * 1000,
        input.end * 1000,
        id,
      );
      audit.record(caller, 'silence.update', input.name, before, input);
    });
    return this.#after(id);
  }

  /** Ends it now; one that has not begun never will. */
  end(id: string, caller: Caller): Silence {
    const { db, clock, audit } = this.#parts;
    const before = this.get(id);
    if (before.state === 'ended') throw fail('conflict', `The silence “${before.name}” has ended already.`);
    db.transaction(() => {
      db.run('UPDATE silences SET ends_at = ? WHERE id = ?', clock.now(), id);
      audit.record(caller, 'silence.end', before.name, before, null);
    });
    return this.#after(id);
  }

  #after(id: string): Silence {
    this.#load();
    this.#silenced.changed();
    this.#parts.changes.publish('silences', id);
    this.#parts.changes.publish('alerts');
    return this.get(id);
  }
}

export function silenceRoutes(silences: Silences): Handlers<typeof routes> {
  return {
    listSilences: () => ({ items: silences.list() }),
    createSilence: ({ body, caller }) => silences.create(body, caller),
    getSilence: ({ params }) => silences.get(params.id),
    updateSilence: ({ params, body, caller }) => silences.update(params.id, body, caller),
    endSilence: ({ params, caller }) => silences.end(params.id, caller),
  };
}
