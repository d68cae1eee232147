// The audit log as a file: a JSON object in each line as the API gives it, or CSV for a spreadsheet.
import { cell } from '../../base/csv.ts';
import type { AuditEntry } from './schema.ts';

const COLUMNS = ['id', 'time', 'user', 'address', 'way', 'action', 'target', 'before', 'after', 'hash'] as const;

const value = (entry: AuditEntry, column: (typeof COLUMNS)[number]) => {
  const found = entry[column];
  if (column === 'before' || column === 'after') return found === null ? null : JSON.stringify(found);
  return found as string | number | null;
};

export async function* exported(format: 'jsonl' | 'csv', pages: AsyncIterable<AuditEntry[]>): AsyncGenerator<string> {
  if (format === 'csv') yield `${COLUMNS.join(',')}\r\n`;
  for await (const page of pages) {
    yield page
      .map((entry) =>
        format === 'csv'
          ? `${COLUMNS.map((column) => cell(value(entry, column))).join(',')}\r\n`
          : `${JSON.stringify(entry)}\n`,
      )
      .join('');
  }
}
