import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import { tuningBy } from '../../platform/tuning.ts';

const MIB = 1024 ** 2;

test('the system is tuned, and put back; a wrong value is refused at its field', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const first = (await on.client.get('/api/tuning')).body;
  assert.deepEqual([first.values, first.atStart, first.unreadable], [{}, false, false]);
  const of = (body: { tunables: Record<string, unknown>[] }, name: string) =>
    body.tunables.find((one) => one.name === name) as Record<string, unknown>;
  const writes = of(first, 'writes-per-disk');
  assert.deepEqual(
    [writes.title, writes.unit, writes.least, writes.most, writes.now, writes.default],
    ['Writes that a disk is given at the same time', 'count', 1, 100, 10, 10],
  );
  const values = { 'writes-per-disk': 3, 'log-bytes': 64 * MIB };
  const { status, body } = await on.client.put('/api/tuning', { values });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.values, of(body, 'writes-per-disk').now, of(body, 'log-bytes').now], [values, 3, 64 * MIB]);
  const [entry] = (await on.client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual(
    [entry.action, entry.user, entry.before, entry.after],
    ['tuning.set', 'ada', { values: {} }, { values }],
  );
  for (const [wrong, path, says] of [
    [
      { 'transaction-group-seconds': 61 },
      '/values/transaction-group-seconds',
      /^Longest time between .*: It is 1 to 60/,
    ],
    [{ 'arc-maximum-bytes': 1 }, '/values/arc-maximum-bytes', /It is 64 MiB to 7680 MiB/],
    [
      { 'arc-maximum-bytes': 64 * MIB, 'arc-minimum-bytes': 128 * MIB },
      '/values/arc-minimum-bytes',
      /more than the most that ZFS may keep, 64 MiB/,
    ],
  ] as const) {
    const refused = await on.client.put('/api/tuning', { values: wrong });
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    assert.match(refused.body.detail, says);
    assert.equal(refused.body.errors[0].path, path);
  }
  assert.deepEqual((await on.client.get('/api/tuning')).body.values, values);
  const undone = (await on.client.put('/api/tuning', { values: {} })).body;
  assert.deepEqual([undone.values, of(undone, 'writes-per-disk').now], [{}, 10]);
});

test('execd is given the document with its version', async () => {
  const ran: unknown[] = [];
  const tuning = tuningBy(async (verb, body) => {
    ran.push([verb, body]);
    return {};
  });
  await tuning.set({ 'writes-per-disk': 3 });
  assert.deepEqual(ran, [['tunables.set', { document: { version: 1, values: { 'writes-per-disk': 3 } } }]]);
});
