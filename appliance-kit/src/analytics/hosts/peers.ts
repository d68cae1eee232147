// Which hosts are unlike their peers: those whose value is far from the median of a group of alike ones, measured by the
// median absolute deviation (MAD), which a few outliers do not move.
export const LEAST_PEERS = 5;
/** How many MADs are far: of values that are spread normally one in 1,300 is. */
export const FAR_MADS = 5;
/** When at least half of a group have one value the MAD is 0: then so many mean absolute deviations are far. */
const FAR_MEANS = 4;
/** Nothing that is closer to the median than this share of it is unlike. */
const LEAST_SHARE = 0.1;

export interface Unlike {
  readonly median: number;
  readonly deviation: number;
  readonly peers: number;
  readonly words: string;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

const short = (value: number) => String(Number(value.toPrecision(4)));

/**
 * @param group what the peers have in common, in words; empty: they are all hosts
 * @param least what is closer than this is no difference, in the unit of the values
 * @param written how a value is written
 */
export function unlikePeers(
  values: ReadonlyMap<string, number>,
  group: string,
  least = 0,
  written = short,
): Map<string, Unlike> {
  const marked = new Map<string, Unlike>();
  const finite = [...values].filter(([, value]) => Number.isFinite(value));
  if (finite.length < LEAST_PEERS) return marked;
  const middle = median(finite.map(([, value]) => value));
  const away = finite.map(([, value]) => Math.abs(value - middle));
  const mad = median(away);
  const far = Math.max(mad > 0 ? FAR_MADS * mad : FAR_MEANS * mean(away), LEAST_SHARE * Math.abs(middle), least);
  for (const [name, value] of finite) {
    if (Math.abs(value - middle) <= far) continue;
    const peers = finite.length;
    const whose = group === '' ? `${peers} hosts` : `${peers} hosts with ${group}`;
    const words = `${written(value)}, where the median of ${whose} is ${written(middle)}`;
    marked.set(name, { median: middle, deviation: mad, peers, words });
  }
  return marked;
}
