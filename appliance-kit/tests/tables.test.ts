// Who may name the tables of another domain in SQL. The imports are held by tests/lint/imports.ts; this is the same for the
// database, where one transaction over several domains' tables is sometimes the point.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const src = path.join(import.meta.dirname, '../src');

/** What a folder reads or writes of another one's, and why it is no call of that domain. */
const shared: readonly (readonly [folder: string, tables: readonly string[], why: string])[] = [
  [
    'alerting/alerts',
    ['outbox', 'deliveries', 'destinations', 'held'],
    'an alert, its message, and who is to get it exist together or not at all: one transaction',
  ],
  ['alerting/destinations', ['deliveries'], 'a destination is removed together with what still waits for it'],
  ['access/session', ['users'], 'a sign-in compares the password, counts the attempt and makes the session at once'],
  ['access/tokens', ['users'], 'a token is looked up together with the role of its owner, with each request'],
  ['access/configuration-changes', ['audit'], 'it is a view of the audit log'],
  ['analytics/statistics', ['alerts', 'audit', 'scans'], 'marks on the time axis are one query over all of them'],
];

/** Tables by the folder whose migrations make them, and which folder names which tables. */
export function usage(files: readonly { folder: string; text: string }[]) {
  const owner = new Map<string, string>();
  for (const { folder, text } of files)
    for (const [, table] of text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g)) owner.set(table as string, folder);
  const named = new Map<string, Set<string>>();
  for (const { folder, text } of files) {
    for (const [, table] of text.matchAll(/\b(?:FROM|INTO|UPDATE|JOIN)\s+(\w+)/g)) {
      const of = owner.get(table as string);
      if (of === undefined || of === folder) continue;
      const tables = named.get(folder) ?? new Set();
      named.set(folder, tables.add(table as string));
    }
  }
  return named;
}

test('a domain names the tables of another one only where that is declared, with its reason', () => {
  const files = globSync('**/*.ts', { cwd: src })
    .map(String)
    .filter((name) => !name.endsWith('.test.ts'))
    .map((name) => ({ folder: path.dirname(name), text: readFileSync(path.join(src, name), 'utf8') }));
  const plain = (all: Iterable<readonly [string, Iterable<string>]>) =>
    Object.fromEntries([...all].map(([folder, tables]) => [folder, [...tables].sort()]));
  assert.deepEqual(plain(usage(files)), plain(shared.map(([folder, tables]) => [folder, tables])));
});

test('a table of another domain is seen', () => {
  const files = [
    { folder: 'a', text: 'CREATE TABLE ours (id); SELECT * FROM ours' },
    { folder: 'b', text: 'UPDATE ours SET id = 1' },
  ];
  assert.deepEqual(
    [...usage(files)].map(([folder, tables]) => [folder, [...tables]]),
    [['b', ['ours']]],
  );
});
