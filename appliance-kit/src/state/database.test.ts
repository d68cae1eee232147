import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Database } from './database.ts';

const things = [{ name: 'state', migrations: [{ sql: 'CREATE TABLE things (text TEXT NOT NULL)' }] }];

test('a full disk is reported as such, nothing of the transaction stays, and the next one works', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'database-'));
  const db = new Database(join(folder, 'state.db'), things);
  t.after(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });
  db.run("INSERT INTO things VALUES ('kept')");
  // SQLite's own limit is what a full disk is to it, and makes it roll back by itself.
  const pages = Number(db.get('PRAGMA page_count')?.page_count);
  db.get(`PRAGMA max_page_count = ${pages + 1}`);
  const fill = () =>
    db.transaction(() => {
      for (let n = 0; n < 100; n++) db.run('INSERT INTO things VALUES (?)', 'x'.repeat(4000));
    });
  assert.throws(fill, /database or disk is full/);
  assert.deepEqual(
    db.all('SELECT text FROM things').map(({ text }) => text),
    ['kept'],
  );
  db.get('PRAGMA max_page_count = 1000');
  fill();
  assert.equal(db.get('SELECT count(*) AS n FROM things')?.n, 101);
});

test('only its owner reads it, also where an earlier version had left it to the group', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'database-'));
  const before = process.umask(0o027);
  t.after(() => {
    process.umask(before);
    rmSync(folder, { recursive: true });
  });
  const modes = () =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
    );
  for (const when of ['made', 'opened again']) {
    const db = new Database(join(folder, 'state.db'), things);
    db.run("INSERT INTO things VALUES ('kept')");
    assert.deepEqual(modes(), { 'state.db': '600', 'state.db-shm': '600', 'state.db-wal': '600' }, when);
    db.close();
    chmodSync(join(folder, 'state.db'), 0o640);
  }
});
