import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../../base/slices.ts';
import { mustBeProperties } from '../../storage/datasets/properties.ts';
import { OPENZFS_FACTS } from '../datasets.ts';
import type { Execd } from '../execd.ts';
import { illumosDatasets } from '../illumos/datasets.ts';
import { ZfsDatasets } from './datasets.ts';
import { parseDiff, parseHolds, parseProperties, readTree, TREE_COLUMNS, unescaped } from './parse.ts';

/** As OpenZFS 2.3 and illumos print them: `zfs list -Hp -t all -o …`, a dash for what a thing does not have. */
const lines = [
  'tank	filesystem	1760000000	5242880	1000000000	98304	0	lz4	1.50	0	0	-	none	no	-	-	-	-	-	-	off	-	-',
  'tank/home	filesystem	1760000100	4194304	999000000	2097152	1048576	zstd-3	2.31	8388608	2621440	-	/srv/home	yes	-	-	-	-	-	-	aes-256-gcm	tank/home	available',
  'tank/home@cistern-1	snapshot	1760000200	524288	-	2097152	-	-	2.31	-	-	-	-	-	-	1	tank/copy,tank/other	ss-1	-	-	aes-256-gcm	tank/home	available',
  'tank/home@manual 2	snapshot	1760000300	0	-	2097152	-	-	2.31	-	-	-	-	-	-	0		-	before the update	yes	aes-256-gcm	tank/home	available',
  'tank/copy	filesystem	1760000400	98304	999000000	2097152	0	lz4	1.00x	0	0	-	legacy	no	tank/home@cistern-1	-	-	-	-	-	off	-	-',
  'tank/disk	volume	1760000500	1073741824	999000000	49152	0	lz4	1.00	-	-	1073741824	-	-	-	-	-	-	-	-	off	-	-',
  'tank/home#mark	bookmark	1760000200	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-	-',
  'tank/cut	filesystem	17600',
];

test('datasets and snapshots are read as zfs tells them', () => {
  assert.ok(lines.slice(0, 7).every((line) => line.split('\t').length === TREE_COLUMNS.length));
  const { datasets, snapshots } = atOnce(readTree(`${lines.join('\n')}\n`));
  assert.deepEqual(
    datasets.map(({ name, kind, mountpoint, mounted, origin }) => [name, kind, mountpoint, mounted, origin]),
    [
      ['tank', 'filesystem', null, false, null],
      ['tank/home', 'filesystem', '/srv/home', true, null],
      ['tank/copy', 'filesystem', 'legacy', false, 'tank/home@cistern-1'],
      ['tank/disk', 'volume', null, false, null],
    ],
  );
  const home = datasets[1];
  // Of two quotas the one that is fuller: 2 of 2.5 MiB referenced, not 4 of 8 MiB used.
  assert.deepEqual(home?.quota, { bytes: 2_621_440, used: 2_097_152 });
  assert.deepEqual(
    [home?.encryption, home?.encryptionRoot, home?.keyStatus],
    ['aes-256-gcm', 'tank/home', 'available'],
  );
  assert.deepEqual([datasets[0]?.encryption, datasets[0]?.keyStatus, datasets[2]?.compressRatio], [null, 'none', 1]);
  assert.equal(datasets[3]?.volumeBytes, 2 ** 30);
  const [first, second] = snapshots;
  assert.deepEqual([first?.holds, first?.clones, first?.schedule], [1, ['tank/copy', 'tank/other'], 'ss-1']);
  assert.deepEqual(
    [second?.name, second?.clones, second?.schedule, second?.reason, second?.replication],
    ['tank/home@manual 2', [], null, 'before the update', true],
  );
  assert.deepEqual(atOnce(readTree('')), { datasets: [], snapshots: [] });
});

test('properties say where their value comes from', () => {
  const output = [
    'tank/a\tcompression\tzstd\tlocal',
    'tank/a\tatime\toff\tinherited from tank',
    'tank/a\trecordsize\t131072\tdefault',
    'tank/a\tused\t98304\t-',
    'tank/a\tquota\t0\treceived',
    'tank/a\treadonly\ton\ttemporary',
    '',
  ].join('\n');
  assert.deepEqual(
    parseProperties(output).map(({ name, source, from }) => [name, source, from]),
    [
      ['compression', 'local', null],
      ['atime', 'inherited', 'tank'],
      ['recordsize', 'default', null],
      ['used', 'none', null],
      ['quota', 'received', null],
      ['readonly', 'temporary', null],
    ],
  );
});

test('holds are read with their time, as seconds or as a date', () => {
  assert.deepEqual(parseHolds('tank/a@s\tkeep\tSat Nov 21  9:05 2026\ntank/a@s\tother\t1760000000\n'), [
    { snapshot: 'tank/a@s', tag: 'keep', at: Date.UTC(2026, 10, 21, 9, 5) },
    { snapshot: 'tank/a@s', tag: 'other', at: 1_760_000_000_000 },
  ]);
});

