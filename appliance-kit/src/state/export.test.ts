import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { allSteps } from '../appliance.ts';
import { Database } from './database.ts';
import { exportConfiguration } from './export.ts';

const canary = 'c4n4ry-9';

test('the exported configuration holds everything but the secrets', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'export-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const db = new Database(join(directory, 'state.db'), allSteps);
  db.run(
    "INSERT INTO users (name, role, password_hash, created_at) VALUES ('ann', 'operator', ?, 1)",
    `scrypt$${canary}`,
  );
  db.run("INSERT INTO sessions (hash, user, created_at, expires_at) VALUES (?, 'ann', 1, 2)", canary);
  db.run("INSERT INTO known_browsers VALUES (?, 'ann', 1)", canary);
  db.run(
    "INSERT INTO factors (id, user, kind, name, sealed_secret, created_at, last_step) VALUES ('f1', 'ann', 'app', 'phone', ?, 1, 1)",
    canary,
  );
  db.run("INSERT INTO recovery_codes (user, hash) VALUES ('ann', ?)", canary);
  db.run("INSERT INTO tokens (id, name, role, hash, created_at) VALUES ('t1', 'shop', 'writer', ?, 1)", canary);
  const settings = {
    email: { host: 'mail.example', password: canary },
    snmp: { community: canary, authPassword: canary },
  };
  db.run(
    "INSERT INTO destinations (id, name, kind, enabled, settings_json, created_at) VALUES ('d1', 'On call', 'email', 1, ?, 1)",
    JSON.stringify(settings),
  );
  db.run("INSERT INTO thresholds VALUES ('r1', ?, 1)", `{"password": "${canary}", broken`);
  db.close();

  const text = JSON.stringify(exportConfiguration(directory));
  assert.ok(!text.includes(canary), text);
  for (const kept of ['ann', 'operator', 'phone', 'shop', 'On call', 'mail.example'])
    assert.ok(text.includes(kept), kept);
});

test('a directory without a database is named', () => {
  assert.throws(() => exportConfiguration('/no/such'), /no database at \/no\/such\/state\.db/);
});
