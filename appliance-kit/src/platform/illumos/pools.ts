// Reads pools from what illumos prints, which has no JSON: the text of `zpool status`, `zpool list -Hp`, `zfs get -Hp`.
// The commands run in UTC, so that the dates, which name no zone, can be read. Sizes in the text are rounded.
//
// Written after zpool(8) and its source's formats, old ones included; not run on illumos yet.
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Command } from '../command.ts';
import { number, parseProperties, STATES, time, UPGRADABLE } from '../linux/pools.ts';
import type { PlatformPool } from '../platform.ts';
import type { PoolState, Vdev } from '../pool.ts';

/** The comment comes last: it is the only one with free text. */
const COLUMNS = ['name', 'size', 'allocated', 'free', 'fragmentation', 'health', 'autoexpand', 'autotrim', 'readonly'];
export const LIST_COLUMNS = [...COLUMNS, 'comment'].join(',');

const UNITS = 'KMGTPE';

/** "1.23G", "403M", "0", "0B", "12": a factor of 1024 to each letter. */
export function nicenum(text: string): number {
  const found = /^(\d+(?:\.\d+)?)([KMGTPE])?B?$/.exec(text);
  if (found === null) return 0;
  const factor = found[2] === undefined ? 1 : 1024 ** (UNITS.indexOf(found[2]) + 1);
  return Math.round(Number(found[1]) * factor);
}

/** "3 days 01:02:03", "00:00:01", "12h5m", in seconds; null when it is none of them ("no estimated time"). */
function duration(text: string): number | null {
  const clock = /(?:(\d+) days? )?(\d+):(\d\d):(\d\d)/.exec(text);
  if (clock !== null) {
    const [, days, hours, minutes, seconds] = clock;
    return Number(days ?? 0) * 86_400 + Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  }
  const short = /(\d+)h(\d+)m/.exec(text);
  return short === null ? null : Number(short[1]) * 3_600 + Number(short[2]) * 60;
}

const DATE = '([A-Z][a-z]{2} [A-Z][a-z]{2} +\\d+ \\d\\d:\\d\\d:\\d\\d \\d{4})';
const FINISHED = new RegExp(`^(?:(scrub) repaired|(resilvered)) (\\S+) in (.+) with (\\d+) errors? on ${DATE}`);
/** Before 2010: "scrub completed after 0h1m with 0 errors on …". */
const COMPLETED = new RegExp(`^(scrub|resilver) completed after (.+) with (\\d+) errors? on ${DATE}`);
const STOPPED = new RegExp(`^(scrub|resilver) (?:canceled|stopped|cancelled) on ${DATE}`);
const RUNNING = new RegExp(`^(scrub|resilver) (in progress|paused) since ${DATE}`);

/** The paragraph after "scan:", its lines joined with one blank. */
export function readScan(text: string): PlatformPool['scan'] {
  const ended = { paused: false, bytesDone: 0, bytesTotal: 0, secondsLeft: null };
  const over = (kind: 'scrub' | 'resilver', repaired: string, took: string, errors: string, on: string) => {
    const finishedAt = time(on);
    const seconds = duration(took);
    return {
      ...ended,
      kind,
      state: 'finished',
      percent: 100,
      // It says when it ended and how long it took.
      startedAt: finishedAt === null || seconds === null ? null : iso(Date.parse(finishedAt) - seconds * 1000),
      finishedAt,
      errors: Number(errors),
      repairedBytes: nicenum(repaired),
    };
  };
  let found = FINISHED.exec(text);
  if (found !== null) {
    const [, scrub, , repaired, took, errors, on] = found as unknown as string[];
    return over(scrub === undefined ? 'resilver' : 'scrub', repaired ?? '', took ?? '', errors ?? '', on ?? '');
  }
  found = COMPLETED.exec(text);
  if (found !== null) {
    const [, kind, took, errors, on] = found as unknown as string[];
    return over(kind as 'scrub' | 'resilver', '0', took ?? '', errors ?? '', on ?? '');
  }
  found = STOPPED.exec(text);
  if (found !== null) {
    return {
      ...ended,
      kind: found[1] as 'scrub' | 'resilver',
      state: 'canceled',
      percent: null,
      startedAt: null,
      finishedAt: time(found[2]),
      errors: 0,
      repairedBytes: 0,
    };
  }
  found = RUNNING.exec(text);
  if (found === null) return null;
  const paused = found[2] === 'paused';
  // A paused one says first since when it is, then when it began.
  const began = paused ? new RegExp(`scrub started on ${DATE}`).exec(text)?.[1] : found[3];
  const issued = /([\d.]+[A-Z]*) issued/.exec(text)?.[1] ?? /([\d.]+[A-Z]*) scanned/.exec(text)?.[1] ?? '0';
  const total = /([\d.]+[A-Z]*) total/.exec(text)?.[1] ?? /scanned out of ([\d.]+[A-Z]*)/.exec(text)?.[1] ?? '0';
  const left = /[,)] ([^,]+) to go/.exec(text)?.[1];
  const done = /([\d.]+)% done/.exec(text)?.[1];
  return {
    kind: found[1] as 'scrub' | 'resilver',
    state: 'scanning',
    paused,
    percent: done === undefined ? null : Math.min(100, Math.round(Number(done) * 10) / 10),
    bytesDone: nicenum(issued),
    bytesTotal: nicenum(total),
    secondsLeft: paused || left === undefined ? null : duration(left),
    startedAt: time(began),
    finishedAt: null,
    errors: 0,
    repairedBytes: nicenum(/([\d.]+[A-Z]*) (?:repaired|resilvered)/.exec(text)?.[1] ?? '0'),
  };
}

