import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DropWatch } from './drops.ts';

test('drops are counted from when somebody looks, over restarts, until a minute without any has passed', () => {
  const watch = new DropWatch();
  const looks: [total: number | null, seconds: number, said: number][] = [
    [500, 0, 0], // before anybody looked
    [500, 10, 0],
    [503, 20, 3],
    [503, 79, 3],
    [504, 80, 4],
    [2, 90, 6], // started again
    [null, 100, 6], // off
    [2, 150, 6],
    [2, 151, 0],
    [3, 300, 1],
  ];
  for (const [total, seconds, said] of looks) assert.equal(watch.look(total, seconds * 1000), said, `at ${seconds} s`);
});
