import assert from 'node:assert/strict';
import test from 'node:test';
import { periodOf, repeatsInWords } from '../src/charts/repeats.ts';

/** Numbers that are the same in each run. */
function numbers(seed: number) {
  let state = seed;
  const uniform = () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const gauss = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, gauss };
}
const { uniform, gauss } = numbers(7);

/** What remembers `memory` of each value, and whose sum is taken when it `walks`. */
const wander = (memory: number, walks: boolean) => (count: number) => {
  let [speed, place] = [0, 0];
  return Float64Array.from({ length: count }, () => {
    speed = memory * speed + gauss();
    place = walks ? place + speed : speed;
    return place;
  });
};
const without = {
  noise: wander(0, false),
  'noise that remembers': wander(0.9, false),
  'a random walk': wander(0, true),
  'spikes at random': (count: number) =>
    Float64Array.from({ length: count }, () => (uniform() < 0.03 ? 10 : 0) + gauss() * 0.1),
  'a trend': (count: number) => Float64Array.from({ length: count }, (_, i) => i + gauss() * 3),
} satisfies Record<string, (count: number) => Float64Array>;

test('what does not repeat is said to in fewer than 1 of 200 charts', (t) => {
  for (const [name, made] of Object.entries(without)) {
    for (const count of [60, 120, 300, 600]) {
      const named = Array.from({ length: 400 }, () => periodOf(made(count), 1)).filter((one) => one !== null).length;
      assert.ok(named <= 2, `${name}, ${count} values: ${named} of 400`);
    }
  }
  const momentum = [60, 120, 300, 600].flatMap((count) =>
    Array.from({ length: 400 }, () => periodOf(wander(0.95, true)(count), 1)),
  );
  const named = momentum.filter((one) => one !== null).length;
  t.diagnostic(`walks with momentum: ${named} of ${momentum.length}`);
  assert.ok(named <= momentum.length / 50, `${named} of ${momentum.length}`);
});

test('what repeats is said to, and how often', () => {
  const repeating: Record<string, (count: number, period: number) => Float64Array> = {
    'a wave in noise': (count, period) =>
      Float64Array.from({ length: count }, (_, i) => Math.sin((2 * Math.PI * i) / period) + 0.3 * gauss()),
    'a job that runs for an eighth of the time': (count, period) =>
      Float64Array.from({ length: count }, (_, i) => (i % period < period / 8 ? 5 : 0) + 0.7 * gauss()),
    'a load that grows and falls, on a walk': (count, period) => {
      let walked = 0;
      return Float64Array.from({ length: count }, (_, i) => {
        walked += 0.05 * gauss();
        return walked + (i % period) / period + 0.05 * gauss();
      });
    },
  };
  for (const [name, made] of Object.entries(repeating)) {
    for (const [count, period] of [
      [120, 20],
      [300, 37.3],
      [600, 100],
      [600, 12],
    ] as const) {
      const near = Array.from({ length: 50 }, () => periodOf(made(count, period), 10)).filter(
        (one) => one !== null && Math.abs(one - 10 * period) < 0.6 * period,
      );
      assert.ok(near.length >= 40, `${name}, every ${period} of ${count}: ${near.length} of 50`);
    }
  }
});

test('a gap, a late beginning and too few values', () => {
  const job = Float64Array.from({ length: 600 }, (_, i) => (i % 60 < 6 ? 5 : 1) + 0.2 * gauss());
  const gap = job.slice().fill(Number.NaN, 200, 250);
  assert.equal(Math.round(periodOf(gap, 10) ?? 0), 600);
  assert.equal(Math.round(periodOf(job.slice().fill(Number.NaN, 0, 200), 10) ?? 0), 600);
  assert.equal(periodOf(job.slice().fill(Number.NaN, 100, 400), 10), null);
  assert.equal(periodOf(job.subarray(0, 40), 10), null);
  assert.equal(periodOf(new Float64Array(600).fill(3), 10), null);
  assert.equal(periodOf(new Float64Array(600).fill(Number.NaN), 10), null);
});

test('the words name the time that is set, and the lines', () => {
  const line = (text: string, period: number, from = 0) => ({
    text,
    values: Float64Array.from({ length: 600 }, (_, i) => ((i + from) % period < 6 ? 5 : 0) + 0.2 * gauss()),
  });
  const noise = { text: 'noise', values: without.noise(600) };
  assert.equal(repeatsInWords([line('a', 60)], 10), 'Repeats every 10 minutes');
  assert.equal(repeatsInWords([line('a', 60), noise], 10), 'a repeats every 10 minutes');
  assert.equal(repeatsInWords([noise, line('a', 60), line('b', 60, 9)], 10), 'a and b repeat every 10 minutes');
  assert.equal(
    repeatsInWords([noise, line('a', 60), line('b', 90), line('c', 60, 3), line('d', 60)], 10),
    '3 of 5 lines repeat every 10 minutes',
  );
  assert.equal(repeatsInWords([noise], 10), null);
  assert.equal(repeatsInWords([], 10), null);
});
