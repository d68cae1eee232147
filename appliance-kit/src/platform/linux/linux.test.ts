import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as zpool from '../../../tests/fixtures/zpool.ts';
import { systemClock } from '../../base/clock.ts';
import { wholeDisk } from '../../storage/inventory/inventory.ts';
import { run } from '../command.ts';
import { leaves } from '../pool.ts';
import { parseDisks, stableName } from './disks.ts';
import { Linux } from './linux.ts';
import { parsePools } from './pools.ts';
import { parseServices } from './services.ts';

const read = (status: unknown) => {
  const [pool] = parsePools(JSON.stringify(status), JSON.stringify(zpool.list), zpool.properties, Date.UTC(2026, 0, 1));
  assert.ok(pool);
  return pool;
};

test('a healthy pool', () => {
  const pool = read(zpool.healthy);
  assert.deepEqual(
    [pool.name, pool.state, pool.bytes, pool.allocated, pool.free, pool.fragmentation],
    ['tank', 'ONLINE', 4026531840, 1530082099, 2496449741, 0.07],
  );
  assert.deepEqual([pool.compression, pool.compressRatio, pool.telemetry], ['lz4', 1.42, true]);
  assert.deepEqual(
    pool.vdevs.map(({ name, type }) => [name, type]),
    [
      ['mirror-0', 'mirror'],
      ['mirror-1', 'mirror'],
    ],
  );
  assert.deepEqual(
    leaves(pool.vdevs).map(({ path }) => wholeDisk(path ?? '')),
    ['A', 'B', 'C', 'D'].map((name) => `/dev/disk/by-id/scsi-${name}`),
  );
  assert.deepEqual(pool.scan, {
    kind: 'scrub',
    state: 'finished',
    paused: false,
    percent: 100,
    bytesDone: 1000000,
    bytesTotal: 1000000,
    secondsLeft: null,
    startedAt: '2025-12-31T00:00:00.000Z',
    finishedAt: '2025-12-31T01:00:00.000Z',
    errors: 0,
    repairedBytes: 0,
  });
  assert.equal(pool.status, null);
});

test('a removed disk, and one whose label is gone', () => {
  const removed = read(zpool.degraded);
  assert.deepEqual(
    [removed.state, removed.vdevs[0]?.state, removed.vdevs[0]?.children[0]?.state],
    ['DEGRADED', 'DEGRADED', 'REMOVED'],
  );
  assert.match(removed.status ?? '', /have been removed/);
  assert.match(removed.action ?? '', /zpool replace/);
  const gone = read(zpool.unavailable).vdevs[0]?.children[0];
  assert.deepEqual(
    [gone?.state, gone?.path],
    ['UNAVAIL', '/dev/disk/by-id/scsi-A-part1'],
    'its last path is still known',
  );
});

test('a resilver, with how far it is', () => {
  const pool = read(zpool.resilvering);
  assert.deepEqual(
    [pool.scan?.kind, pool.scan?.state, pool.scan?.percent, pool.scan?.finishedAt],
    ['resilver', 'scanning', 25, null],
  );
  assert.equal(pool.vdevs[0]?.children[0]?.type, 'replacing');
  assert.equal(leaves(pool.vdevs).length, 3);
});

test('errors are counted, whether they come as numbers or as text', () => {
  const pool = read(zpool.faulted);
  const bad = pool.vdevs[0]?.children[0];
  assert.deepEqual([bad?.readErrors, bad?.writeErrors, bad?.checksumErrors], [12, 40, 3]);
  assert.deepEqual([pool.errors, pool.scan?.errors, pool.scan?.repairedBytes], [2, 2, 8192]);
});

test('spares, logs and caches are distinguished from data', () => {
  const pool = read(zpool.spare);
  assert.deepEqual(
    pool.vdevs.map(({ name, type }) => [name, type]),
    [
      ['raidz1-0', 'raidz1'],
      ['logs', 'log'],
      ['l2cache', 'cache'],
      ['spares', 'spare'],
    ],
  );
  assert.equal(pool.vdevs[0]?.children[0]?.type, 'spare');
});

