// The properties that can be set from here: what each is for, what it may be. execd has the same list and the last word.

import { fail } from '../../base/problems/problem.ts';
import { enumerate } from '../../base/words.ts';
import type { ZfsFacts } from '../../platform/datasets.ts';

interface Known {
  readonly explanation: string;
  /** Null: the value is fine. */
  readonly wrong: (value: string, facts: ZfsFacts) => string | null;
  readonly kinds: readonly ('filesystem' | 'volume')[];
  readonly creation?: true;
  /** It belongs to one dataset and is not passed on to those below. */
  readonly own?: true;
}

const BOTH = ['filesystem', 'volume'] as const;
const FILES = ['filesystem'] as const;
const VOLUMES = ['volume'] as const;

const oneOf =
  (...values: string[]) =>
  (value: string) =>
    values.includes(value) ? null : `must be ${enumerate(values).replace(/ and ([^ ]*)$/, ' or $1')}`;
const bytes = (value: string) =>
  /^(none|0|[1-9][0-9]{0,18})$/.test(value) ? null : 'must be a number of bytes, or none';
const power = (least: number, most: number) => (value: string) => {
  const found = /^[1-9][0-9]*$/.test(value) ? Number(value) : 0;
  return found >= least && found <= most && Number.isInteger(Math.log2(found))
    ? null
    : `must be a power of two from ${least} to ${most}`;
};

function mountpoint(value: string): string | null {
  if (value === 'none') return null;
  if (!value.startsWith('/srv/')) return 'must be a directory below /srv, or none';
  if (/(^|\/)\.{0,2}(\/|$)/.test(value.slice(1))) return 'must be written without “//”, “.”, “..” and a final “/”';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f]/.test(value)) return 'must be one line';
  return value === '/srv/telemetry' || value.startsWith('/srv/telemetry/') ? 'is where the measurements are' : null;
}

export const PROPERTIES: Readonly<Record<string, Known>> = {
  compression: {
    explanation: 'How blocks are compressed that are written from now on; what is there already stays as it is.',
    wrong: (value, facts) =>
      facts.compressions.includes(value) ? null : `must be one of ${facts.compressions.join(', ')}`,
    kinds: BOTH,
  },
  quota: {
    explanation: 'The most it may use, with all below it and its snapshots.',
    wrong: bytes,
    kinds: FILES,
    own: true,
  },
  refquota: { explanation: 'The most it may use itself, without snapshots.', wrong: bytes, kinds: FILES, own: true },
  reservation: {
    explanation: 'Space that is kept free for it and all below it.',
    wrong: bytes,
    kinds: BOTH,
    own: true,
  },
  refreservation: {
    explanation: 'Space that is kept free for itself, without snapshots.',
    wrong: (value) => (value === 'auto' ? null : bytes(value)),
    kinds: BOTH,
    own: true,
  },
  volsize: {
    explanation: 'The size of the volume. It can only grow from here.',
    wrong: (value) => (/^[1-9][0-9]{0,18}$/.test(value) ? null : 'must be a number of bytes'),
    kinds: VOLUMES,
    own: true,
  },
  volblocksize: {
    explanation: 'The size of its blocks, chosen when it is made.',
    wrong: power(512, 131_072),
    kinds: VOLUMES,
    creation: true,
    own: true,
  },
  recordsize: {
    explanation: 'The largest block a file is stored in. Large ones compress better; small ones suit databases.',
    wrong: (value, facts) => power(512, facts.largestRecord)(value),
    kinds: FILES,
  },
  mountpoint: { explanation: 'The directory at which its files are seen.', wrong: mountpoint, kinds: FILES },
  atime: { explanation: 'Whether reading a file writes down when.', wrong: oneOf('on', 'off'), kinds: FILES },
  relatime: {
    explanation: 'With atime: only once a day, which costs far less.',
    wrong: (value, facts) => (facts.relatime ? oneOf('on', 'off')(value) : 'is not known to the ZFS of this system'),
    kinds: FILES,
  },
  readonly: { explanation: 'Whether writing is refused.', wrong: oneOf('on', 'off'), kinds: BOTH },
  sync: {
    explanation:
      'Whether programs wait for the disk when they ask to. “disabled” loses the last seconds in a power failure.',
    wrong: oneOf('standard', 'always', 'disabled'),
    kinds: BOTH,
  },
  logbias: {
    explanation: 'Whether synchronous writes are made for a short wait or for throughput.',
    wrong: oneOf('latency', 'throughput'),
    kinds: BOTH,
  },
  primarycache: {
    explanation: 'What is kept in memory once it was read.',
    wrong: oneOf('all', 'none', 'metadata'),
    kinds: BOTH,
  },
  secondarycache: {
    explanation: 'What is kept on the cache disks, where there are any.',
    wrong: oneOf('all', 'none', 'metadata'),
    kinds: BOTH,
  },
  copies: {
    explanation: 'How often each block is written, on top of what the pool does.',
    wrong: oneOf('1', '2', '3'),
    kinds: BOTH,
  },
  snapdir: {
    explanation: 'Whether the directory .zfs with the snapshots is listed.',
    wrong: oneOf('hidden', 'visible'),
    kinds: FILES,
  },
};

/** Throws a problem that names each value that does not fit, at `path`/NAME. */
export function mustBeProperties(
  given: Readonly<Record<string, string>>,
  kind: 'filesystem' | 'volume',
  facts: ZfsFacts,
  options: { path: string; creating: boolean },
): void {
  const errors = Object.entries(given).flatMap(([name, value]) => {
    const known = PROPERTIES[name];
    const message = !known
      ? `cannot be set from here; these can: ${Object.keys(PROPERTIES).join(', ')}`
      : !known.kinds.includes(kind)
        ? `is no property of a ${kind === 'volume' ? 'volume' : 'file system'}`
        : known.creation && !options.creating
          ? 'can only be chosen when it is made'
          : known.wrong(value, facts);
    return message === null ? [] : [{ path: `${options.path}/${name}`, message }];
  });
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path.split('/').at(-1)} ${message}`).join('; ');
  throw fail('invalid_request', `The properties were refused: ${words}.`, undefined, errors);
}

export function mustBeInheritable(names: readonly string[], path: string): void {
  for (const [at, name] of names.entries()) {
    if (PROPERTIES[name] !== undefined && !PROPERTIES[name].own) continue;
    const message = `“${name}” cannot be inherited`;
    throw fail('invalid_request', `${message}.`, undefined, [{ path: `${path}/${at}`, message }]);
  }
}
