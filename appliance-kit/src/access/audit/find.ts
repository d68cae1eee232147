// Looks for entries of the audit log in windows of numbers, and lets others have their turn after each: a free text has to
// look at every entry, and there may be a million.
import { setImmediate as turn } from 'node:timers/promises';
import type { Database, Row } from '../../state/database.ts';
import { entryOf } from './audit.ts';
import type { AuditEntry, AuditFilter } from './schema.ts';

/** Entries that are looked at in one go: some ten milliseconds. */
const WINDOW = 10_000;
const SEARCH_WINDOW = 2_000;
/** Entries that are read at once. */
const PAGE = 500;

type Value = string | number;

const like = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/** The conditions of a filter, and their values. */
function conditions(filter: AuditFilter): { sql: string; values: Value[] } {
  const found: [string, ...Value[]][] = [];
  const { user, action, target, address, way, from, to, search } = filter;
  if (user !== undefined) found.push(['user = ?', user]);
  // The dot that ends a domain is followed by nothing that sorts behind a slash.
  if (action?.endsWith('.')) found.push(['action >= ? AND action < ?', action, `${action.slice(0, -1)}/`]);
  else if (action !== undefined) found.push(['action = ?', action]);
  if (target !== undefined) found.push(['target = ?', target]);
  if (address !== undefined) found.push(['address = ?', address]);
  if (way !== undefined) found.push(['way = ?', way]);
  if (from !== undefined) found.push(['time >= ?', Math.ceil(from * 1000)]);
  if (to !== undefined) found.push(['time < ?', Math.ceil(to * 1000)]);
  if (search !== undefined) {
    const columns = ['user', 'action', 'target', 'before_json', 'after_json'];
    const text = like(search);
    found.push([
      `(${columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(' OR ')})`,
      ...columns.map(() => text),
    ]);
  }
  return {
    sql: found.map(([sql]) => ` AND ${sql}`).join(''),
    values: found.flatMap(([, ...values]) => values),
  };
}

/** Entries that fit, page by page; the numbers are those between `after` and `before`, neither included. */
export async function* pages(
  db: Database,
  filter: AuditFilter,
  range: { after?: number; before?: number; order: 'oldest first' | 'newest first' },
): AsyncGenerator<AuditEntry[]> {
  const ends = db.get('SELECT min(id) AS first, max(id) AS last FROM audit') as Row;
  const first = Math.max((ends.first as number | null) ?? 1, (range.after ?? 0) + 1);
  const last = Math.min((ends.last as number | null) ?? 0, (range.before ?? Number.MAX_SAFE_INTEGER) - 1);
  const { sql, values } = conditions(filter);
  const window = filter.search === undefined ? WINDOW : SEARCH_WINDOW;
  const newest = range.order === 'newest first';
  const query = `SELECT * FROM audit WHERE id BETWEEN ? AND ?${sql} ORDER BY id ${newest ? 'DESC' : 'ASC'} LIMIT ${PAGE}`;
  for (let from = first, to = last; from <= to; ) {
    const [low, high] = newest ? [Math.max(from, to - window + 1), to] : [from, Math.min(to, from + window - 1)];
    const rows = db.all(query, low, high, ...values);
    if (rows.length > 0) yield rows.map(entryOf);
    // A full page may have left some of the window out.
    const end = rows.length === PAGE ? (rows.at(-1)?.id as number) : newest ? low : high;
    if (newest) to = end - 1;
    else from = end + 1;
    await turn();
  }
}

export async function newestFirst(
  db: Database,
  filter: AuditFilter,
  limit: number,
  before: number | undefined,
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  const range = { order: 'newest first', ...(before !== undefined && { before }) } as const;
  for await (const page of pages(db, filter, range)) {
    found.push(...page);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}
