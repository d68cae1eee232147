// How a line is called, by the labels of its series.
/** A series by the labels that distinguish it from the others. */
export function seriesName(labels: Readonly<Record<string, string>>, metric: string): string {
  const pairs = Object.entries(labels).filter(([name]) => name !== '__name__');
  if (pairs.length === 0) return metric;
  if (pairs.length === 1) return (pairs[0] as [string, string])[1] || '(none)';
  return pairs.map(([name, value]) => `${name}=${value}`).join(' ');
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** A series in full, as PromQL has it: `free_bytes{host="web1"}`; a name with dots stands in the braces. */
export function seriesInFull({ __name__: name = '', ...labels }: Readonly<Record<string, string>>): string {
  const plain = name === '' || NAME.test(name);
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  if (!plain) pairs.unshift(JSON.stringify(name));
  return (plain ? name : '') + (pairs.length === 0 ? '' : `{${pairs.join(', ')}}`);
}
