// How a line is called, by the labels of its series.
/** A series by the labels that distinguish it from the others. */
export function seriesName(labels: Readonly<Record<string, string>>, metric: string): string {
  const pairs = Object.entries(labels).filter(([name]) => name !== '__name__');
  if (pairs.length === 0) return metric;
  if (pairs.length === 1) return (pairs[0] as [string, string])[1] || '(none)';
  return pairs.map(([name, value]) => `${name}=${value}`).join(' ');
}
