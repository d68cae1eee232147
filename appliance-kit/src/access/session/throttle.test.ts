import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, Client, PASSWORD, TestClock } from '../../../tests/harness.ts';
import { FREE_GUESSES, networkOf, Throttle } from './throttle.ts';

/** All 10,000 take three quarters of a minute of hashing, so that they are guessed nightly. */
const ADDRESSES = process.env.CISTERN_VARIANTS === '1' ? 100 : 15;

test(`${ADDRESSES * 100} wrong passwords from ${ADDRESSES} addresses: the right one is answered`, async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const codes = new Map<string, number>();
  const attack = async (address: string) => {
    const one = new Client(appliance, address);
    for (let n = 0; n < 100; n++) {
      const { body } = await one.post('/api/session', { user: 'ada', password: `guess ${n}` });
      codes.set(body.code, (codes.get(body.code) ?? 0) + 1);
    }
  };
  const attackers = Array.from({ length: ADDRESSES }, (_, n) => attack(`203.0.113.${n}`));
  // A browser that nobody has signed in with, from an address of its own, in the middle of it.
  const right = new Client(appliance, '198.51.100.1').post('/api/session', { user: 'ada', password: PASSWORD });
  const known = client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal((await known).status, 200);
  assert.equal((await right).status, 200);
  await Promise.all(attackers);
  assert.equal(codes.get('wrong_credentials'), ADDRESSES * FREE_GUESSES);
  assert.equal(codes.get('locked_out'), ADDRESSES * (100 - FREE_GUESSES));
  assert.equal(codes.size, 2, JSON.stringify([...codes]));
});

test('one address asks for only so many at the same time', () => {
  const throttle = new Throttle(new TestClock(), null);
  const guesses = Array.from({ length: 8 }, () => throttle.begin('password', 'ada', '192.0.2.1'));
  assert.throws(() => throttle.begin('password', 'ada', '192.0.2.1'), /being looked at/);
  guesses[0]?.wrong();
  assert.equal(throttle.begin('password', 'ada', '192.0.2.1').waitMs, 0);
});

test('a name that many guess at makes strangers wait, and nobody who is known', () => {
  const clock = new TestClock();
  const throttle = new Throttle(clock, null);
  for (let n = 0; n < 300; n++) throttle.begin('password', 'ada', `2001:db8:0:${n.toString(16)}::1`).wrong();
  assert.equal(throttle.begin('password', 'ada', '192.0.2.1').waitMs, 5_000);
  assert.equal(throttle.begin('password', 'bob', '192.0.2.2').waitMs, 0);
  assert.equal(throttle.begin('password', 'ada', '192.0.2.3', 'device').waitMs, 0);
  clock.advance(600);
  assert.equal(throttle.begin('password', 'ada', '192.0.2.4').waitMs, 0);
});

test('addresses of IPv6 count by their network', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  assert.equal(networkOf('2001:db8:1:2::6'), '2001:db8:1:2::/64');
  assert.equal(networkOf('2001:0DB8::1'), '2001:db8:0:0::/64');
  assert.equal(networkOf('::1'), '0:0:0:0::/64');
});