test('a diff is read: kinds, renames, escaped names', () => {
  const output = [
    '1760000000.5\tM\t/\t/srv/a/',
    '1760000001.0\t+\tF\t/srv/a/two\\0040words',
    '1760000002.0\tR\tF\t/srv/a/old\t/srv/a/new',
    '1760000003.0\t-\t@\t/srv/a/gr\\0303\\0274n',
    '1760000004.0\tM\tF\t/srv/a/linked\t(+1)',
    'garbage',
    '',
  ].join('\n');
  assert.deepEqual(parseDiff(output, '/srv/a', 4), [
    { change: 'modified', kind: 'directory', path: '/', to: null, at: 1_760_000_000_500 },
    { change: 'added', kind: 'file', path: 'two words', to: null, at: 1_760_000_001_000 },
    { change: 'renamed', kind: 'file', path: 'old', to: 'new', at: 1_760_000_002_000 },
    { change: 'removed', kind: 'link', path: 'grün', to: null, at: 1_760_000_003_000 },
    { change: 'modified', kind: 'file', path: 'linked', to: null, at: 1_760_000_004_000 },
  ]);
  assert.equal(unescaped('plain\\x', 4), 'plain\\x');
});

// stream_bytes and print_link_change of usr/src/lib/libzfs/common/libzfs_diff.c: "\\%03o" and "\t(%+d)".
test('a diff of illumos: three digits, and a changed number of links is no other name', () => {
  const output = [
    '1760000001.000000000\tM\tF\t/srv/a\\040b/two\\040words\t(+1)',
    '1760000002.000000000\tM\tF\t/srv/a\\040b/gr\\303\\274n\t(-2)',
    '1760000003.000000000\tR\tF\t/srv/a\\040b/x\t/srv/a\\040b/\\0011',
    '1760000004.000000000\t+\tF\t/srv/a\\040b/back\\134slash',
  ].join('\n');
  const found = parseDiff(output, '/srv/a b', 3).map(({ change, path, to }) => [change, path, to]);
  assert.deepEqual(found, [
    ['modified', 'two words', null],
    ['modified', 'grün', null],
    ['renamed', 'x', '\u00011'],
    ['added', 'back\\slash', null],
  ]);
});

test('the tree is the same object as long as zfs says the same', async () => {
  const asked: string[][] = [];
  let output = lines.join('\n');
  const zfs = new ZfsDatasets({
    command: async (program, args) => {
      asked.push([program, ...args]);
      return output;
    },
    execd: {} as Execd,
    facts: OPENZFS_FACTS,
  });
  const first = await zfs.tree();
  assert.equal(await zfs.tree(), first);
  output += '\n';
  assert.notEqual(await zfs.tree(), first);
  assert.deepEqual(asked[0], ['zfs', 'list', '-Hp', '-t', 'all', '-o', TREE_COLUMNS.join(',')]);
});

test('what was written since a snapshot includes what is on the way to the disks, and is told of a pool that takes nothing', async () => {
  const asked: string[] = [];
  const zfs = new ZfsDatasets({
    command: async (program, args) => {
      asked.push([program, ...args].join(' '));
      if (program === 'zpool') throw new Error('pool I/O is currently suspended');
      return '4096\n';
    },
    execd: {} as Execd,
    facts: OPENZFS_FACTS,
  });
  assert.equal(await zfs.writtenSince('tank/a@before'), 4096);
  assert.deepEqual(asked, ['zpool sync tank', 'zfs get -Hp -o value written@before tank/a']);
});

test('illumos has no zstd, no relatime, and smaller records', async () => {
  const level = (compression: string) => ({ compression, ratio: 2, nanosecondsPerByte: 1 });
  const execd = { run: async () => ({ levels: [level('lz4'), level('zstd-3'), level('gzip-6')] }) } as unknown as Execd;
  const illumos = illumosDatasets({ command: async () => '', execd });
  const { facts } = illumos;
  const { levels } = await illumos.estimate('tank/a', 2 ** 20);
  assert.deepEqual(
    levels.map(({ compression }) => compression),
    ['lz4', 'gzip-6'],
  );
  assert.ok(facts.compressions.includes('gzip-9') && facts.compressions.includes('lz4'));
  assert.ok(!facts.compressions.some((name) => name.startsWith('zstd')));
  const set = (properties: Record<string, string>) => () =>
    mustBeProperties(properties, 'filesystem', facts, { path: '/set', creating: false });
  assert.throws(set({ compression: 'zstd' }), /must be one of/);
  assert.throws(set({ recordsize: String(2 ** 21) }), /power of two/);
  assert.throws(set({ relatime: 'on' }), /is not known to the ZFS of this system/);
  set({ compression: 'gzip-9', recordsize: String(2 ** 20) })();
});
