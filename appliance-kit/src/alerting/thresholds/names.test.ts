// Rules over several metrics, on a real store: their series are told apart by name wherever they are named.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import { storaged } from '../../../tests/storaged.ts';

const rule = {
  ...{ name: 'Every gauge', expression: '{__name__=~"gauge_.*"}', direction: 'above', raise: 10, clear: 8 },
  ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, noDataSeconds: 1, severity: 'warning' },
  ...{ enabled: true, destinations: [] },
};

test('two metrics with the same labels are two alerts, each named in full, and are forgotten each for itself', async (t) => {
  const { appliance, client, clock, directory } = await bench(t);
  clock.step(Math.round((Date.now() - clock.now()) / 1000));
  const store = await storaged(t, { directory });
  await client.setUp();
  const labels = { host: 'h6' };
  const send = (one: number, other: number) =>
    store.import([
      { name: 'gauge_1', labels, value: one },
      { name: 'gauge_2', labels, value: other },
      { name: 'gauge.3', labels, value: 3 },
    ]);
  await send(11, 12);
  const { body: made } = await client.post('/api/thresholds', rule);
  const evaluate = async () => {
    clock.advance(2);
    await appliance.thresholds.evaluate();
  };
  await evaluate();
  const active = async () =>
    (await client.get('/api/alerts')).body.items
      .map(({ title, text, labels: own }: { title: string; text: string; labels: object }) => [title, text, own])
      .sort();
  assert.deepEqual(await active(), [
    [
      'Every gauge (gauge_1{host="h6"})',
      'Every gauge (gauge_1{host="h6"}) is 11, above the limit of 10.',
      { __name__: 'gauge_1', ...labels },
    ],
    [
      'Every gauge (gauge_2{host="h6"})',
      'Every gauge (gauge_2{host="h6"}) is 12, above the limit of 10.',
      { __name__: 'gauge_2', ...labels },
    ],
  ]);
  const prometheus = async () =>
    (await client.get('/api/v1/alerts')).body.data.alerts.map((one: { labels: object }) => one.labels);
  assert.deepEqual(
    await prometheus(),
    ['gauge_1', 'gauge_2'].map((name) => ({
      __name__: name,
      ...labels,
      alertname: 'Every gauge',
      severity: 'warning',
    })),
  );
  const begins = { start: Math.floor(clock.now() / 1000), end: Math.floor(clock.now() / 1000) + 3600 };
  const silence = { name: 'The first', ...begins, classes: [], severities: [], text: 'gauge_1{' };
  assert.equal((await client.post('/api/silences', silence)).body.active, 1);

  await send(1, 12);
  await evaluate();
  const [first] = (await client.get('/api/alerts?state=all')).body.items.filter(
    ({ state }: { state: string }) => state === 'cleared',
  );
  assert.equal(first.text, 'Every gauge (gauge_1{host="h6"}) is back within its limit.');

  // Both are gone: each is missed by its name, and forgotten by its own.
  await store.remove('{__name__=~"gauge_.*"}');
  await evaluate();
  await evaluate();
  const missed = async () =>
    (await active()).map(([title]: [string]) => title).filter((title: string) => title.endsWith('has no data'));
  assert.deepEqual(
    await missed(),
    ['gauge_1', 'gauge_2'].map((name) => `Every gauge (${name}{host="h6"}) has no data`),
  );
  const forget = (name: string) =>
    client.post(`/api/thresholds/${made.id}/forget-series`, { labels: { __name__: name, ...labels } });
  assert.equal((await forget('gauge_1')).status, 200);
  assert.deepEqual(await missed(), ['Every gauge (gauge_2{host="h6"}) has no data']);
});
