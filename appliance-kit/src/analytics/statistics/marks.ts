// What happened while a chart was drawn: alerts, snapshots, scrubs, and changes by users.
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { oneLine, plural } from '../../base/words.ts';
import type { Database, Row } from '../../state/database.ts';
import type { Tree } from '../../storage/datasets/index.ts';
import type { Mark, Marks } from './schema.ts';

/** More marks than this cannot be read on one axis; of what is left out, the least severe goes first. */
const MOST = 300;
/** Of each kind, looked at. */
const LOOKED_AT = 2_000;
/** Snapshots of one schedule are taken within a moment of each other: they are one mark. */
const TOGETHER_MS = 2_000;

/** Changes that change nothing about the machine: who signed in, who looked at what. */
const NO_CHANGE =
  /^(session\.|setup\.|support\.|request\.|audit\.|audit-forwarding\.test|bundle\.|token\.|worksheet\.|destination\.test|snapshot\.(?!rollback)|dataset\.estimate)/;

/** Domains of the audit log, and the page where such a thing is changed. */
const PAGES: Record<string, string> = {
  pool: '/storage',
  disk: '/storage',
  dataset: '/storage/datasets',
  schedule: '/storage/schedules',
  threshold: '/alerts/thresholds',
  destination: '/alerts/destinations',
  statistic: '/analytics/datasets',
  service: '/services',
};

type Found = Mark & { readonly at: number };

export class MarksSource {
  readonly #db: Database;
  readonly #tree: Tree;

  constructor(db: Database, tree: Tree) {
    this.#db = db;
    this.#tree = tree;
  }

  #alerts(from: number, to: number): Found[] {
    // What was changed is marked from the audit log, each change on its own.
    const rows = this.#db.all(
      `SELECT id, title, text, severity, raised_at, cleared_at FROM alerts
       WHERE raised_at <= ? AND (cleared_at IS NULL OR cleared_at >= ?) AND class <> 'configuration.changed'
       ORDER BY number DESC LIMIT ?`,
      to,
      from,
      LOOKED_AT,
    );
    return rows.map((row) => ({
      at: row.raised_at as number,
      time: iso(row.raised_at as number),
      endTime: row.cleared_at === null ? null : iso(row.cleared_at as number),
      kind: 'alert',
      severity: row.severity as Mark['severity'],
      title: row.title as string,
      detail: row.text as string,
      page: `/alerts/${row.id}`,
    }));
  }

  #scans(from: number, to: number): Found[] {
    const rows = this.#db.all(
      `SELECT * FROM scans WHERE started_at <= ? AND (finished_at IS NULL OR finished_at >= ?)
       ORDER BY started_at DESC LIMIT ?`,
      to,
      from,
      LOOKED_AT,
    );
    return rows.map((row) => ({
      at: row.started_at as number,
      time: iso(row.started_at as number),
      endTime: row.finished_at === null ? null : iso(row.finished_at as number),
      kind: 'scrub',
      severity: (row.errors as number) > 0 ? 'warning' : 'info',
      title: `${row.kind === 'resilver' ? 'Resilver' : 'Scrub'} of ${row.pool}`,
      detail: `${row.state}, ${plural(row.errors as number, 'error')}`,
      page: `/storage/pools/${encodeURIComponent(row.pool as string)}`,
    }));
  }

  #changes(from: number, to: number): Found[] {
    const rows = this.#db.all(
      'SELECT time, user, action, target FROM audit WHERE time BETWEEN ? AND ? ORDER BY id DESC LIMIT ?',
      from,
      to,
      LOOKED_AT,
    );
    const made = (row: Row): Found => {
      const action = row.action as string;
      const [domain = '', verb = ''] = action.split('.', 2);
      return {
        at: row.time as number,
        time: iso(row.time as number),
        endTime: null,
        kind: 'change',
        severity: 'info',
        title: oneLine(`${domain} ${verb.replaceAll('-', ' ')}: ${row.target}`, 200),
        detail: `by ${row.user}`,
        page: PAGES[domain] ?? '/maintenance',
      };
    };
    return rows.filter((row) => !NO_CHANGE.test(row.action as string)).map(made);
  }

  async #snapshots(from: number, to: number): Promise<Found[]> {
    // A tree that cannot be read (a dying disk) costs the snapshots' marks, not all of them.
    const known = await this.#tree.get().catch(() => undefined);
    const within = (known?.snapshots ?? []).filter(({ createdAt }) => createdAt >= from && createdAt <= to);
    within.sort((a, b) => a.createdAt - b.createdAt);
    const found: Found[] = [];
    let group: typeof within = [];
    const close = () => {
      const [first] = group;
      if (first === undefined) return;
      const names = group.slice(0, 5).map(({ name }) => name);
      if (group.length > names.length) names.push(`and ${group.length - names.length} more`);
      found.push({
        at: first.createdAt,
        time: iso(first.createdAt),
        endTime: null,
        kind: 'snapshot',
        severity: 'info',
        title: group.length === 1 ? `Snapshot of ${first.dataset}` : `${group.length} snapshots`,
        detail: names.join(', '),
        page:
          group.length === 1 ? `/storage/datasets/${encodeURIComponent(first.dataset)}/snapshots` : '/storage/datasets',
      });
    };
    for (const snapshot of within) {
      const [first] = group;
      if (first !== undefined && snapshot.createdAt - first.createdAt > TOGETHER_MS) {
        close();
        group = [];
      }
      group.push(snapshot);
    }
    close();
    return found.slice(-LOOKED_AT);
  }

  /** Milliseconds since the epoch, both ends included. */
  async between(from: number, to: number): Promise<Marks> {
    if (to < from) throw fail('invalid_request', 'The time to look at ends before it begins.');
    const found = [
      ...this.#alerts(from, to),
      ...this.#scans(from, to),
      ...this.#changes(from, to),
      ...(await this.#snapshots(from, to)),
    ];
    const rank = { critical: 0, warning: 1, info: 2 };
    const kept = found
      .sort((a, b) => rank[a.severity] - rank[b.severity] || b.at - a.at)
      .slice(0, MOST)
      .sort((a, b) => a.at - b.at);
    return { items: kept.map(({ at: _, ...mark }) => mark), leftOut: found.length - kept.length };
  }
}
