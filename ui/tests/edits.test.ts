import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifMatch, keepTyped } from '../src/api/edits.ts';

test('what was typed stays, and what was not is the current value', () => {
  const before = { name: 'Busy', raise: '10', to: ['a'], hours: null };
  const typed = { ...before, raise: '20', to: ['a', 'b'] };
  const current = { name: 'Very busy', raise: '15', to: ['c'], hours: { from: '08:00' } };
  assert.deepEqual(keepTyped<object>(typed, before, current), {
    name: 'Very busy',
    raise: '20',
    to: ['a', 'b'],
    hours: { from: '08:00' },
  });
  assert.deepEqual(keepTyped<object>({ ...before, to: ['a'] }, before, current), current, 'the same in another object');
});

test('what has no ETag is written as it is', () => {
  assert.deepEqual(ifMatch({ etag: 'abc' }), { 'If-Match': 'abc' });
  assert.deepEqual(ifMatch({}), {});
});
