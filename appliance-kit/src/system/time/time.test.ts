import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import { timeBy } from '../../platform/time.ts';
import { lookAtTime, measurementsOf, normalised } from './time.ts';

const server = (address: string, nts = false) => ({ address, pool: false, nts });

async function machine(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}

test('whom it asks is set and read back, in words; the change is in the audit log', async (t) => {
  const on = await machine(t);
  const first = (await on.client.get('/api/time')).body;
  assert.deepEqual([first.servers, first.fromNetwork, first.synchronised], [[], true, true]);
  assert.equal(first.sentence, 'It follows time.example, 2.1 ms apart from it.');
  assert.deepEqual(
    first.asked.map(({ address, from }: Record<string, string>) => [address, from]),
    [['time.example', 'network']],
  );
  const servers = [server('ntp1.example.org', true), server('192.0.2.7')];
  const { status, body } = await on.client.put('/api/time', { servers, fromNetwork: false });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.servers, body.fromNetwork], [servers, false]);
  assert.deepEqual(
    body.sources.map(({ name, state, authenticated, answers }: Record<string, unknown>) => [
      ...[name, state, authenticated, answers],
    ]),
    [
      ['ntp1.example.org', 'followed', true, 8],
      ['192.0.2.7', 'combined', false, 8],
    ],
  );
  const [entry] = (await on.client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual([entry.action, entry.user], ['time.set', 'ada']);
  const wrong = await on.client.put('/api/time', { servers: [server('a b')], fromNetwork: false });
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.detail, /'a b' is no host name/);
  assert.equal(wrong.body.errors[0].path, '/servers/0/address');
  assert.deepEqual((await on.client.get('/api/time')).body.servers, servers);
  // As execd writes them, so that a document that has them otherwise is no change.
  assert.deepEqual(
    normalised({ servers: [server('2001:DB8:0::1'), server('A.example')], fromNetwork: false }).servers,
    [server('2001:db8::1'), server('a.example')],
  );
});

test('one that lies is named, in words and as an alert; with two nobody is followed', async (t) => {
  const on = await machine(t);
  const { conditions } = on.appliance;
  const kept: unknown[] = [];
  const store = async (samples: unknown) => void kept.push(samples);
  const look = () => lookAtTime({ platform: on.simulation, storaged: { store }, conditions });
  const active = async () =>
    (await on.client.get('/api/alerts')).body.items
      .filter((one: { class: string }) => one.class === 'time.disputed')
      .map(({ title, text }: Record<string, string>) => `${title}: ${text}`);
  const addresses = ['a.example', 'b.example', 'c.example', 'd.example'];
  await on.client.put('/api/time', { servers: addresses.map((one) => server(one)), fromNetwork: false });
  await on.simulation.simulate('time-servers', { lying: ['d.example'] });
  await look();
  on.clock.advance(301);
  await look();
  assert.deepEqual(await active(), [
    'A time server says another time: What d.example says contradicts the other time servers.',
  ]);
  const { body } = await on.client.get('/api/time');
  assert.equal(body.synchronised, true);
  assert.equal(body.sources[3].sentence, 'It contradicts others, and is not believed.');
  assert.equal(kept.length, 2);

  await on.client.put('/api/time', { servers: [server('a.example'), server('d.example')], fromNetwork: false });
  const two = (await on.client.get('/api/time')).body;
  assert.deepEqual([two.synchronised, two.offsetSeconds], [false, null]);
  assert.equal(two.sentence, 'The servers contradict each other, and no majority agrees: none is followed.');
  await look();
  assert.equal(kept.length, 2, 'how far a clock is off that follows nobody is not known');
  await on.simulation.simulate('time-servers', { lying: [] });
  await look();
  assert.deepEqual(await active(), []);
});

test('a clock that nobody keeps says so', async (t) => {
  const on = await machine(t);
  await on.simulation.simulate('time-servers', { running: false });
  const { body } = await on.client.get('/api/time');
  assert.deepEqual([body.sentence, body.sources], ['chrony, which keeps the clock, does not run.', []]);
  assert.deepEqual(measurementsOf(await on.simulation.time.read()), []);
});

test('execd is given the document with its version', async () => {
  const ran: unknown[] = [];
  const time = timeBy(async (verb, body) => {
    ran.push([verb, body]);
    return {};
  });
  await time.set({ servers: [server('a.example')], fromNetwork: true });
  await time.read();
  assert.deepEqual(ran, [
    ['time.set', { document: { version: 1, servers: [server('a.example')], fromNetwork: true } }],
    ['time.read', {}],
  ]);
});