test('a suspended pool', () => {
  const pool = read(zpool.suspended);
  assert.deepEqual([pool.state, pool.vdevs[0]?.type, pool.scan], ['SUSPENDED', 'disk', null]);
});

test('output that cannot be read is an error, never an empty machine', () => {
  for (const bad of ['', 'no pools available', '{', '[1,2']) {
    assert.throws(() => parsePools(bad, '{}', '', 0), { name: 'ProblemError' }, bad);
    assert.throws(() => parseDisks(bad, new Map(), null), { name: 'ProblemError' }, bad);
  }
  assert.throws(() => parseDisks('{}', new Map(), null), { name: 'ProblemError' });
  assert.deepEqual(parsePools('{"pools":{}}', '{"pools":{}}', '', 0), []);
});

test('half-written pools do not upset the reader', () => {
  const odd = { pools: { a: null, b: {}, c: { state: 'STRANGE', vdevs: { c: { vdevs: { x: null, y: 7 } } } } } };
  const pools = parsePools(JSON.stringify(odd), '{}', 'garbage\n\t\n', 0);
  assert.deepEqual(
    pools.map(({ state, bytes }) => [state, bytes]),
    [
      ['UNAVAIL', 0],
      ['UNAVAIL', 0],
      ['UNAVAIL', 0],
    ],
  );
});

const lsblk = {
  blockdevices: [
    {
      name: 'sda',
      kname: 'sda',
      path: '/dev/sda',
      type: 'disk',
      size: 17179869184,
      model: 'QEMU HARDDISK   ',
      serial: 'drive-sys',
      tran: 'sata',
      rota: true,
      ro: false,
      fstype: null,
      label: null,
      mountpoints: [null],
      children: [
        {
          name: 'sda1',
          kname: 'sda1',
          path: '/dev/sda1',
          type: 'part',
          size: 1000,
          fstype: 'vfat',
          label: 'EFI',
          mountpoints: ['/boot/efi'],
        },
      ],
    },
    {
      name: 'sdb',
      kname: 'sdb',
      path: '/dev/sdb',
      type: 'disk',
      size: '2147483648',
      model: 'QEMU HARDDISK',
      serial: 'data1',
      tran: null,
      rota: '0',
      ro: '0',
      fstype: null,
      label: null,
      mountpoints: [null],
    },
    {
      name: 'sdc',
      kname: 'sdc',
      path: '/dev/sdc',
      type: 'disk',
      size: 2147483648,
      model: null,
      serial: null,
      tran: 'usb',
      rota: null,
      ro: true,
      fstype: 'ext4',
      label: 'old',
      mountpoints: [null],
    },
    {
      name: 'sdd',
      kname: 'sdd',
      path: '/dev/sdd',
      type: 'disk',
      size: 2147483648,
      model: 'X',
      serial: 'Y',
      tran: 'sas',
      rota: false,
      ro: false,
      fstype: null,
      label: null,
      mountpoints: [null],
      children: [
        {
          name: 'sdd1',
          kname: 'sdd1',
          path: '/dev/sdd1',
          type: 'part',
          size: 2147483000,
          fstype: 'zfs_member',
          label: 'tank',
          mountpoints: [null],
        },
      ],
    },
    {
      name: 'vda',
      kname: 'vda',
      path: '/dev/vda',
      type: 'disk',
      size: 2147483648,
      model: null,
      serial: null,
      tran: 'virtio',
      rota: true,
      ro: false,
      fstype: null,
      label: null,
      mountpoints: [],
    },
    {
      name: 'sde',
      kname: 'sde',
      path: '/dev/sde',
      type: 'disk',
      size: 2147483648,
      model: 'S',
      serial: 'S',
      tran: 'sas',
      rota: false,
      ro: false,
      fstype: null,
      label: null,
      mountpoints: [null],
      children: [
        {
          name: 'sde1',
          kname: 'sde1',
          path: '/dev/sde1',
          type: 'part',
          size: 1,
          fstype: 'swap',
          label: null,
          mountpoints: ['[SWAP]'],
        },
      ],
    },
    { name: 'zram0', kname: 'zram0', path: '/dev/zram0', type: 'disk', size: 1000, mountpoints: ['[SWAP]'] },
    { name: 'sr0', kname: 'sr0', path: '/dev/sr0', type: 'rom', size: 1000, mountpoints: [null] },
    { name: 'loop0', kname: 'loop0', path: '/dev/loop0', type: 'loop', size: 1000, mountpoints: ['/snap'] },
    { name: 'sdz', kname: 'sdz', path: '/dev/sdz', type: 'disk', size: 0, mountpoints: [null] },
  ],
};
const links = new Map([
  ['wwn-0x5000c500a1b2c3d4', 'sdb'],
  ['scsi-0QEMU_QEMU_HARDDISK_data1', 'sdb'],
  ['scsi-0QEMU_QEMU_HARDDISK_data1-part1', 'sdb1'],
  ['ata-QEMU_HARDDISK_sys', 'sda'],
  ['usb-Stick_0', 'sdc'],
  ['wwn-0x5000c500a1b2c3d5', 'sdd'],
  ['wwn-0x5000c500a1b2c3d5-part1', 'sdd1'],
  ['scsi-35000c500a1b2c3d6', 'sde'],
]);

