// The illumos driver over what its commands print, written after their manual pages and sources.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { asOnIllumos } from '../../../tests/fixtures/illumos.ts';
import * as zpool from '../../../tests/fixtures/zpool-illumos.ts';
import { systemClock } from '../../base/clock.ts';
import { isSystem } from '../../storage/datasets/names.ts';
import { Inventory } from '../../storage/inventory/inventory.ts';
import { type Command, run } from '../command.ts';
import { createPlatform } from '../create.ts';
import type { Execd } from '../execd.ts';
import { zfsPoolActions } from '../zfs/poolActions.ts';
import { type ListedDisk, readDisks } from './disks.ts';
import { Illumos } from './illumos.ts';
import { parsePools } from './pools.ts';
import { parseNeeds, parseServices, parseUse, Restarts } from './services.ts';

const restarter = (fmri: string, properties: Record<string, string>) =>
  Object.entries(properties)
    .map(([name, value]) => `${fmri}/:properties/restarter/${name} astring ${value}\n`)
    .join('');
const at = '1767225600.123456789';
const services = [
  restarter('svc:/application/cistern/akd:default', {
    logfile: '/var/svc/log/application-cistern-akd:default.log',
    contract: '91',
    start_pid: '1234',
    state: 'online',
    next_state: 'none',
    state_timestamp: at,
    auxiliary_state: 'none',
  }),
  restarter('svc:/application/cistern/storaged:default', { state: 'disabled', next_state: 'none' }),
  restarter('svc:/application/cistern/execd:default', {
    start_pid: '99',
    state: 'maintenance',
    next_state: 'none',
    auxiliary_state: 'restarting_too_quickly',
  }),
  restarter('svc:/application/cistern/replicd:default', {
    state: 'offline',
    next_state: 'none',
    auxiliary_state: 'dependencies_unsatisfied',
  }),
  restarter('svc:/application/cistern/tracerd:default', { state: 'offline', next_state: 'online' }),
  restarter('svc:/application/cistern/supportd:default', {
    state: 'maintenance',
    next_state: 'none',
    auxiliary_state: 'something\\ new',
  }),
  restarter('svc:/network/cistern/nginx:default', { state: 'degraded', next_state: 'none', state_timestamp: '' }),
  restarter('svc:/application/cistern/other:default', { state: 'online' }),
  'garbage\n\n',
].join('');

test('services, in every state', () => {
  const known = { use: parseUse(processes), needs: parseNeeds(dependencies), restarts: new Restarts() };
  const read = new Map(parseServices(services, known).map((one) => [one.name, one]));
  const of = (name: string) => {
    const one = read.get(name);
    return [one?.state, one?.reason, one?.waitingFor];
  };
  assert.deepEqual(of('akd'), ['online', null, null]);
  assert.deepEqual([read.get('akd')?.pid, read.get('akd')?.since], [1234, '2026-01-01T00:00:00.123Z']);
  assert.deepEqual(of('storaged'), ['stopped', null, 'a pool for telemetry']);
  assert.deepEqual(of('execd'), ['maintenance', 'It ended again and again right after its start.', null]);
  assert.equal(read.get('execd')?.pid, null);
  assert.deepEqual(of('replicd'), ['stopped', null, 'a service it depends on']);
  assert.deepEqual(of('tracerd'), ['starting', null, null]);
  assert.deepEqual(of('supportd'), ['maintenance', 'It failed; its log says why.', null]);
  assert.deepEqual([...of('nginx'), read.get('nginx')?.since], ['online', null, null, null]);
  assert.deepEqual(of('snmpd'), ['stopped', 'It is not installed.', null]);
  assert.equal(read.size, 9);
  // Of its contract: the daemon and what it started.
  const akd = read.get('akd');
  assert.deepEqual([akd?.memoryBytes, akd?.cpuSeconds], [(90_000 + 1_024) * 1024, 3 + 93_784]);
  assert.deepEqual(akd?.needs, ['execd', 'identity', 'pools']);
  assert.deepEqual(read.get('nginx')?.needs, []);
  assert.deepEqual([read.get('execd')?.memoryBytes, read.get('execd')?.cpuSeconds], [null, null]);
});