/** "\040" is how a blank in a name may be written. */
const plain = (name: string) =>
  name.replace(/\\([0-3][0-7]{2})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));

/** What a name of something that is no device begins with. */
const GROUP = /^(mirror|replacing|spare|raidz[123]?|draid[123]?|indirect|missing|hole)(?:[-:]\S*)?$/;

interface Line {
  readonly depth: number;
  readonly vdev: Vdev;
}

/**
 * One line of the tree: name and state are two blanks apart at least, so a name may have single ones. A line without a
 * state is a heading ("logs"), whose depth is 0.
 */
function readLine(line: string): Line | { heading: string } | null {
  const found =
    /^\t( *)(\S.*?)(?: {2,}| +(?=[A-Z]{5,8}(?: |$)))([A-Z]+)(?: +([\d.]+[KMGTPE]?) +([\d.]+[KMGTPE]?) +([\d.]+[KMGTPE]?))?(?: +(.*))?$/.exec(
      line.trimEnd(),
    );
  if (found === null) {
    const heading = /^\t(\S+)$/.exec(line.trimEnd())?.[1];
    return heading === undefined ? null : { heading };
  }
  const [, indent, shown, state, read, write, checksum, rest] = found as unknown as (string | undefined)[];
  const name = plain(shown as string);
  const group = GROUP.exec(name)?.[1];
  // What the words after the counts say: where it was, why it is not well, that it is being written to.
  const was = /(?:^| )was (\/.*?)(?: {2}|$)/.exec(rest ?? '')?.[1];
  const own = name.startsWith('/') ? name : /^\d+$/.test(name) ? null : `/dev/dsk/${name}`;
  return {
    depth: (indent as string).length,
    vdev: {
      name,
      // Very old ones call a raidz1 "raidz".
      type: group === undefined ? 'disk' : group === 'raidz' || group === 'draid' ? `${group}1` : group,
      state: state as string,
      readErrors: nicenum(read ?? '0'),
      writeErrors: nicenum(write ?? '0'),
      checksumErrors: nicenum(checksum ?? '0'),
      path: group !== undefined ? null : was === undefined ? own : plain(was),
      diskId: null,
      children: [],
    },
  };
}

/** Headings, and how the Linux driver's pools name and type what is below them. */
const SECTIONS: Readonly<Record<string, { name: string; type: string }>> = {
  special: { name: 'special', type: 'special' },
  dedup: { name: 'dedup', type: 'dedup' },
  logs: { name: 'logs', type: 'log' },
  cache: { name: 'l2cache', type: 'cache' },
  spares: { name: 'spares', type: 'spare' },
};

function readTree(lines: readonly string[]): { root: Vdev | null; vdevs: Vdev[] } {
  const sections: Vdev[] = [];
  let root: Vdev | null = null;
  /** The way from the root, or from a heading, down to the last line. */
  let way: Line[] = [];
  for (const text of lines) {
    if (/^\tNAME +STATE/.test(text)) continue;
    const line = readLine(text);
    if (line === null) continue;
    if ('heading' in line) {
      const section = SECTIONS[line.heading];
      if (section === undefined || root === null) continue;
      const none = { readErrors: 0, writeErrors: 0, checksumErrors: 0, path: null, diskId: null };
      const vdev: Vdev = { ...section, state: 'ONLINE', ...none, children: [] };
      sections.push(vdev);
      way = [{ depth: 0, vdev }];
      continue;
    }
    // A pool may be named like a heading: it is the first line whatever its name is.
    if (root === null) {
      root = line.vdev;
      way = [line];
      continue;
    }
    while (way.length > 1 && (way.at(-1) as Line).depth >= line.depth) way.pop();
    (way.at(-1) as Line).vdev.children.push(line.vdev);
    way.push(line);
  }
  return { root, vdevs: [...(root?.children ?? []), ...sections.filter(({ children }) => children.length > 0)] };
}

