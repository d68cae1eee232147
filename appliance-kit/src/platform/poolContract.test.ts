// The same machine, as Linux' JSON and as illumos' text tell of it, is the same pool.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as json from '../../tests/fixtures/zpool.ts';
import * as text from '../../tests/fixtures/zpool-illumos.ts';
import { parsePools as parseText } from './illumos/pools.ts';
import { parsePools as parseJson } from './linux/pools.ts';
import type { PlatformPool } from './platform.ts';
import { leaves } from './pool.ts';

const machines = ['healthy', 'degraded', 'unavailable', 'resilvering', 'faulted', 'spare', 'suspended'] as const;
type Machine = (typeof machines)[number];

const { healthy, degraded, unavailable, resilvering, faulted, spare, suspended } = json;
const asJson: Record<Machine, object> = { healthy, degraded, unavailable, resilvering, faulted, spare, suspended };
const asText: Record<Machine, string> = {
  healthy: text.healthy,
  degraded: text.degraded,
  unavailable: text.unavailable,
  resilvering: text.resilvering,
  faulted: text.faulted,
  spare: text.spare,
  suspended: text.suspended,
};
const now = Date.UTC(2026, 0, 1);

const systems: Record<string, (machine: Machine) => PlatformPool> = {
  linux: (machine) =>
    parseJson(JSON.stringify(asJson[machine]), JSON.stringify(json.list), json.properties, now)[0] as PlatformPool,
  illumos: (machine) => parseText(asText[machine], text.list, text.properties)[0] as PlatformPool,
};

const shape = (vdevs: PlatformPool['vdevs']): unknown[] =>
  vdevs.map(({ name, type, state, children }) => [type === 'disk' ? '' : name, type, state, shape(children)]);

const online = (n: number) => Array.from({ length: n }, () => ['', 'disk', 'ONLINE', []]);
const two = (first: string) => [
  ['mirror-0', 'mirror', first === 'ONLINE' ? 'ONLINE' : 'DEGRADED', [['', 'disk', first, []], ...online(1)]],
  ['mirror-1', 'mirror', 'ONLINE', online(2)],
];
const trees: Record<Machine, unknown[]> = {
  healthy: two('ONLINE'),
  degraded: two('REMOVED'),
  unavailable: two('UNAVAIL'),
  resilvering: [
    [
      ...['mirror-0', 'mirror', 'DEGRADED'],
      [['replacing-0', 'replacing', 'DEGRADED', [['', 'disk', 'UNAVAIL', []], ...online(1)]], ...online(1)],
    ],
  ],
  faulted: two('FAULTED'),
  spare: [
    [
      ...['raidz1-0', 'raidz1', 'DEGRADED'],
      [['spare-0', 'spare', 'DEGRADED', [['', 'disk', 'FAULTED', []], ...online(1)]], ...online(2)],
    ],
    ['logs', 'log', 'ONLINE', [['mirror-1', 'mirror', 'ONLINE', online(2)]]],
    ['l2cache', 'cache', 'ONLINE', online(1)],
    [
      ...['spares', 'spare', 'ONLINE'],
      [
        ['', 'disk', 'INUSE', []],
        ['', 'disk', 'AVAIL', []],
      ],
    ],
  ],
  suspended: [['', 'disk', 'REMOVED', []]],
};
const states: Partial<Record<Machine, string>> = { healthy: 'ONLINE', suspended: 'SUSPENDED' };

for (const [system, read] of Object.entries(systems)) {
  test(`pools on ${system}`, () => {
    for (const machine of machines) {
      const pool = read(machine);
      assert.equal(pool.name, 'tank');
      assert.equal(pool.state, states[machine] ?? 'DEGRADED', machine);
      assert.deepEqual(shape(pool.vdevs), trees[machine], machine);
      assert.deepEqual(
        [pool.bytes, pool.allocated, pool.free, pool.fragmentation, pool.compression, pool.compressRatio],
        [4026531840, 1530082099, 2496449741, 0.07, 'lz4', 1.42],
      );
      assert.deepEqual([pool.telemetry, pool.upgradable], [true, false]);
      assert.deepEqual(pool.properties, { autoexpand: false, autotrim: false, comment: '', readOnly: false });
      assert.ok(
        leaves(pool.vdevs).every(({ path }) => path?.startsWith('/dev/')),
        machine,
      );
    }
    const { scan } = read('healthy');
    assert.deepEqual(
      { ...scan, bytesDone: 0, bytesTotal: 0 },
      {
        kind: 'scrub',
        state: 'finished',
        paused: false,
        percent: 100,
        bytesDone: 0,
        bytesTotal: 0,
        secondsLeft: null,
        startedAt: '2025-12-31T00:00:00.000Z',
        finishedAt: '2025-12-31T01:00:00.000Z',
        errors: 0,
        repairedBytes: 0,
      },
    );
    assert.match(read('degraded').status ?? '', /^One or more devices have been removed/);
    assert.match(read('degraded').action ?? '', /zpool replace/);
    assert.equal(read('degraded').scan, null);
    const running = read('resilvering').scan;
    assert.deepEqual(
      [running?.kind, running?.state, running?.percent, running?.startedAt, running?.finishedAt],
      ['resilver', 'scanning', 25, '2025-12-31T00:00:00.000Z', null],
    );
    assert.ok(Math.abs((running?.bytesDone ?? 0) / 250_000 - 1) < 0.01);
    assert.ok(Math.abs((running?.bytesTotal ?? 0) / 1_000_000 - 1) < 0.01);
    assert.ok(Math.abs((running?.repairedBytes ?? 0) / 125_000 - 1) < 0.01);
    const bad = read('faulted');
    const [disk] = leaves(bad.vdevs);
    assert.deepEqual([disk?.readErrors, disk?.writeErrors, disk?.checksumErrors], [12, 40, 3]);
    assert.deepEqual([bad.errors, bad.scan?.errors, bad.scan?.repairedBytes], [2, 2, 8192]);
    // A device that is gone is known by where it was.
    const gone = leaves(read('unavailable').vdevs)[0];
    assert.match(gone?.name ?? '', /^\d+$/);
    assert.match(gone?.path ?? '', /(scsi-A-part1|c1t0d0s0)$/);
  });
}
