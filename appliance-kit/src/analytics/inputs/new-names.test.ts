import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewNames } from './new-names.ts';

test('pages are told of new names at once, seldom while many come, and nobody is asked while no page is open', async () => {
  let now = 1_000_000;
  let version = 'a';
  let asked = 0;
  let told = 0;
  const changes = { watched: false, publish: (topic: string) => assert.equal(topic, 'metrics', `${++told}`) };
  const names = new NewNames({
    clock: { now: () => now } as never,
    changes: changes as never,
    version: async () => {
      asked++;
      return version;
    },
  });
  const seconds = async (n: number, each = () => {}) => {
    for (let i = 0; i < 2 * n; i++) {
      each();
      now += 500;
      await names.look();
    }
  };
  await seconds(10);
  assert.equal(asked, 0, 'nobody looks');
  changes.watched = true;
  await seconds(10);
  assert.equal(told, 1, 'what came meanwhile');
  version = 'b';
  now += 500;
  await names.look();
  assert.equal(told, 2, 'at once');
  await seconds(60);
  assert.equal(told, 2, 'nothing came');
  let n = 0;
  const many = () => {
    version = `${n++}`;
  };
  await seconds(120, many);
  assert.ok(told > 5 && told < 12, `told ${told} times in two minutes`);
  await seconds(90);
  const before = told;
  version = 'z';
  now += 500;
  await names.look();
  assert.equal(told, before + 1, 'at once again');
  await seconds(60);
  version = 'y';
  await seconds(1);
  assert.equal(told, before + 2);
});
