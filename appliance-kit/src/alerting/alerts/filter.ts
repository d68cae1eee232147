// A question about alerts as a condition of SQL.
import type { AlertQuery } from './schema.ts';

/** LIKE's own signs, given by a person, mean themselves. */
const like = (text: string) => text.replace(/[\\%_]/g, '\\$&');

export function conditionOf(query: Omit<AlertQuery, 'limit' | 'before'>): { sql: string; values: (string | number)[] } {
  const conditions = ['1'];
  const values: (string | number)[] = [];
  const and = (condition: string, ...given: (string | number)[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if ((query.state ?? 'active') === 'active') and("state = 'active'");
  if (query.severity?.length) and(`severity IN (${query.severity.map(() => '?').join(', ')})`, ...query.severity);
  if (query.class?.endsWith('*')) and(`class LIKE ? ESCAPE '\\'`, `${like(query.class.slice(0, -1))}%`);
  else if (query.class) and('class = ?', query.class);
  if (query.search) {
    const text = `%${like(query.search)}%`;
    and(
      `(title LIKE ? ESCAPE '\\' OR text LIKE ? ESCAPE '\\' OR labels_json LIKE ? ESCAPE '\\')`,
      ...[text, text, text],
    );
  }
  if (query.from !== undefined) and('raised_at >= ?', query.from * 1000);
  if (query.to !== undefined) and('raised_at < ?', query.to * 1000);
  return { sql: conditions.join(' AND '), values };
}
