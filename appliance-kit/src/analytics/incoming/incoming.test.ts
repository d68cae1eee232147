import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { type Store, storaged } from '../../../tests/storaged.ts';
import { candidatesOf, worstOf } from './moments.ts';
import { silentHosts } from './silent.ts';
import { isDuration, isSlower } from './slower.ts';

const NOW = Date.UTC(2026, 0, 2);
const host = (name: string, state: 'reporting' | 'late' | 'absent' | 'retired', silentFor: number, once = false) => ({
  ...{ name, state, intervalSeconds: once ? null : 1 },
  lastAt: new Date(NOW - silentFor * 1000).toISOString(),
});

test('a host is silent that is absent, and gone after a day; one that is retired is not missed', () => {
  const found = silentHosts(
    [
      host('reporting', 'reporting', 20),
      host('31 s', 'absent', 31),
      host('late', 'late', 170),
      host('190 s', 'absent', 190),
      host('a day', 'absent', 86_400),
      host('gone', 'absent', 86_401),
      host('once', 'absent', 5_000, true),
      host('retired', 'retired', 5_000),
    ],
    NOW,
  );
  assert.equal(found.total, 6);
  assert.deepEqual(
    found.silent.map(({ name }) => name),
    ['a day', '190 s', '31 s'],
  );
});

test('slower is a share that is twice what it was, by a hundredth, and by more than chance', () => {
  assert.equal(isSlower(0.041, 0.01, 20_000), true);
  assert.equal(isSlower(0.019, 0.01, 1_000_000), false, 'not twice');
  assert.equal(isSlower(0.009, 0.001, 1_000_000), false, 'less than a hundredth more');
  assert.equal(isSlower(0.025, 0.012, 1_000), false, 'too few');
  assert.equal(isSlower(0, 0, 1_000), false);
  // A share that is by chance what it is, a thousand hours: no word of it.
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const said = Array.from({ length: 1_000 }, () => {
    const slow = Array.from({ length: 1_000 }, () => random() < 0.01).filter(Boolean).length;
    return isSlower(slow / 1_000, 0.01, 1_000);
  });
  assert.equal(said.filter(Boolean).length, 0);
});

test('durations are known by their names', () => {
  const of = (name: string, type = 'histogram') => isDuration({ name, type } as never);
  const names = ['shop_checkout_seconds', 'checkout.time', 'http.server.request.duration', 'api_latency', 'job_ms'];
  assert.deepEqual(
    names.map((name) => of(name)),
    names.map(() => true),
  );
  assert.deepEqual([of('response_bytes'), of('runtime'), of('uptime_seconds', 'counter')], [false, false, false]);
});

test('moments are those far from the usual of the day, no two beside each other', () => {
  const values = Array.from({ length: 288 }, (_, at): [number, number] => [at * 300, at === 100 || at === 101 ? 9 : 1]);
  values[200] = [60_000, 3];
  values[250] = [75_000, 50];
  const counts = values.map(([time], at): [number, number] => [time, at === 250 ? 5 : 500]);
  const found = worstOf(candidatesOf('a', values, counts));
  assert.deepEqual(
    found.map(({ time, value, usual }) => [time, value, usual]),
    [
      [30_300, 9, 1],
      [60_000, 3, 1],
    ],
  );
});

async function ready(t: TestContext): Promise<{ on: Bench; store: Store; now: number }> {
  const on = await bench(t);
  on.clock.step(Math.round((Date.now() - on.clock.now()) / 1000));
  const store = await storaged(t, on);
  await on.client.setUp();
  return { on, store, now: Math.floor(Date.now() / 1000) };
}

/** A minute's durations each minute of an hour up to `end`: of a hundred so many slow ones. */
const hour = (end: number, slow: number, version: string) =>
  Array.from({ length: 60 }, (_, at) => ({
    name: 'checkout_seconds',
    labels: { host: 'web1', version },
    time: end - 60 * at - 30,
    histogram: { bins: { '0.012': 100 - slow, '0.9': slow } },
  }));

test('what is slower than yesterday or a week ago is said with its share; who sends is counted', async (t) => {
  const { on, store, now } = await ready(t);
  const status = async () => (await on.client.get('/api/status')).body;

  await store.import([...hour(now - 86_400, 0, 'v2'), ...hour(now, 4, 'v3')]);
  const { incoming: found, sentence } = await eventually(async () => {
    const body = await status();
    assert.equal(body.incoming.compared, 1);
    return body;
  }, 30_000);
  assert.ok(sentence, 'that of the appliance stands beside it');
  assert.deepEqual([found.hosts.total, found.hosts.silent], [1, 0]);
  assert.equal(found.sentence, 'Checkout slower than yesterday for 5 % of what it measured.');
  assert.equal(found.state, 'warning');
  const [slower] = found.slower;
  assert.deepEqual([slower.metric, slower.against], ['checkout_seconds', 'day']);
  assert.ok(slower.count > 5_000 && slower.limit < 0.02, JSON.stringify(slower));

  await store.import(hour(now - 7 * 86_400, 4, 'v1'));
  // What is known is a minute old then.
  on.clock.advance(61);
  const after = await eventually(async () => {
    const { incoming } = await status();
    assert.equal(incoming.state, 'ok');
    return incoming;
  }, 30_000);
  const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' }).format(on.clock.now());
  assert.deepEqual(
    [after.state, after.sentence],
    ['ok', `The one host sends, and nothing is slower than last ${weekday}.`],
  );
});

test('too little says nothing; the worst moments of the day name whom, and what the log said is for operators', async (t) => {
  const { on, store, now } = await ready(t);
  const end = now - (now % 300);
  const quiet = Array.from({ length: 36 }, (_, at) => ({
    name: 'login.time',
    labels: { host: `web${at % 2}` },
    time: end - 300 * at - 150,
    histogram: { bins: { '0.012': 400 } },
  }));
  const slow = { name: 'login.time', labels: { host: 'web7' }, time: end - 3_100, histogram: { bins: { '0.9': 60 } } };
  await store.import([...quiet, slow]);
  const { items, computedAt } = await eventually(async () => {
    const { body } = await on.client.get('/api/worst-moments');
    assert.equal(body.items.length, 1);
    return body;
  }, 30_000);
  await eventually(async () => {
    const { incoming } = (await on.client.get('/api/status')).body;
    assert.ok(incoming.comparedAt);
    assert.deepEqual([incoming.compared, incoming.slower], [0, []], 'there is nothing of yesterday');
  }, 30_000);
  assert.ok(computedAt);
  const [moment] = items;
  assert.deepEqual(
    [moment.metric, moment.whom, moment.note],
    ['login.time', { host: 'web7' }, 'The log could not be read.'],
  );
  assert.ok(moment.value > 0.8 && moment.usual < 0.02);
  const { items: shown } = await on.appliance.incoming.moments(false);
  assert.equal(shown[0]?.note, 'Operators may read the log.');
});
