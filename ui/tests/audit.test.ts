import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences } from '../src/access/audit/difference.ts';

test('what changed is shown field by field, and nothing else', () => {
  const before = { name: 'Mail', enabled: true, email: { to: ['a', 'b'], port: 25 }, note: null };
  const after = { name: 'Mail', enabled: false, email: { to: ['a'], port: 25 }, note: 'new' };
  assert.deepEqual(differences(before, after), [
    { field: 'enabled', before: 'true', after: 'false' },
    { field: 'email.to.1', before: 'b', after: null },
    { field: 'note', before: null, after: 'new' },
  ]);
  assert.deepEqual(differences(null, { role: 'viewer', list: [] }), [
    { field: 'role', before: null, after: 'viewer' },
    { field: 'list', before: null, after: '[]' },
  ]);
  assert.deepEqual(differences('tank/a', 'tank/b'), [{ field: '', before: 'tank/a', after: 'tank/b' }]);
  assert.deepEqual(differences(null, null), []);
});
