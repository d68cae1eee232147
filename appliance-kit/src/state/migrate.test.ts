import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { allSteps } from '../appliance.ts';
import { Database, type Steps } from './database.ts';

/** How it was made: tests/golden/6/README.md. */
const GOLDEN = new URL('../../tests/golden/6/state.db', import.meta.url);

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'migrate-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function read<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Tables and indexes by name, as they were written, without comments and the way of writing. */
const schema = (db: DatabaseSync) =>
  db
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ type, name, sql }) => [
      `${type} ${name}`,
      String(sql)
        .replace(/--[^\n]*/g, '')
        .replace(/\s+/g, ' ')
        .replace(/\s*([(),])\s*/g, '$1'),
    ]);

/** Columns in their order, with their types, defaults and keys: what an INSERT without names relies on. */
const columns = (db: DatabaseSync) =>
  schema(db)
    .filter(([name]) => name?.startsWith('table '))
    .map(([name]) => [name, db.prepare(`PRAGMA table_xinfo("${name?.slice(6)}")`).all()]);

const rows = (db: DatabaseSync) => {
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'applied_steps' ORDER BY name")
    .all()
    .map(({ name }) => String(name));
  return names.map((name) => [name, db.prepare(`SELECT * FROM "${name}" ORDER BY rowid`).all()] as const);
};

test('a database of the last format with one list of steps opens, and keeps every row', (t) => {
  const file = join(folder(t), 'state.db');
  copyFileSync(GOLDEN, file);
  const before = read(file, rows);
  for (const [name, found] of before) assert.ok(found.length > 0, `the golden database has rows in ${name}`);
  new Database(file, allSteps).close();
  // A second time: nothing is left to do.
  new Database(file, allSteps).close();
  const after = new Map(read(file, rows));
  for (const [name, found] of before) {
    if (name === 'attempts') continue; // guesses, which are counted in memory now
    // A column may have been added since; what was there is as it was.
    // The numbers of tables that came later are counted as well.
    const rowsOf = (after.get(name) ?? []).slice(0, name === 'sqlite_sequence' ? found.length : undefined);
    const kept = rowsOf.map((row, at) =>
      Object.fromEntries(Object.keys(found[at] ?? {}).map((column) => [column, row[column]])),
    );
    assert.deepEqual(
      kept,
      found.map((row) => ({ ...row })),
      name,
    );
  }
  // Tables that came later are there, and empty; but each alert of before has a group of its own.
  assert.equal(after.get('alert_groups')?.length, after.get('alerts')?.length);
  after.delete('alert_groups');
  const known = new Set(before.map(([name]) => name));
  for (const [name, found] of after) assert.ok(known.has(name) || found.length === 0, name);
  const steps = read(file, (db) => db.prepare('SELECT domain FROM applied_steps').all()).length;
  assert.equal(steps, allSteps.flatMap(({ migrations }) => migrations).length);
});

test('what was stored under earlier names is read under those of today', (t) => {
  const file = join(folder(t), 'state.db');
  copyFileSync(GOLDEN, file);
  const form = { kind: 'people', metric: 'm', slowerThan: 1, overSeconds: 60, by: [] };
  read(file, (db) => {
    const history = db.prepare("INSERT INTO alert_history VALUES ('al-names', 1, ?, NULL, '')");
    for (const kind of ['taken_back', 'held', 'muted']) history.run(kind);
    const rule = db.prepare('INSERT INTO thresholds VALUES (?, ?, 1)');
    rule.run('people', JSON.stringify({ name: 'Slow', form, raise: 1 }));
    rule.run('rate', JSON.stringify({ name: 'Fast', form: { ...form, kind: 'rate' } }));
    rule.run('none', JSON.stringify({ name: 'Plain', form: null }));
  });
  new Database(file, allSteps).close();
  const found = read(file, (db) => ({
    kinds: db.prepare("SELECT kind FROM alert_history WHERE alert_id = 'al-names' ORDER BY rowid").all(),
    rules: ['people', 'rate', 'none'].map((id) =>
      JSON.parse(String(db.prepare('SELECT rule_json FROM thresholds WHERE id = ?').get(id)?.rule_json)),
    ),
  }));
  assert.deepEqual(
    found.kinds.map(({ kind }) => kind),
    ['withdrawn', 'suppressed', 'muted'],
  );
  assert.deepEqual(found.rules, [
    { name: 'Slow', form: { ...form, kind: 'over-limit' }, raise: 1 },
    { name: 'Fast', form: { ...form, kind: 'rate' } },
    { name: 'Plain', form: null },
  ]);
});

test('a new database has the tables, columns and indexes of one that was taken over', (t) => {
  const directory = folder(t);
  const [taken, fresh] = [join(directory, 'taken.db'), join(directory, 'new.db')];
  copyFileSync(GOLDEN, taken);
  for (const file of [taken, fresh]) new Database(file, allSteps).close();
  assert.deepEqual(read(fresh, schema), read(taken, schema));
  assert.deepEqual(read(fresh, columns), read(taken, columns));
});

const things: Steps = { name: 'things', migrations: [{ sql: 'CREATE TABLE things (id TEXT) STRICT;' }] };

test('an older format is refused with what to do, a newer one is left alone', (t) => {
  const directory = folder(t);
  for (const [format, message] of [
    [3, /format 3 of an early development version.*start a version of format 6 on it once, or move the file away/],
    [8, /newer version \(format 8.*left alone/],
  ] as const) {
    const file = join(directory, `${format}.db`);
    read(file, (db) => db.exec(`PRAGMA user_version=${format}`));
    assert.throws(() => new Database(file, [things]), message);
  }
});

test('a domain that is added, and a further step of another, are applied to what is there', (t) => {
  const file = join(folder(t), 'state.db');
  const db = new Database(file, [things]);
  db.run("INSERT INTO things VALUES ('a')");
  db.close();
  const further = {
    ...things,
    migrations: [...things.migrations, { sql: 'ALTER TABLE things ADD COLUMN name TEXT;' }],
  };
  const added: Steps = { name: 'added', migrations: [{ sql: 'CREATE TABLE added (id TEXT) STRICT;' }] };
  new Database(file, [further, added]).close();
  assert.deepEqual(
    read(file, (opened) => ({ ...opened.prepare('SELECT * FROM things').get() })),
    { id: 'a', name: null },
  );
  // The version before does not touch what it does not know.
  assert.throws(() => new Database(file, [things, added]), /newer version \(step 2 of things/);
});

test('a step that fails leaves nothing of itself', (t) => {
  const file = join(folder(t), 'state.db');
  const broken = { name: 'broken', migrations: [{ sql: 'CREATE TABLE half (id TEXT) STRICT; CREATE NONSENSE;' }] };
  assert.throws(() => new Database(file, [things, broken]), /NONSENSE/);
  const names = read(file, (db) => schema(db).map(([name]) => name));
  assert.deepEqual(names, ['table applied_steps', 'table things']);
});
