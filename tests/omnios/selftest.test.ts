// What docs/OMNIOS.md calls not run names the check of the self-test that runs it there, or says why none can.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

test('each claim that is not run has a check, or a reason', () => {
  const selftest = read('image/omnios/selftest');
  const named = [...selftest.matchAll(/\bcheck "([^"]+)"/g)].map((found) => found[1] ?? '');
  const called = read('image/omnios/calls')
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, , how]) => how === 'reads')
    .map(([process, , , , does]) => `${process} ${does}`);
  const rows = read('docs/OMNIOS.md')
    .split('\n')
    .map((line) => line.split(/(?<!\\) \| /))
    .filter((cells) => cells.length === 3 && /\bnot run\b/.test(cells[1] ?? ''));
  assert.ok(rows.length > 15, `${rows.length} rows`);
  for (const [claim = '', , where = ''] of rows) {
    if (/(^|, )cannot: \S/.test(where)) continue;
    const checks = /`selftest(?: --\w+)?` \(([^)]+)\)/.exec(where)?.[1]?.split('; ');
    assert.ok(checks !== undefined, `${claim}: say “\`selftest\` (NAME OF A CHECK)”, or “cannot: WHY”`);
    for (const check of checks) {
      const known = [...named, ...called].some((name) => name.includes(check));
      assert.ok(known, `${claim}: the self-test has no check “${check}”`);
    }
  }
});
