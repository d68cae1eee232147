import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOnIllumos } from '../../../tests/fixtures/illumos.ts';
import * as illumos from '../../../tests/fixtures/zpool-illumos.ts';
import { leaves } from '../pool.ts';
import { illumosPools, LIST_COLUMNS, nicenum, parsePools, readScan } from './pools.ts';

const flat = (text: string) => text.replace(/\s+/g, ' ').trim();
const scan = (name: keyof typeof illumos.scans) => readScan(flat(illumos.scans[name]));

test('scans in the forms of the years', () => {
  const began = '2026-01-01T00:00:00.000Z';
  const GB = 1024 ** 3;
  assert.deepEqual(scan('running'), {
    kind: 'scrub',
    state: 'scanning',
    paused: false,
    percent: 25,
    bytesDone: GB,
    bytesTotal: 4 * GB,
    secondsLeft: 86_400 + 2 * 3_600 + 3 * 60 + 4,
    startedAt: began,
    finishedAt: null,
    errors: 0,
    repairedBytes: 4096,
  });
  const paused = scan('paused');
  assert.deepEqual(
    [paused?.state, paused?.paused, paused?.startedAt, paused?.secondsLeft, paused?.bytesDone, paused?.percent],
    ['scanning', true, began, null, GB, 25],
  );
  const slow = scan('unhurried');
  assert.deepEqual(
    [slow?.kind, slow?.percent, slow?.bytesDone, slow?.bytesTotal, slow?.secondsLeft],
    ['resilver', 0, 0, 4096 * GB, null],
  );
  const old = scan('old');
  assert.deepEqual(
    [old?.percent, old?.bytesDone, old?.bytesTotal, old?.secondsLeft],
    [99.5, 403 * 1024 ** 2, 405 * 1024 ** 2, 2 * 3_600 + 7 * 60],
  );
  const oldSlow = scan('oldSlow');
  assert.deepEqual([oldSlow?.kind, oldSlow?.secondsLeft, oldSlow?.repairedBytes], ['resilver', null, nicenum('1.2M')]);
  const ended = scan('resilvered');
  assert.deepEqual(
    [ended?.kind, ended?.state, ended?.startedAt, ended?.finishedAt, ended?.repairedBytes],
    ['resilver', 'finished', '2026-01-15T10:18:50.000Z', '2026-01-15T10:20:30.000Z', nicenum('1.23G')],
  );
  assert.equal(scan('oldResilvered')?.startedAt, '2026-01-15T10:18:30.000Z');
  assert.deepEqual([scan('short')?.startedAt, scan('short')?.repairedBytes], ['2026-01-15T10:20:29.000Z', 0]);
  const canceled = scan('canceled');
  assert.deepEqual(
    [canceled?.state, canceled?.startedAt, canceled?.finishedAt, canceled?.percent],
    ['canceled', null, '2026-01-15T10:20:30.000Z', null],
  );
  assert.equal(scan('none'), null);
  assert.equal(readScan(''), null);
});

test('several pools, with names and lines as odd as they come', () => {
  const pools = parsePools(illumos.several, illumos.severalList, '');
  assert.deepEqual(
    pools.map(({ name, state, bytes, fragmentation, errors, upgradable, status }) => ({
      ...{ name, state, bytes, fragmentation, errors, upgradable, status },
    })),
    [
      { name: 'cache', state: 'ONLINE', bytes: 1000, fragmentation: null, errors: 0, upgradable: true, status: null },
      { name: 'my pool', state: 'FAULTED', bytes: 0, fragmentation: null, errors: 1, upgradable: false, status: null },
    ],
  );
  const [first, second] = pools;
  assert.deepEqual(first?.properties, { autoexpand: true, autotrim: true, comment: 'rack 3, top', readOnly: true });
  assert.deepEqual(second?.properties, { autoexpand: false, autotrim: false, comment: '', readOnly: false });
  assert.deepEqual(
    first?.vdevs.map(({ name, type, children }) => [name, type, children.length]),
    [
      ['raidz1', 'raidz1', 3],
      ['special', 'special', 1],
      ['l2cache', 'cache', 1],
    ],
  );
  assert.deepEqual(
    leaves(first?.vdevs ?? []).map(({ name, path, state }) => [name, path, state]),
    [
      ['/srv/a b', '/srv/a b', 'ONLINE'],
      ['/srv/c d', '/srv/c d', 'ONLINE'],
      ['c0t5000CCA0d0s1', '/dev/dsk/c0t5000CCA0d0s1', 'ONLINE'],
      ['c5t0d0', '/dev/dsk/c5t0d0', 'ONLINE'],
      ['c5t1d0', '/dev/dsk/c5t1d0', 'ONLINE'],
      ['c3t0d0p1', '/dev/dsk/c3t0d0p1', 'ONLINE'],
    ],
  );
  const bad = first?.vdevs[0]?.children[1];
  assert.deepEqual([bad?.readErrors, bad?.writeErrors, bad?.checksumErrors], [1536, 12 * 1024 ** 2, 7]);
  assert.deepEqual(
    [second?.scan?.kind, second?.scan?.errors, second?.scan?.finishedAt],
    ['scrub', 1, '2026-01-01T10:20:30.000Z'],
  );
  assert.equal(second?.vdevs[0]?.checksumErrors, 6);
});

