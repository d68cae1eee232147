import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestClock } from '../../../tests/harness.ts';
import type { Platform, PlatformPool } from '../../platform/platform.ts';
import { Inventory } from './inventory.ts';

const tank: PlatformPool = {
  ...{ name: 'tank', state: 'ONLINE', bytes: 100, allocated: 10, free: 90, fragmentation: 0, status: null },
  ...{ action: null, scan: null, vdevs: [], errors: 0, compression: 'lz4', compressRatio: 1, telemetry: true },
  ...{ properties: { autoexpand: false, autotrim: false, comment: '', readOnly: false }, upgradable: false },
};

function machine(known: { poolsUnchanged?: () => Promise<boolean> }) {
  const clock = new TestClock();
  const asked = { disks: 0, pools: 0 };
  const now = { pool: tank };
  const platform = {
    ...known,
    systemPool: 'system',
    disks: async () => {
      asked.disks++;
      return [];
    },
    pools: async () => {
      asked.pools++;
      return [now.pool];
    },
  } as unknown as Platform;
  const inventory = new Inventory(platform, clock);
  /** The poller's round, ten seconds after the last one. */
  const round = async () => {
    clock.advance(10);
    const [a, b] = await Promise.all([inventory.look(), inventory.look()]);
    assert.equal(a, b, 'watches of one round share a reading');
    return a.pools;
  };
  return { inventory, clock, asked, now, round };
}

test('as long as nothing has happened to pools they are read every half a minute, with their age', async () => {
  let unchanged = true;
  const { inventory, asked, now, round } = machine({ poolsUnchanged: async () => unchanged });
  const ages: number[] = [];
  for (let n = 0; n < 8; n++) ages.push((await round()).ageSeconds);
  assert.deepEqual(ages, [0, 10, 20, 30, 0, 10, 20, 30]);
  assert.deepEqual(asked, { disks: 8, pools: 2 });

  await round();
  now.pool = { ...tank, state: 'DEGRADED' };
  unchanged = false;
  const { value, ageSeconds } = await round();
  assert.deepEqual([value[0]?.state, ageSeconds], ['DEGRADED', 0]);
  unchanged = true;
  for (let n = 0; n < 3; n++) assert.equal((await round()).ageSeconds, 0, 'one that is not well is read each time');

  now.pool = tank;
  await round();
  await round();
  const before = asked.pools;
  await inventory.pools();
  assert.equal(asked.pools, before + 1, 'a page gets what is now');
});

test('a scrub goes on, and a machine that cannot say whether something happened is asked: they are read each time', async () => {
  const scrubbing = machine({ poolsUnchanged: async () => true });
  const scan = { kind: 'scrub', state: 'scanning', paused: false, percent: 1, bytesDone: 1, bytesTotal: 100 } as const;
  const none = { secondsLeft: null, startedAt: null, finishedAt: null, errors: 0, repairedBytes: 0 };
  scrubbing.now.pool = { ...tank, scan: { ...scan, ...none } };
  const failing = machine({ poolsUnchanged: () => Promise.reject(new Error('it cannot be known')) });
  for (const { round, asked } of [scrubbing, failing, machine({})]) {
    for (let n = 1; n <= 3; n++) {
      assert.equal((await round()).ageSeconds, 0);
      assert.equal(asked.pools, n);
    }
  }
});
