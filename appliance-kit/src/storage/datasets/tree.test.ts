import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { TestClock } from '../../../tests/harness.ts';
import type { DatasetPlatform } from '../../platform/datasets.ts';
import { Tree } from './tree.ts';

test('whoever watches reads every half a minute as long as no command has changed a dataset', async () => {
  let [asked, unchanged] = [0, true];
  const platform = {
    tree: async () => {
      asked++;
      return { datasets: [], snapshots: [] };
    },
    unchanged: () => unchanged,
  } as unknown as DatasetPlatform;
  const clock = new TestClock();
  const tree = new Tree(platform, clock, () => {});
  const round = async () => {
    clock.advance(10);
    const { ageSeconds } = await tree.watch();
    await settled(); // what is renewed behind the answer
    return ageSeconds;
  };
  assert.deepEqual([await round(), asked], [0, 1]);
  assert.deepEqual([await round(), await round(), asked], [10, 20, 1]);
  assert.deepEqual([await round(), asked], [30, 2]);
  unchanged = false;
  await round();
  assert.equal(asked, 3);
  await round();
  assert.equal(asked, 4);
  unchanged = true;
  clock.advance(10);
  await tree.get();
  await settled();
  assert.equal(asked, 5, 'a page does not rest');
});
