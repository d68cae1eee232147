import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places } from './places.ts';

test('nobody takes the places of others, and one that is given back is free', () => {
  const places = new Places(3, 2, 'pages are watching');
  const [ada, eve] = [
    { name: 'ada', address: '192.0.2.1' },
    { name: 'eve', address: '192.0.2.2' },
  ];
  const giveBack = places.take(ada);
  places.take(ada);
  assert.throws(() => places.take(ada), { message: /^2 pages are watching for ada already/ });
  places.take(eve);
  assert.throws(() => places.take(eve), { message: /^3 pages are watching already/ });
  giveBack();
  giveBack();
  places.take(eve);
  assert.throws(() => places.take({ name: '', address: '192.0.2.3' }), { message: /^3 pages/ });
});
