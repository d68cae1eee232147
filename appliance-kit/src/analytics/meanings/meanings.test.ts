// What people say of metrics, on a real store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import { storaged } from '../../../tests/storaged.ts';

const checkout = '/api/metric-meanings/shop.checkout%2Ftotal';
const nothing = { unit: '', description: '', limit: null };

test('a unit that a person names is in alerts, over restarts of the store, until it is taken back', async (t) => {
  const { appliance, client, clock, directory } = await bench(t);
  clock.step(Math.round((Date.now() - clock.now()) / 1000));
  let store = await storaged(t, { directory });
  await client.setUp();
  const name = 'shop.checkout/total';
  const send = (value: number) => store.import([{ name, labels: { host: 'h1' }, value }]);
  await send(900);
  const { body: empty } = await client.get(checkout);
  assert.deepEqual({ ...empty, etag: '' }, { name, ...nothing, etag: '' });
  const said = { unit: 'ms', description: 'until it is paid', limit: 250 };
  const { body: made } = await client.put(checkout, said);
  assert.deepEqual({ ...made, etag: '' }, { name, ...said, unit: 'milliseconds', etag: '' });

  const rule = {
    ...{ name: 'Checkout', expression: `{"${name}"}`, direction: 'above', raise: 250, clear: 200, raiseForSeconds: 0 },
    ...{ clearForSeconds: 0, repostSeconds: 0, severity: 'warning', enabled: true, destinations: [] },
  };
  assert.equal((await client.post('/api/thresholds', rule)).status, 201);
  await appliance.thresholds.evaluate();
  const alert = async () => (await client.get('/api/alerts')).body.items.at(0);
  const raised = await alert();
  assert.equal(raised.text, 'Checkout (host="h1") is 900 ms, above the limit of 250 ms.');
  assert.deepEqual([raised.value, raised.limit, raised.unit], [900, 250, 'milliseconds']);

  await store.stop();
  assert.equal((await client.put(checkout, said)).body.code, 'service_unavailable');
  store = await storaged(t, { directory });
  assert.deepEqual(
    (await client.get('/api/metric-meanings')).body.items.map((one: { name: string }) => one.name),
    [name],
  );
  assert.equal((await client.delete(checkout)).status, 204);
  assert.deepEqual((await client.get('/api/metric-meanings')).body.items, []);
  const { body: audit } = await client.get('/api/audit-log?action=metric-meaning.');
  assert.deepEqual(
    audit.items.map(({ action, target }: { action: string; target: string }) => [action, target]),
    [
      ['metric-meaning.delete', name],
      ['metric-meaning.set', name],
    ],
  );
});

test('what cannot be said is refused by field, and an edit is not lost', async (t) => {
  const { client, directory } = await bench(t);
  await storaged(t, { directory });
  await client.setUp();
  const put = (body: object, headers: Record<string, string> = {}) => client.put(checkout, body, { headers });
  assert.equal((await put({ ...nothing, unit: 'x'.repeat(41) })).body.errors[0].path, '/unit');
  assert.equal((await put({ ...nothing, limit: 'much' })).body.errors[0].path, '/limit');
  assert.equal((await put({ ...nothing, unit: 'a\nb' })).body.errors[0].path, '/unit');
  const { etag } = (await client.get(checkout)).body;
  assert.equal((await put({ ...nothing, unit: 's' }, { 'if-match': etag })).status, 200);
  assert.equal((await put({ ...nothing, unit: 'ms' }, { 'if-match': etag })).body.code, 'edit_conflict');
  assert.equal((await client.get(checkout)).body.unit, 'seconds');
});