test('disks: which there are, by which name, and what lives on them', () => {
  const disks = parseDisks(JSON.stringify(lsblk), links, null);
  assert.deepEqual(
    disks.map(({ id, path }) => [id, path]),
    [
      ['ata-QEMU_HARDDISK_sys', '/dev/sda'],
      ['scsi-0QEMU_QEMU_HARDDISK_data1', '/dev/sdb'],
      ['usb-Stick_0', '/dev/sdc'],
      ['wwn-0x5000c500a1b2c3d5', '/dev/sdd'],
      ['vda', '/dev/vda'],
      ['scsi-35000c500a1b2c3d6', '/dev/sde'],
    ],
  );
  const [system, data, stick, member, nameless, swap] = disks;
  assert.deepEqual([system?.system, data?.system], [true, false]);
  assert.deepEqual([data?.occupant, data?.rotational, data?.bytes, data?.bus], [null, false, 2147483648, 'scsi']);
  assert.match(stick?.occupant ?? '', /ext4 file system named “old”/);
  assert.equal(stick?.readOnly, true);
  assert.match(member?.occupant ?? '', /ZFS pool named “tank” that is not imported/);
  assert.match(nameless?.occupant ?? '', /no serial number/);
  assert.match(swap?.occupant ?? '', /swap/);
  assert.ok(member?.aliases.includes('/dev/disk/by-id/wwn-0x5000c500a1b2c3d5-part1'));
  assert.equal(parseDisks(JSON.stringify(lsblk), links, 'sdb')[1]?.system, true, 'as the initramfs says');
});

test('of many names the one on the label', () => {
  assert.equal(stableName(['nvme-eui.0025', 'nvme-Samsung_980_S64_1', 'nvme-Samsung_980_S64']), 'nvme-Samsung_980_S64');
  assert.equal(stableName(['wwn-0x5', 'ata-WDC_WD40_X']), 'ata-WDC_WD40_X');
  assert.equal(stableName([]), undefined);
});

test('paths of partitions lead to their disks', () => {
  const cases = {
    '/dev/sda1': '/dev/sda',
    '/dev/nvme0n1p1': '/dev/nvme0n1',
    '/dev/nvme0n1': '/dev/nvme0n1',
    '/dev/disk/by-id/wwn-0x5-part9': '/dev/disk/by-id/wwn-0x5',
    '/dev/sda': '/dev/sda',
  };
  for (const [path, disk] of Object.entries(cases)) assert.equal(wholeDisk(path), disk);
});

