import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';

test('installed systems: which one runs, and having another one start next time', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const list = async () => (await on.client.get('/api/boot-environments')).body.items;
  const [a, b] = await list();
  assert.deepEqual([a.name, a.running, a.starts, a.obstacle], ['A', true, 'next', null]);
  assert.deepEqual([b.running, b.starts, b.version, b.bytes, b.createdAt], [false, 'no', null, null, null]);
  assert.equal(b.obstacle, 'Nothing is installed in this slot.');

  const refused = await on.client.post('/api/boot-environments/B/activate');
  assert.deepEqual(
    [refused.status, refused.body.detail],
    [409, 'The system B cannot be started: Nothing is installed in this slot.'],
  );
  assert.equal((await on.client.post('/api/boot-environments/C/activate')).status, 404);
  assert.deepEqual(await list(), [a, b]);

  await on.simulation.simulate('system', { name: 'B', obstacle: '' });
  await on.simulation.simulate('system', { name: 'A', starts: 'later' });
  await on.simulation.simulate('system', { name: 'B', starts: 'once' });
  assert.deepEqual(
    (await list()).map(({ starts }: { starts: string }) => starts),
    ['later', 'once'],
  );
  const chosen = await on.client.post('/api/boot-environments/A/activate');
  assert.deepEqual(
    chosen.body.items.map(({ starts }: { starts: string }) => starts),
    ['next', 'no'],
  );

  await on.simulation.simulate('system', { name: 'B', createdMs: Date.UTC(2026, 6, 1), bytes: 4096 });
  const [, before] = await list();
  assert.equal(before.createdAt, '2026-07-01T00:00:00.000Z');
  const [entry] = (await on.client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual([entry.action, entry.target, entry.user], ['system.activate', 'A', 'ada']);
  // A boot environment may be called so.
  const odd = await on.client.post(`/api/boot-environments/${encodeURIComponent('omnios r151058 (test): 1')}/activate`);
  assert.equal(odd.body.detail, "There is no system 'omnios r151058 (test): 1' on this machine.");
});
