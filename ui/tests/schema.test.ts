// The API's types are those of the API as it is: `npm run generate -w ui` after it changed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

test('src/api/schema.d.ts is what openapi-typescript makes of appliance-kit/openapi.json', () => {
  const root = path.join(import.meta.dirname, '../..');
  const dir = mkdtempSync(path.join(tmpdir(), 'cistern-schema-'));
  try {
    const made = path.join(dir, 'schema.d.ts');
    const generator = path.join(root, 'node_modules/openapi-typescript/bin/cli.js');
    execFileSync(process.execPath, [generator, path.join(root, 'appliance-kit/openapi.json'), '-o', made], {
      stdio: 'pipe',
    });
    const ours = readFileSync(path.join(root, 'ui/src/api/schema.d.ts'), 'utf8');
    assert.ok(ours === readFileSync(made, 'utf8'), 'it differs; run: npm run generate -w ui');
  } finally {
    rmSync(dir, { recursive: true });
  }
});
