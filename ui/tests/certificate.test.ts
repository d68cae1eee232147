import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesOf, proposed } from '../src/access/certificate/names.ts';

test('names and addresses are told apart as they are typed', () => {
  assert.deepEqual(namesOf(' cistern.example, 192.0.2.7;2001:db8::7\nface.local '), {
    names: ['cistern.example', 'face.local'],
    addresses: ['192.0.2.7', '2001:db8::7'],
  });
  assert.deepEqual(namesOf(' '), { names: [], addresses: [] });
});

test('what is proposed is how the page is open, and what the present certificate is for', () => {
  const present = { names: ['cistern', 'cistern.local'], addresses: ['192.0.2.7'] };
  assert.equal(proposed(present, 'cistern.local'), 'cistern.local cistern 192.0.2.7');
  assert.equal(proposed(null, '[2001:db8::7]'), '2001:db8::7');
});
