// Writes the actions of an IPS manifest in the form that pkgfmt (version 2, of pkg5) has: actions by kind and key, attributes in
// their order, lines of at most 80 characters. `pkgfmt -c` finds nothing to change in it.

export interface Action {
  readonly kind: string;
  /** What stands before the attributes: the file that an action takes its content from. */
  readonly payload: string | null;
  /** An attribute with several values is a list of them. */
  readonly attributes: Readonly<Record<string, string | readonly string[]>>;
}

/** The attribute that tells two actions of a kind apart. */
const KEYS: Readonly<Record<string, string>> = {
  ...{ set: 'name', dir: 'path', file: 'path', link: 'path', depend: 'fmri' },
  ...{ license: 'license', group: 'groupname', user: 'username' },
};

const keyOf = ({ kind, attributes }: Action): string => String(attributes[KEYS[kind] ?? ''] ?? '');

/** Where an attribute stands; those of one place are in the order of their names. */
function place(kind: string, name: string, value: string | readonly string[]): number {
  if (name.startsWith('variant.')) return 7;
  if (name.startsWith('facet.')) return 6;
  if (typeof value !== 'string') return 5;
  if (kind === 'depend') {
    if (name === 'type') return 0;
    if (name === 'fmri') return 1;
  } else if (kind !== 'user') {
    if (name === 'owner' || name === 'target') return 1;
    if (name === 'group') return 2;
    if (name === 'mode') return 3;
  }
  return name === KEYS[kind] ? 0 : 4;
}

const quoted = (value: string) =>
  value !== '' && !/[ '"]/.test(value) ? value : value.includes('"') ? `'${value}'` : `"${value}"`;

export function formatAction({ kind, payload, attributes }: Action): string {
  const words = Object.entries(attributes)
    .sort(([a, one], [b, other]) => place(kind, a, one) - place(kind, b, other) || (a < b ? -1 : 1))
    .flatMap(([name, value]) =>
      (typeof value === 'string' ? [value] : [...value].sort()).map((one) => `${name}=${quoted(one)}`),
    );
  let text = payload === null ? kind : `${kind} ${payload}`;
  for (const [at, word] of words.entries()) {
    const onLine = text.length - Math.max(0, text.lastIndexOf('\n')) + word.length;
    // What is not the last needs room for the sign that the line goes on.
    const fits = onLine < (at === words.length - 1 ? 80 : 78);
    // A line with nothing but the kind on it is none.
    text += fits || (words.length === 1 && payload === null) ? ` ${word}` : ` \\\n    ${word}`;
  }
  return text.replace(/^dir /, 'dir  ');
}

const RANKS: Readonly<Record<string, number>> = { set: 1, group: 3, user: 3, license: 4, depend: 5 };

/** Settings: the package's name first, then what is said of it, then ours. */
const SETTINGS = ['pkg.fmri', 'pkg.summary', 'pkg.description'];
function settingRank(name: string): number {
  const at = SETTINGS.indexOf(name);
  return at >= 0 ? at : name.startsWith('pkg.') ? SETTINGS.length : SETTINGS.length + 1;
}

function compare(a: Action, b: Action): number {
  const rank = (RANKS[a.kind] ?? 2) - (RANKS[b.kind] ?? 2);
  if (rank !== 0) return rank;
  if (a.kind === 'set') {
    const said = settingRank(keyOf(a)) - settingRank(keyOf(b));
    if (said !== 0) return said;
  }
  const sorted = ({ kind, attributes }: Action) =>
    kind === 'depend'
      ? `${attributes.type} ${attributes.fmri}`
      : KEYS[kind] === 'path'
        ? `${attributes.path}`
        : `${kind} ${keyOf({ kind, payload: null, attributes })}`;
  return sorted(a) < sorted(b) ? -1 : sorted(a) > sorted(b) ? 1 : 0;
}

export const formatManifest = (actions: readonly Action[]): string =>
  `${[...actions].sort(compare).map(formatAction).join('\n')}\n`;
