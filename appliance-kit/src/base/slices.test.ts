import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce, inSlices, type Sliced } from './slices.ts';

function* spinning(steps: number, ms: number): Sliced<number> {
  for (let step = 0; step < steps; step++) {
    const until = performance.now() + ms;
    while (performance.now() < until);
    yield;
  }
  return steps;
}

test('others have their turn while long work is done, and its result and its failure arrive', async () => {
  let turns = 0;
  const other = setInterval(() => turns++, 1);
  assert.equal(await inSlices(spinning(50, 3)), 50);
  clearInterval(other);
  assert.ok(turns >= 5, `${turns} turns in 150 ms`);
  assert.equal(atOnce(spinning(3, 0)), 3);
  await assert.rejects(
    inSlices(
      (function* (): Sliced<never> {
        yield;
        throw new Error('no such line');
      })(),
    ),
    /no such line/,
  );
});
