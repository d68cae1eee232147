import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import type { Change } from '../../http/live-updates/schema.ts';
import { Newcomers } from './newcomers.ts';

const statsd = (...senders: object[]) => ({ inputs: { statsd: { senders } } }) as never;
const sender = (address: string, first: number, more: object = {}) => ({
  ...{ address, samples: 100, newSeries: 7, refused: {}, last: new Date(first).toISOString() },
  ...{ first: new Date(first).toISOString() },
  ...more,
});

test('who sends for the first time is announced for a day, once, also when the store has forgotten it', async (t) => {
  const { appliance, clock, client } = await bench(t);
  await client.setUp();
  const published: Change[] = [];
  const changes = { publish: (topic: string) => published.push({ topic }) } as never;
  const newcomers = new Newcomers({ db: appliance.db, clock, changes, audit: appliance.audit });
  const caller = { name: 'ada', address: '192.0.2.1', way: 'page' } as never;
  const began = clock.now() - 120_000;

  newcomers.look(statsd(sender('192.0.2.7', began), sender('others', began), sender('this machine', began)));
  assert.deepEqual(newcomers.list(), {
    items: [
      {
        ...{
          input: 'statsd',
          address: '192.0.2.7',
          firstAt: new Date(began).toISOString(),
          samples: 100,
          newSeries: 7,
        },
        ...{ canBeNamed: true, hostName: null },
      },
    ],
    total: 1,
  });
  assert.deepEqual(published, [{ topic: 'inputs' }]);

  // The store was started again, and hears of it for the first time.
  newcomers.look(statsd(sender('192.0.2.7', clock.now())));
  assert.equal(newcomers.list().items[0]?.firstAt, new Date(began).toISOString());
  assert.equal(published.length, 1);

  newcomers.look(statsd(sender('198.51.100.9', clock.now(), { samples: 0, newSeries: 0 })));
  assert.equal(newcomers.list().total, 1, 'of whom all was refused is none');
  newcomers.look(statsd(sender('192.0.2.8', clock.now()), sender('192.0.2.9', clock.now())));
  assert.equal(newcomers.list().total, 3);
  newcomers.dismiss({ input: 'statsd', address: '192.0.2.8' }, caller);
  assert.deepEqual(
    newcomers.list().items.map(({ address, newSeries }) => [address, newSeries]),
    [
      ['192.0.2.9', 7],
      ['192.0.2.7', null],
    ],
  );
  assert.throws(() => newcomers.dismiss({ address: '203.0.113.1' }, caller), /Nothing has come from 203/);
  assert.equal((await client.get('/api/new-senders')).body.total, 2);
  assert.equal((await client.post('/api/new-senders/dismiss', { address: '203.0.113.1' })).status, 404);

  clock.advance(86_400 - 60);
  assert.deepEqual(
    newcomers.list().items.map(({ address }) => address),
    ['192.0.2.9'],
  );
  newcomers.dismiss({}, caller);
  assert.equal(newcomers.list().total, 0);
  newcomers.look(statsd(sender('192.0.2.9', clock.now())));
  assert.equal(newcomers.list().total, 0, 'it is known for good');
});

test('whose label host is set is told with the announcement', async (t) => {
  const { appliance, clock, client } = await bench(t);
  await client.setUp();
  const newcomers = new Newcomers({ ...appliance, clock });
  const senders = [
    sender('192.0.2.7', clock.now()),
    sender('192.0.2.8', clock.now()),
    sender('2001:db8::/64', clock.now()),
  ];
  const hostNames = [{ address: '192.0.2.7', name: 'web1' }];
  const told = (settings: object) => {
    newcomers.look({ inputs: { statsd: { senders, ...settings }, otlp: { senders: senders.slice(0, 1) } } } as never);
    return newcomers.list().items.map(({ input, canBeNamed, hostName }) => [input, canBeNamed, hostName]);
  };
  const others = [['otlp', false, null]];
  assert.deepEqual(told({}), [...others, ...Array(3).fill(['statsd', true, null])]);
  assert.deepEqual(told({ hostNames }), [
    ...others,
    ['statsd', true, 'web1'],
    ...Array(2).fill(['statsd', true, null]),
  ]);
  assert.deepEqual(told({ hostNames, senderIsHost: true }), [
    ...others,
    ...[
      ['statsd', true, 'web1'],
      ['statsd', true, '192.0.2.8'],
      ['statsd', true, null],
    ],
  ]);
});
