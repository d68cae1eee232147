// Measurements as the tests send them, the same every time.

/** Repeatable "random" numbers in [0, 1): a linear congruential generator (Numerical Recipes' constants). */
export function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A service's latencies, one histogram a second up to now: most about 80 ms, a second hump at 400 ms, one in a few
 * hundred slower than 1.5 s.
 */
export function latencies(name: string, seconds: number, labels: Record<string, string> = { host: 'web1' }) {
  const random = sequence(7);
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: seconds }, (_, index) => {
    const bins: Record<string, number> = {};
    const count = 60 + Math.round(40 * Math.sin(index / 9));
    for (let event = 0; event < count; event += 1) {
      const kind = random();
      const spread = 0.6 + random() + random() * 0.4;
      const value = kind < 0.75 ? 0.08 * spread : kind < 0.995 ? 0.4 * spread : 1.6 + random() * 2;
      const bin = Number(value.toPrecision(2)).toString();
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    return { name, labels, time: now - seconds + index, histogram: { bins } };
  });
}