test('how often a service was started again', () => {
  const known = { use: new Map(), needs: new Map(), restarts: new Restarts() };
  const look = (properties: Record<string, string>) =>
    parseServices(restarter('svc:/application/cistern/akd:default', properties), known).find(
      ({ name }) => name === 'akd',
    )?.restarts;
  const online = (pid: number) => ({ state: 'online', next_state: 'none', start_pid: `${pid}`, contract: `${pid}` });
  assert.equal(look(online(10)), 0);
  assert.equal(look(online(10)), 0);
  assert.equal(look(online(11)), 1);
  assert.equal(look({ state: 'offline', next_state: 'online' }), 1);
  assert.equal(look(online(12)), 2);
  assert.equal(look({ state: 'maintenance', next_state: 'none' }), 2);
  // The same number again, of another contract.
  assert.equal(look({ ...online(12), contract: '99' }), 3);
  assert.equal(look({ state: 'disabled', next_state: 'none' }), 0);
  assert.equal(look(online(13)), 0);
});

test('processes: what ps prints, and what it does not', () => {
  assert.deepEqual([...parseUse('')], []);
  const all = parseUse('   12     4 00:01\n  12 8  1:02:03\n- 4 00:01\n13 x 00:01\n14 4 <defunct>\n15 4 2-00:00:01\n');
  assert.deepEqual(
    [...all],
    [
      [12, { memoryBytes: 12 * 1024, cpuSeconds: 1 + 3723 }],
      [15, { memoryBytes: 4096, cpuSeconds: 2 * 86_400 + 1 }],
    ],
  );
});

/** A line for each process: contract, resident KiB, processor time. The kernel's own are of no contract. */
const processes = [
  '   0     0    00:02',
  '  91 90000    00:03',
  '  91  1024 1-02:03:04',
  ' 200  5000    10:00',
  '',
].join('\n');
const needsOf = (name: string, group: string, value: string) =>
  `svc:/application/cistern/${name}:default/:properties/${group}/entities fmri ${value}\n`;
const dependencies = [
  needsOf('akd', 'identity', 'svc:/system/cistern/identity'),
  needsOf('akd', 'filesystem', 'svc:/system/filesystem/local'),
  needsOf('akd', 'execd', 'svc:/application/cistern/execd:default svc:/system/cistern/pools svc:/network/physical'),
  'svc:/application/cistern/akd:default/:properties/general/enabled boolean true\n',
].join('');

/** What execd lists, which its own tests compare with what diskinfo prints. */
const { disks: listed } = JSON.parse(
  readFileSync(new URL('../../../../services/execd/testdata/disks-illumos.json', import.meta.url), 'utf8'),
) as { disks: ListedDisk[] };
const verbs: string[] = [];
const listing = {
  run: async (verb: string) => {
    verbs.push(verb);
    return { disks: listed };
  },
} as unknown as Execd;

test('disks: with and without what names them', () => {
  const pools = parsePools(zpool.healthy.replaceAll('tank', 'rpool'), zpool.list.replaceAll('tank', 'rpool'), '');
  const disks = readDisks(listed, pools);
  assert.deepEqual(
    disks.map(({ id, model, serial, bytes, bus, rotational, system }) => [
      id,
      model,
      serial,
      bytes,
      bus,
      rotational,
      system,
    ]),
    [
      ['c0t5000CCA05C68D505d0', 'HGST HUS726T4TAL5204', 'V1G2ABCD', 4000787030016, 'scsi', true, false],
      ['c1t0d0', 'Model with blanks', '', 512110190592, 'nvme', false, true],
      ['c2d0', 'Unknown model', '', 8589934592, 'scsi', null, false],
    ],
  );
  assert.ok(disks[0]?.aliases.includes('/dev/dsk/c0t5000CCA05C68D505d0s0'));
  assert.deepEqual(
    disks.map(({ place }) => place),
    ['chassis 0, Slot 03', null, 'SLOT 1'],
  );
  assert.deepEqual(readDisks([], pools), []);
});

