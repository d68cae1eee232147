// Which host a series is of. The same rule as storaged's inventory (services/store/tsdb/inventory.go): the first of these
// labels that it has, and of `instance` without the port.

export const HOST_LABELS = ['host', 'host.name', 'host_name', 'instance'] as const;

/** For PromQL: one value for each host, or for each exporter of one. */
export const BY_HOST = 'by (host, "host.name", host_name, instance)';

export function withoutPort(instance: string): string {
  const [, inner, outer] = /^(?:\[([^\]]+)\]|([^:]+)):[0-9]+$/.exec(instance) ?? [];
  return inner ?? outer ?? instance;
}

/** Null: the labels name no host. */
export function hostOf(labels: Readonly<Record<string, string>>): string | null {
  for (const label of HOST_LABELS) {
    const value = labels[label];
    if (value) return label === 'instance' ? withoutPort(value) : value;
  }
  return null;
}

const quoted = (text: string) => JSON.stringify(text);
/** A name with a dot is quoted in PromQL. */
const written = (label: string) => (label.includes('.') ? quoted(label) : label);
const inRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * Selectors of all series of some hosts, one for each label that names them: `by` says which do. With `metric` of that one
 * only. None when only the address of the sender is known.
 */
export function selectorsOf(
  hosts: readonly { readonly name: string; readonly by: readonly string[] }[],
  metric?: string,
): string[] {
  return HOST_LABELS.flatMap((label, at) => {
    const names = hosts.filter(({ by }) => by.includes(label)).map(({ name }) => name);
    const [first] = names;
    if (first === undefined) return [];
    const any = names.length === 1 ? inRegex(first) : `(?:${names.map(inRegex).join('|')})`;
    const own =
      label === 'instance'
        ? `${label}=~${quoted(`\\[?${any}\\]?(?::[0-9]+)?`)}`
        : names.length === 1
          ? `${written(label)}=${quoted(first)}`
          : `${written(label)}=~${quoted(any)}`;
    const matchers = [
      ...(metric === undefined ? [] : [`__name__=${quoted(metric)}`]),
      ...HOST_LABELS.slice(0, at).map((other) => `${written(other)}=""`),
      own,
    ];
    return [`{${matchers.join(', ')}}`];
  });
}
