import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
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

test('a place is held as long as the work takes, also when it fails', async () => {
  const places = new Places(1, 1, 'exports are under way');
  const ada = { name: 'ada', address: '192.0.2.1' };
  let end = () => {};
  const first = places.during(
    ada,
    () =>
      new Promise<string>((resolve) => {
        end = () => resolve('done');
      }),
  );
  await assert.rejects(
    places.during(ada, async () => 'never begun'),
    /^ProblemError: 1 exports are under way for ada already/,
  );
  end();
  assert.equal(await first, 'done');
  await assert.rejects(
    places.during(ada, async () => {
      throw new Error('it failed');
    }),
    /it failed/,
  );
  assert.equal(await places.during(ada, async () => 'again'), 'again');
});

test('whoever sends an answer by its own hand holds a place meanwhile', () => {
  const folder = path.join(import.meta.dirname, '../..');
  const files = globSync('**/*.ts', { cwd: folder }).filter((name) => !name.endsWith('.test.ts'));
  const sending = files.filter((name) => readFileSync(path.join(folder, name), 'utf8').includes('reply.hijack()'));
  assert.ok(sending.length >= 6, sending.join(' '));
  for (const name of sending)
    assert.match(readFileSync(path.join(folder, name), 'utf8'), /laces\.(take|during)\(caller/, name);
});
