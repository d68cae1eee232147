// Reads what `zfs` prints with -H (tab-separated, no header) and -p (exact numbers): alike on OpenZFS and illumos.
import type { Sliced } from '../../base/slices.ts';
import type {
  Difference,
  Hold,
  PlatformDataset,
  PlatformProperty,
  PlatformSnapshot,
  PlatformTree,
} from '../datasets.ts';

/** The columns asked for; what is asked for is what is parsed. illumos before encryption would refuse the last three. */
export const TREE_COLUMNS = [
  'name',
  'type',
  'creation',
  'used',
  'available',
  'referenced',
  'usedbysnapshots',
  'compression',
  'compressratio',
  'quota',
  'refquota',
  'volsize',
  'mountpoint',
  'mounted',
  'origin',
  'userrefs',
  'clones',
  'cistern:schedule',
  'cistern:reason',
  'cistern:replication',
  'encryption',
  'encryptionroot',
  'keystatus',
] as const;

type Column = (typeof TREE_COLUMNS)[number];
const at = Object.fromEntries(TREE_COLUMNS.map((name, index) => [name, index])) as Record<Column, number>;

const text = (value: string | undefined): string | null =>
  value === undefined || value === '-' || value === '' || value === 'none' ? null : value;

/** "-" and what is no number is 0; "1.42x" is its number, as some releases write a ratio even with -p. */
const number = (value: string | undefined): number => {
  const found = Number.parseFloat(value ?? '');
  return Number.isFinite(found) ? found : 0;
};

function quotaOf(field: (column: Column) => string | undefined): PlatformDataset['quota'] {
  const all = [
    { bytes: number(field('quota')), used: number(field('used')) },
    { bytes: number(field('refquota')), used: number(field('referenced')) },
  ].filter(({ bytes }) => bytes > 0);
  return all.sort((a, b) => b.used / b.bytes - a.used / a.bytes)[0] ?? null;
}

/** Lines that are read before others may have their turn. */
const LINES = 200;

/** `zfs list -Hp -t all -o …TREE_COLUMNS`. Bookmarks are left out; a line that is cut short too. */
export function* readTree(output: string): Sliced<PlatformTree> {
  const datasets: PlatformDataset[] = [];
  const snapshots: PlatformSnapshot[] = [];
  for (let from = 0, end = 0, lines = 1; from < output.length; from = end + 1, lines++) {
    end = output.indexOf('\n', from);
    if (end < 0) end = output.length;
    if (lines % LINES === 0) yield;
    const fields = output.slice(from, end).split('\t');
    if (fields.length !== TREE_COLUMNS.length) continue;
    const field = (column: Column) => fields[at[column]];
    const name = field('name') as string;
    const createdAt = number(field('creation')) * 1000;
    const kind = field('type');
    if (kind === 'snapshot') {
      snapshots.push({
        name,
        dataset: name.slice(0, name.indexOf('@')),
        used: number(field('used')),
        referenced: number(field('referenced')),
        createdAt,
        holds: number(field('userrefs')),
        clones: text(field('clones'))?.split(',') ?? [],
        schedule: text(field('cistern:schedule')),
        reason: text(field('cistern:reason')),
        replication: text(field('cistern:replication')) !== null,
      });
    } else if (kind === 'filesystem' || kind === 'volume') {
      const encryption = text(field('encryption'));
      const keyStatus = field('keystatus');
      datasets.push({
        name,
        kind,
        used: number(field('used')),
        available: number(field('available')),
        referenced: number(field('referenced')),
        usedBySnapshots: number(field('usedbysnapshots')),
        compression: field('compression') as string,
        compressRatio: number(field('compressratio')),
        quota: quotaOf(field),
        volumeBytes: kind === 'volume' ? number(field('volsize')) : null,
        mountpoint: text(field('mountpoint')),
        mounted: field('mounted') === 'yes',
        origin: text(field('origin')),
        encryption: encryption === 'off' ? null : encryption,
        encryptionRoot: text(field('encryptionroot')),
        keyStatus: keyStatus === 'available' || keyStatus === 'unavailable' ? keyStatus : 'none',
        createdAt,
      });
    }
  }
  return { datasets, snapshots };
}

/** `zfs get -Hp -o name,property,value,source all NAME` */
export function parseProperties(output: string): PlatformProperty[] {
  return output.split('\n').flatMap((line): PlatformProperty[] => {
    const [dataset, name, value, source] = line.split('\t');
    if (dataset === undefined || name === undefined || value === undefined || source === undefined) return [];
    const inherited = /^inherited from (.*)$/.exec(source);
    if (inherited) return [{ name, value, source: 'inherited', from: inherited[1] as string }];
    const known = source === 'local' || source === 'default' || source === 'received' || source === 'temporary';
    return [{ name, value, source: known ? source : 'none', from: null }];
  });
}

/**
 * `zfs holds -H`: snapshot, tag, and when. With -p OpenZFS 2.2 and later write seconds; others write a date of the
 * machine's zone, and the command is run with TZ=UTC.
 */
export function parseHolds(output: string): Hold[] {
  return output.split('\n').flatMap((line): Hold[] => {
    const [snapshot, tag, when] = line.split('\t');
    if (snapshot === undefined || tag === undefined || when === undefined) return [];
    const time = /^\d+$/.test(when) ? Number(when) * 1000 : Date.parse(`${when.replace(/\s+/g, ' ')} UTC`);
    return [{ snapshot, tag, at: Number.isNaN(time) ? 0 : time }];
  });
}

const CHANGES: Record<string, Difference['change']> = { '+': 'added', '-': 'removed', M: 'modified', R: 'renamed' };
const KINDS: Record<string, Difference['kind']> = { F: 'file', '/': 'directory', '@': 'link' };

/** zfs diff writes a blank, a backslash and every byte that is not plain ASCII as a backslash and so many octal digits. */
export function unescaped(path: string, digits: 3 | 4): string {
  if (!path.includes('\\')) return path;
  const bytes: number[] = [];
  for (let index = 0; index < path.length; index++) {
    const code = /^\\(0?[0-3][0-7]{2})$/.exec(path.slice(index, index + 1 + digits));
    if (code?.[1]?.length === digits) {
      bytes.push(Number.parseInt(code[1], 8));
      index += digits;
    } else {
      bytes.push(path.charCodeAt(index));
    }
  }
  return Buffer.from(bytes).toString('utf8');
}

/**
 * `zfs diff -H -F -t`: time, change, kind, path, and for a rename where to; behind what was modified may be by how many links
 * there are more, as (+1). Paths are relative to the mount point.
 */
export function parseDiff(output: string, mountpoint: string, digits: 3 | 4): Difference[] {
  const below = (path: string) => {
    const plain = unescaped(path, digits);
    return plain.startsWith(mountpoint) ? plain.slice(mountpoint.length).replace(/^\//, '') || '/' : plain;
  };
  return output.split('\n').flatMap((line): Difference[] => {
    const [time, sign, kind, path, to] = line.split('\t');
    const change = CHANGES[sign ?? ''];
    if (change === undefined || kind === undefined || path === undefined) return [];
    const seconds = number(time);
    return [
      {
        change,
        kind: KINDS[kind] ?? 'other',
        path: below(path),
        to: to === undefined || change !== 'renamed' ? null : below(to),
        at: seconds > 0 ? Math.round(seconds * 1000) : null,
      },
    ];
  });
}