const FIELD = /^ {0,3}(pool|id|state|status|action|see|scan|scrub|remove|checkpoint|comment|config|errors):(?: (.*))?$/;

/** The paragraphs of one pool: what follows "NAME:", line by line. */
function readFields(block: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of block.split('\n')) {
    const [, name, rest] = FIELD.exec(line) ?? [];
    // Each comes once; the errors, which name files, come last.
    if (name !== undefined && !fields.has(name) && !fields.has('errors')) {
      current = rest === undefined || rest === '' ? [] : [rest];
      fields.set(name, current);
    } else if (line.trim() !== '') current.push(line);
  }
  return fields;
}

function countErrors(lines: readonly string[]): number {
  const [first, ...files] = lines;
  if (first === undefined || /^No known data errors/.test(first)) return 0;
  const count = /^(\d+) data errors?/.exec(first)?.[1];
  if (count !== undefined) return Number(count);
  // "List of errors unavailable": it is asked for only when there are some.
  return Math.max(1, files.length);
}

/** What ZFS says when it holds all input and output, whatever it calls the pool's state meanwhile. */
const HELD = /faulted in response to (IO|I\/O) failures|The pool is suspended because /;

export function parsePools(status: string, list: string, properties: string): PlatformPool[] {
  if (/^\s*no pools available\s*$/.test(status)) return [];
  const blocks = status.split(/^(?= {2}pool: )/m).filter((block) => block.startsWith('  pool: '));
  if (blocks.length === 0) {
    throw fail(
      'command_failed',
      `What “zpool status” printed cannot be read: ${status.trim().slice(0, 200) || 'nothing'}`,
    );
  }
  const sizes = new Map(
    list.split('\n').flatMap((line): [string, string[]][] => {
      const [name, ...values] = line.split('\t');
      return name === undefined || values.length < COLUMNS.length - 1 ? [] : [[name, values]];
    }),
  );
  const datasets = parseProperties(properties);
  return blocks.map((block) => {
    const fields = readFields(block);
    const name = (fields.get('pool')?.[0] ?? '').trim();
    const words = (field: string) => {
      const text = (fields.get(field) ?? []).join(' ').replace(/\s+/g, ' ').trim();
      return text === '' ? null : text;
    };
    const { vdevs } = readTree(fields.get('config') ?? []);
    const values = sizes.get(name);
    const column = (key: string) => values?.[(key === 'comment' ? COLUMNS.length : COLUMNS.indexOf(key)) - 1];
    const known = (key: string) => (column(key) === '-' ? undefined : column(key));
    const said = words('state') ?? '';
    const held = HELD.test(words('status') ?? '') || column('health') === 'SUSPENDED' || said === 'SUSPENDED';
    const state = held ? 'SUSPENDED' : STATES.has(said) ? said : 'UNAVAIL';
    const upgradable = UPGRADABLE.test(words('status') ?? '');
    const own = datasets.get(name);
    const ratio = own?.get('compressratio');
    const fragmentation = known('fragmentation');
    return {
      name,
      state: state as PoolState,
      bytes: number(column('size')),
      allocated: number(column('allocated')),
      free: number(column('free')),
      fragmentation: fragmentation === undefined ? null : number(fragmentation) / 100,
      status: upgradable ? null : words('status'),
      action: upgradable ? null : words('action'),
      scan: readScan(words('scan') ?? words('scrub') ?? ''),
      vdevs,
      errors: countErrors(fields.get('errors') ?? []),
      compression: own?.get('compression') ?? null,
      compressRatio: ratio === undefined ? null : number(ratio),
      telemetry: datasets.has(`${name}/telemetry`),
      properties: {
        autoexpand: column('autoexpand') === 'on',
        autotrim: column('autotrim') === 'on',
        comment: known('comment') ?? '',
        readOnly: column('readonly') === 'on',
      },
      upgradable,
    };
  });
}

/**
 * The pools of this machine. Without -v, which would print names of files in between: a file can be named like anything
 * else that is read here, and what is damaged is named by execd's pool.errors.
 */
export async function illumosPools(command: Command): Promise<PlatformPool[]> {
  const [status, list, properties] = await Promise.all([
    command('zpool', ['status']),
    command('zpool', ['list', '-H', '-p', '-o', LIST_COLUMNS]),
    command('zfs', [
      ...['get', '-H', '-p', '-d', '1', '-t', 'filesystem', '-o', 'name,property,value'],
      'compression,compressratio',
    ]),
  ]);
  return parsePools(status, list, properties);
}