test('the driver: what it runs, and what it is', async () => {
  const etc = mkdtempSync(join(tmpdir(), 'cistern-etc-'));
  mkdirSync(join(etc, 'default'));
  writeFileSync(join(etc, 'default/init'), '# comment\nTZ=Europe/Zurich\nCMASK=022\n');
  const ran: string[] = [];
  const illumos = new Illumos({
    run: etc,
    etc,
    execd: listing,
    command: asOnIllumos(async (program, args) => {
      ran.push([program, ...args].join(' '));
      if (program === 'kstat') return 'unix:0:system_misc:boot_time\t1767225600\n';
      // Who may not open the disks sees none, and hears nothing of it.
      if (program === 'diskinfo') return '';
      if (program === 'svcprop') return args.includes('restarter') ? services : dependencies;
      if (program === 'ps') return processes;
      if (program === 'zfs') return zpool.properties;
      return args[0] === 'list' ? zpool.list : zpool.healthy;
    }),
  });
  assert.equal(await illumos.bootId(), '1767225600');
  assert.equal(illumos.identity().timeZone, 'Europe/Zurich');
  assert.equal((await illumos.disks()).length, 3);
  assert.equal((await illumos.services()).length, 9);
  assert.ok(ran.includes('svcprop -f -p restarter svc:/application/cistern/* svc:/network/cistern/*'));
  assert.deepEqual(verbs, ['disks.list']);
  assert.ok(ran.includes('ps -e -o ctid= -o rss= -o time='));
  assert.deepEqual((await illumos.services()).find(({ name }) => name === 'akd')?.needs, [
    'execd',
    'identity',
    'pools',
  ]);
  // What they need does not change while akd runs.
  assert.equal(ran.filter((one) => one === 'svcprop -f svc:/application/cistern/* svc:/network/cistern/*').length, 1);
  // No execd there: a problem that names it.
  await assert.rejects(new Illumos({ run: etc }).disks(), { name: 'ProblemError' });
  rmSync(etc, { recursive: true });
  const config = { platform: 'illumos', run: '/nowhere' } as Parameters<typeof createPlatform>[0];
  assert.equal((await createPlatform(config, {} as never, {} as never)).kind, 'illumos');
});

// svcprop.c, scf_walk_fmri: a pattern that matches nothing, and an instance that has no such group yet, make it end with 1 when all
// the rest is printed.
test('services are known although svcprop ends with 1 for one that was just added', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cistern-svcprop-'));
  writeFileSync(join(folder, 'services'), services);
  // The real runner, with a program that prints, complains, and fails.
  const failing: Command = (program, _args, options) =>
    program === 'svcprop'
      ? run('sh', ['-c', `cat '${folder}/services'; echo "svcprop: Couldn't find property group" >&2; exit 1`], options)
      : Promise.resolve('');
  const found = await new Illumos({ run: '/nowhere', command: failing }).services();
  assert.equal(found.find(({ name }) => name === 'akd')?.state, 'online');
  // One that prints nothing has no answer.
  const silent: Command = (_program, _args, options) => run('sh', ['-c', 'echo no >&2; exit 1'], options);
  await assert.rejects(new Illumos({ run: '/nowhere', command: silent }).services(), /failed: no/);
  rmSync(folder, { recursive: true });
});

test('the pool that OmniOS is installed on is the system pool, whatever Debian calls its own', async () => {
  const as = (text: string) => text.replaceAll('tank', 'rpool');
  const platform = new Illumos({
    run: '/nowhere',
    execd: listing,
    command: asOnIllumos(async (program, args) => {
      if (program === 'zfs') return '';
      return as(args[0] === 'list' ? zpool.list : zpool.healthy);
    }),
  });
  const { disks, pools } = await new Inventory(platform, systemClock).renew();
  assert.deepEqual(
    pools.map(({ name, system }) => [name, system]),
    [['rpool', true]],
  );
  assert.deepEqual(
    disks.filter(({ state }) => state === 'system').map(({ id }) => id),
    ['c1t0d0'],
  );
  for (const [dataset, system] of [
    ['rpool', true],
    ['rpool/ROOT/omnios', true],
    ['rpool/telemetry', false],
    ['rpools/a', false],
    ['system/a', false],
  ] as const) {
    assert.equal(isSystem(dataset, platform.systemPool), system, dataset);
  }
  const asked: string[] = [];
  const execd = { run: async (verb: string, body: object) => void asked.push(`${verb} ${JSON.stringify(body)}`) };
  const actions = zfsPoolActions(execd as unknown as Execd, platform.systemPool);
  await actions.attach('rpool', '/dev/dsk/c1t0d0s1', '/dev/dsk/c4t0d0');
  await actions.detach('rpool', '/dev/dsk/c1t0d0s1');
  await actions.attach('system', '/dev/dsk/c5t0d0s0', '/dev/dsk/c6t0d0');
  assert.deepEqual(asked, [
    'system.attach {"disk":"/dev/dsk/c4t0d0"}',
    'system.detach {"device":"/dev/dsk/c1t0d0s1"}',
    'vdev.attach {"pool":"system","device":"/dev/dsk/c5t0d0s0","disk":"/dev/dsk/c6t0d0"}',
  ]);
});