test('output that cannot be read is an error, never an empty machine', () => {
  for (const bad of ['', 'cannot open /dev/zfs', '{}']) {
    assert.throws(() => parsePools(bad, '', ''), { name: 'ProblemError' }, bad);
  }
  assert.deepEqual(parsePools('no pools available\n', '', ''), []);
  const [cut] = parsePools(
    '  pool: tank\n state: STRANGE\nconfig:\n\n\t\n\tgarbage in a line\n',
    'tank\t1\n\t\n',
    '\t',
  );
  assert.deepEqual([cut?.state, cut?.vdevs, cut?.bytes, cut?.errors], ['UNAVAIL', [], 0, 0]);
});

test('what a damaged file is called changes nothing', () => {
  const files = '        /tank/x\n state: FAULTED\nconfig:\n\tc9t9d9  FAULTED  9 9 9';
  const forged = illumos.healthy.replace(
    'errors: No known data errors',
    `errors: Permanent errors have been detected in the following files:\n\n${files}`,
  );
  const [pool] = parsePools(forged, illumos.list, '');
  assert.deepEqual([pool?.state, leaves(pool?.vdevs ?? []).length], ['ONLINE', 4]);
});

test('what is run', async () => {
  const ran: string[] = [];
  const pools = await illumosPools(
    asOnIllumos(async (program, args) => {
      ran.push([program, ...args].join(' '));
      return program === 'zfs' ? illumos.properties : args[0] === 'list' ? illumos.list : illumos.healthy;
    }),
  );
  assert.equal(pools[0]?.telemetry, true);
  assert.deepEqual(ran, [
    'zpool status',
    `zpool list -H -p -o ${LIST_COLUMNS}`,
    'zfs get -H -p -d 1 -t filesystem -o name,property,value compression,compressratio',
  ]);
});

// status_callback of usr/src/cmd/zpool/zpool_main.c of February 2025: FAULTED_DEV_R, FAULTED_DEV_NR, IO_FAILURE_WAIT and
// _CONTINUE, IO_FAILURE_MMP. The state and the column "health" never say SUSPENDED.
test('suspended is what ZFS says in words, and not what has faulted disks', () => {
  const pool = (state: string, ...said: string[]) =>
    parsePools(`  pool: tank\n state: ${state}\nstatus: ${said.join('\n\t')}\nconfig:\n\n`, '', '')[0]?.state;
  assert.equal(
    pool(
      'DEGRADED',
      'One or more devices are faulted in response to persistent errors.',
      'Sufficient replicas exist for the pool to continue functioning in a',
      'degraded state.',
    ),
    'DEGRADED',
  );
  assert.equal(
    pool(
      'UNAVAIL',
      'One or more devices are faulted in response to persistent errors.  There are insufficient replicas for the pool to',
      'continue functioning.',
    ),
    'UNAVAIL',
  );
  assert.equal(pool('UNAVAIL', 'One or more devices are faulted in response to IO failures.'), 'SUSPENDED');
  assert.equal(
    pool(
      'ONLINE',
      'The pool is suspended because multihost writes failed or were delayed;',
      'another system could import the pool undetected.',
    ),
    'SUSPENDED',
  );
});
