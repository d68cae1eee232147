// The log as a file: CSV for a spreadsheet, or the alerts as the API gives them.
import { cell } from '../../base/csv.ts';
import type { Alert } from './schema.ts';

const COLUMNS: readonly [string, (alert: Alert) => string | number | null][] = [
  ['id', (alert) => alert.id],
  ['class', (alert) => alert.class],
  ['severity', (alert) => alert.severity],
  ['state', (alert) => alert.state],
  ['raised', (alert) => alert.raisedAt],
  ['cleared', (alert) => alert.clearedAt],
  ['title', (alert) => alert.title],
  ['text', (alert) => alert.text],
  ['value', (alert) => alert.value],
  ['limit', (alert) => alert.limit],
  ['unit', (alert) => alert.unit],
  ['rule', (alert) => alert.ruleName],
  [
    'labels',
    ({ labels }) =>
      Object.entries(labels)
        .map((pair) => pair.join('='))
        .join(', '),
  ],
  ['acknowledged by', (alert) => alert.acknowledged?.by ?? null],
  ['note', (alert) => alert.acknowledged?.note ?? null],
  ['routed by', (alert) => alert.routedBy],
  [
    'deliveries',
    ({ deliveries }) => deliveries.map((one) => `${one.event} ${one.destinationName}: ${one.state}`).join('; '),
  ],
];

export function* exported(
  format: 'csv' | 'json',
  first: IteratorResult<Alert[], unknown>,
  rest: Iterable<Alert[]>,
): Generator<string> {
  if (format === 'csv') yield `${COLUMNS.map(([name]) => name).join(',')}\r\n`;
  else yield '{"items":[';
  let before = '';
  const part = (alerts: Alert[]) => {
    if (format === 'csv') {
      return alerts.map((alert) => `${COLUMNS.map(([, of]) => cell(of(alert))).join(',')}\r\n`).join('');
    }
    const text = before + alerts.map((alert) => JSON.stringify(alert)).join(',\n');
    before = ',\n';
    return text;
  };
  if (first.done !== true) {
    yield part(first.value);
    for (const page of rest) yield part(page);
  }
  if (format === 'json') yield ']}\n';
}