test('services from systemctl show', () => {
  const unit = (fields: Record<string, string>) =>
    Object.entries(fields)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n');
  const running = {
    LoadState: 'loaded',
    ActiveState: 'active',
    SubState: 'running',
    Result: 'success',
    MainPID: '412',
    MemoryCurrent: '31457280',
    NRestarts: '2',
    StateChangeTimestamp: '@1767139200',
  };
  const output = [
    unit({ Id: 'cistern-akd.service', ...running }),
    unit({
      Id: 'cistern-storaged.service',
      LoadState: 'loaded',
      ActiveState: 'inactive',
      SubState: 'dead',
      Result: 'success',
      MainPID: '0',
      MemoryCurrent: '[not set]',
      NRestarts: '0',
      StateChangeTimestamp: '',
    }),
    unit({
      Id: 'cistern-execd.service',
      LoadState: 'loaded',
      ActiveState: 'failed',
      SubState: 'failed',
      Result: 'start-limit-hit',
      MainPID: '0',
      MemoryCurrent: '18446744073709551615',
      NRestarts: '5',
    }),
    unit({
      Id: 'cistern-supportd.service',
      LoadState: 'loaded',
      ActiveState: 'activating',
      SubState: 'auto-restart',
      Result: 'exit-code',
      ExecMainStatus: '1',
      MainPID: '0',
      NRestarts: '1',
    }),
    unit({
      Id: 'nginx.service',
      LoadState: 'loaded',
      ActiveState: 'failed',
      SubState: 'failed',
      Result: 'exit-code',
      ExecMainStatus: '1',
      NRestarts: '0',
    }),
  ].join('\n\n');
  const services = new Map(parseServices(output).map((service) => [service.name, service]));
  const akd = services.get('akd');
  assert.deepEqual(
    [akd?.state, akd?.pid, akd?.memoryBytes, akd?.restarts, akd?.since],
    ['online', 412, 31457280, 2, '2025-12-31T00:00:00.000Z'],
  );
  const storaged = services.get('storaged');
  assert.deepEqual(
    [storaged?.state, storaged?.waitingFor, storaged?.memoryBytes, storaged?.since],
    ['stopped', 'a pool for telemetry', null, null],
  );
  assert.deepEqual([services.get('execd')?.state, services.get('execd')?.memoryBytes], ['maintenance', null]);
  assert.deepEqual(
    [services.get('supportd')?.state, services.get('supportd')?.reason],
    ['starting', 'It ended with an error and is being restarted.'],
  );
  assert.equal(services.get('nginx')?.reason, 'It ended with an error (status 1).');
  assert.deepEqual([services.get('snmpd')?.state, services.get('snmpd')?.reason], ['stopped', 'It is not installed.']);
  assert.equal(services.size, 9);
});

test('commands: a deadline, a limit on output, and their own words', async () => {
  assert.equal(await run('echo', ['a b', '$HOME;']), 'a b $HOME;\n');
  await assert.rejects(
    run('sleep', ['30'], { deadlineMs: 50 }),
    (error: { problem?: { code: string } }) => error.problem?.code === 'timeout',
  );
  await assert.rejects(run('yes', [], { maxBytes: 1000 }), { name: 'ProblemError' });
  await assert.rejects(run('ls', ['/no/such/place']), /No such file/);
  await assert.rejects(run('no-such-command', []), { name: 'ProblemError' });
});

test('it runs live as long as the file that the start wrote is there', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cistern-live-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const liveFile = join(folder, 'cistern-live');
  const linux = new Linux({ run: folder, clock: systemClock, liveFile });
  assert.equal(linux.live(), null);
  writeFileSync(liveFile, 'sr0\n');
  assert.equal(linux.live(), 'sr0');
});
