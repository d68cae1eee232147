// The machine itself, as Linux and illumos tell of it: what they print when all is well, and what they print otherwise.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { asOnIllumos } from '../../tests/fixtures/illumos.ts';
import { systemClock } from '../base/clock.ts';
import { fail } from '../base/problems/problem.ts';
import { parseTracking } from './chrony.ts';
import { IllumosMachine, parseLinks, parseNtpq, splitParsable } from './illumos/machine.ts';
import { addressBytes, LinuxMachine, type LinuxMachineOptions, parseOrigins } from './linux/machine.ts';
import type { TimeSource } from './machine.ts';
import { Simulation } from './sim/simulation.ts';

test('Linux: the clock as chrony tells of it; one that is stopped does not run, and what cannot be started is an error', async () => {
  const linux = (answer: string | Error) =>
    new LinuxMachine({
      command: async (program, args) => {
        assert.deepEqual([program, ...args], ['chronyc', '-c', '-n', 'tracking']);
        if (typeof answer !== 'string') throw answer;
        return answer;
      },
    });
  // What Debian's chronyc 4.6.1-3+deb13u2 printed on 26 November 2026.
  const follows =
    '7F000002,127.0.0.2,2,1795662359.933929451,-0.000459044,0.000139372,0.000139372,-7.885,-0.000,436.803,0.001150551,0.013276663,2.0,Normal\n';
  assert.deepEqual(await linux(follows).timeSource(), {
    ...{ daemon: 'chrony', running: true, source: '127.0.0.2', synchronised: true },
    ...{ answeredAt: 1_795_662_359_934, pollSeconds: 2, offsetSeconds: 0.000459044 },
  });
  const silent = fail('command_failed', '“chronyc -c -n tracking” failed: Command failed: chronyc -c -n tracking');
  const { daemon, running, synchronised } = await linux(silent).timeSource();
  assert.deepEqual([daemon, running, synchronised], ['chrony', false, false]);
  const missing = fail('command_failed', '“chronyc -c -n tracking” failed: spawn chronyc ENOENT');
  await assert.rejects(linux(missing).timeSource(), /ENOENT/);
  await assert.rejects(linux('200 OK').timeSource(), /What chronyc says cannot be read/);
});

/** A /sys with these files; a text that begins with → is a link. */
function sys(t: TestContext, files: Record<string, string>, options: Partial<LinuxMachineOptions> = {}): LinuxMachine {
  const folder = mkdtempSync(join(tmpdir(), 'sys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    if (text.startsWith('→')) symlinkSync(text.slice(1), full);
    else writeFileSync(full, `${text}\n`);
  }
  return new LinuxMachine({
    command: options.command ?? (async () => ''),
    sys: folder,
    interfaces: options.interfaces,
  });
}

const port = (name: string, files: Record<string, string>) =>
  Object.fromEntries(
    Object.entries({ type: '1', flags: '0x1003', device: '→../../../0000:01:00.0', ...files }).map(([file, text]) => [
      `class/net/${name}/${file}`,
      text,
    ]),
  );

/** Without addresses. */
const facts = async (machine: LinuxMachine | IllumosMachine) =>
  (await machine.links()).map(({ name, bond, member, enabled, carrier, megabits }) => {
    return { name, bond, member, enabled, carrier, megabits };
  });

test('links of Linux: ports and bonds, with and without a carrier; what only exists in software is left out', async (t) => {
  const machine = sys(t, {
    ...port('eno1', { carrier: '1', speed: '10000' }),
    ...port('eno2', { carrier: '0', speed: '-1' }),
    // The kernel refuses to say anything of a port that is off: there is nothing to read.
    ...port('eno3', { flags: '0x1002' }),
    ...port('ens1', { carrier: '1', speed: '1000', master: '→../bond0' }),
    ...port('ens2', { carrier: '1', speed: '4294967295', master: '→../br0' }),
    ...port('bond0', { carrier: '1', speed: '2000', 'bonding/mode': 'active-backup 1' }),
    'class/net/bond0/device': '→../nothing',
    'class/net/br0/type': '1',
    'class/net/br0/flags': '0x1003',
    'class/net/br0/carrier': '1',
    'class/net/lo/type': '772',
    'class/net/lo/flags': '0x9',
    'class/net/wg0/type': '65534',
    'class/net/bonding_masters': 'bond0',
  });
  assert.deepEqual(await facts(machine), [
    { name: 'bond0', bond: true, member: null, enabled: true, carrier: true, megabits: 2000 },
    { name: 'eno1', bond: false, member: null, enabled: true, carrier: true, megabits: 10_000 },
    { name: 'eno2', bond: false, member: null, enabled: true, carrier: false, megabits: null },
    { name: 'eno3', bond: false, member: null, enabled: false, carrier: false, megabits: null },
    { name: 'ens1', bond: false, member: 'bond0', enabled: true, carrier: true, megabits: 1000 },
    { name: 'ens2', bond: false, member: null, enabled: true, carrier: true, megabits: null },
  ]);
  assert.deepEqual(await sys(t, {}).links(), []);
});

test('sensors of Linux: labels, limits, and readings that nobody believes', async (t) => {
  const machine = sys(t, {
    'class/hwmon/hwmon0/name': 'coretemp',
    'class/hwmon/hwmon0/device': '→../../../coretemp.0',
    'class/hwmon/hwmon0/temp1_input': '47000',
    'class/hwmon/hwmon0/temp1_label': 'Package id 0',
    'class/hwmon/hwmon0/temp1_max': '84000',
    'class/hwmon/hwmon0/temp1_crit': '100000',
    'class/hwmon/hwmon1/name': 'nct6775',
    'class/hwmon/hwmon1/temp1_input': '36500',
    'class/hwmon/hwmon1/temp1_max': '0',
    'class/hwmon/hwmon1/temp1_crit': '255000',
    'class/hwmon/hwmon1/temp2_input': '-128000',
    'class/hwmon/hwmon1/temp3_input': '90000',
    'class/hwmon/hwmon1/temp3_fault': '1',
    'class/hwmon/hwmon1/temp4_input': 'nonsense',
    'class/hwmon/hwmon1/temp5_input': '',
    'class/hwmon/hwmon1/fan1_input': '900',
    'class/hwmon/hwmon2/name': 'nvme',
    'class/hwmon/hwmon2/temp1_input': '55000',
  });
  assert.deepEqual(await machine.sensors(), [
    {
      ...{ id: 'coretemp/coretemp.0/Package id 0', title: 'Package id 0 (coretemp coretemp.0)' },
      ...{ celsius: 47, maximum: 84, critical: 100 },
    },
    { id: 'nct6775//temp1', title: 'temp1 (nct6775)', celsius: 36.5, maximum: null, critical: null },
  ]);
  assert.deepEqual(await sys(t, {}).sensors(), [], 'a virtual machine has none');
});

test('chrony: in time, without a source, and what is no answer', () => {
  const line = (leap: string, reference = '1787323275.100216', offset = '-0.002100000') =>
    `CB00710A,203.0.113.10,2,${reference},${offset},0.000012,0.000034,12.345,0.001,0.02,0.010,0.002,256.5,${leap}\n`;
  assert.deepEqual(parseTracking(line('Normal')), {
    ...{ daemon: 'chrony', running: true, source: '203.0.113.10', synchronised: true },
    ...{ answeredAt: 1_787_323_275_100, pollSeconds: 256.5, offsetSeconds: 0.0021 },
  });
  assert.equal(parseTracking(line('Insert second')).synchronised, true);
  const never = parseTracking('00000000,,0,0.000000000,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n');
  assert.deepEqual(
    [never.synchronised, never.source, never.answeredAt, never.offsetSeconds, never.pollSeconds],
    [false, null, null, null, null],
  );
  for (const text of ['', '506 Cannot talk to daemon', `${line('Normal')}${line('Normal')}`, line('Normal', 'x')])
    assert.throws(() => parseTracking(text), /What chronyc says cannot be read/, text);
});

test('ntpd: in time, without a source, and what is no answer', () => {
  assert.deepEqual(parseNtpq('leap=00, refid=203.0.113.10,\noffset=-2.500000\n'), {
    ...{ daemon: 'ntpd', running: true, source: '203.0.113.10', synchronised: true },
    ...{ answeredAt: null, pollSeconds: null, offsetSeconds: 0.0025 },
  });
  const all =
    'associd=0 status=c016 leap_alarm, sync_unspec, 1 event, restart,\nleap=11, stratum=16, refid=INIT, offset=0.0\n';
  for (const text of [all, 'leap=3, refid=INIT, offset=0.000', 'leap=03,offset=0'])
    assert.deepEqual(
      [parseNtpq(text).synchronised, parseNtpq(text).source, parseNtpq(text).offsetSeconds],
      [false, null, null],
    );
  assert.throws(() => parseNtpq('***Request timed out'), /What ntpq says cannot be read/);
});

test('illumos: whichever of the two keeps the clock is asked; neither is not an error but no clock', async () => {
  const machine = (answers: Record<string, string | Error>) =>
    new IllumosMachine(
      asOnIllumos(async (program) => {
        const answer = answers[program];
        if (typeof answer === 'string') return answer;
        throw answer ?? fail('command_failed', `“${program}” failed: spawn ${program} ENOENT`);
      }),
    );
  const chronyc = 'A,203.0.113.10,2,1787323275.1,0.001,0,0,0,0,0,0,0,64.0,Normal';
  const ntpq = 'leap=00, refid=192.0.2.9, offset=1.0';
  const of = async (answers: Record<string, string | Error>) => {
    const { daemon, running, source }: TimeSource = await machine(answers).timeSource();
    return [daemon, running, source];
  };
  assert.deepEqual(await of({ chronyc, ntpq }), ['chrony', true, '203.0.113.10']);
  assert.deepEqual(await of({ ntpq }), ['ntpd', true, '192.0.2.9']);
  const silent = fail('command_failed', '“chronyc -c -n tracking” failed: Command failed: chronyc -c -n tracking');
  assert.deepEqual(await of({ chronyc: silent, ntpq }), ['ntpd', true, '192.0.2.9']);
  assert.deepEqual(await of({ chronyc: silent, ntpq: '' }), ['chrony', false, null]);
  assert.deepEqual(await of({ ntpq: 'ntpq: read: Connection refused\n' }), ['ntpd', false, null]);
  assert.deepEqual(await of({}), ['chrony', false, null]);
  await assert.rejects(machine({ chronyc: 'garbage' }).timeSource(), /What chronyc says cannot be read: “garbage”/);
});

const DLADM = {
  links: [
    'igb0:phys:up:1500:',
    'igb1:phys:down:1500:',
    'igb2:phys:unknown:1500:',
    'ixgbe0:phys:up:9000:',
    'odd\\:name0:phys:up:1500:',
    'aggr0:aggr:up:9000:ixgbe0,ixgbe1',
    'aggr1:aggr:up:1500:igb5 igb6',
    'igb6:phys:up:1500:',
    'vnic0:vnic:up:1500:igb0',
    'stub0:etherstub:unknown:9000:',
    '',
  ].join('\n'),
  ports: 'igb0:up:1000\nigb1:down:0\nixgbe0:up:10000\nodd\\:name0:up:100\n',
  macs: 'igb0:primary:2\\:0\\:5e\\:10\\:0\\:1\nigb0:1:2\\:0\\:5e\\:10\\:0\\:ff\nigb1:primary:\nigb2:primary:0\\:0\\:0\\:0\\:0\\:0\n',
  addresses: [
    'lo0/v4:static:ok:127.0.0.1/8',
    'igb0/v4:dhcp:ok:192.0.2.10/24',
    'igb0/v6:addrconf:ok:fe80\\:\\:5eff\\:fe10\\:1%igb0/10',
    'igb0/v6:addrconf:ok:2001\\:db8\\:\\:5eff\\:fe10\\:1/64',
    'igb0/taken:static:duplicate:192.0.2.11/24',
    'igb0/off:static:disabled:nas.example/24',
    'igb0/?:static:ok:198.51.100.7/32',
    'igb1/v4:dhcp:ok:?',
    'odd\\:name0/a:from-gz:ok:203.0.113.1->203.0.113.2',
    'aggr0/mail:static:inaccessible:203.0.113.5/29',
    '',
  ].join('\n'),
};

test('links of illumos: ports, aggregations, colons and backslashes in names', () => {
  assert.deepEqual(splitParsable('a\\:b:c\\\\d::e'), ['a:b', 'c\\d', '', 'e']);
  assert.deepEqual(splitParsable('a:b\\'), ['a', 'b']);
  const rest = { bond: false, member: null, mac: null, mtu: 1500, addresses: [] };
  assert.deepEqual(parseLinks(DLADM), [
    {
      ...{ ...rest, name: 'igb0', enabled: true, carrier: true, megabits: 1000, mac: '02:00:5e:10:00:01' },
      addresses: [
        { address: '192.0.2.10', prefix: 24, origin: 'dhcp' },
        { address: 'fe80::5eff:fe10:1', prefix: 10, origin: 'autoconfigured' },
        { address: '2001:db8::5eff:fe10:1', prefix: 64, origin: 'autoconfigured' },
        { address: '198.51.100.7', prefix: 32, origin: 'static' },
      ],
    },
    { ...rest, name: 'igb1', enabled: true, carrier: false, megabits: null },
    { ...rest, name: 'igb2', enabled: false, carrier: false, megabits: null },
    { ...rest, name: 'ixgbe0', member: 'aggr0', enabled: true, carrier: true, megabits: 10_000, mtu: 9000 },
    {
      ...{ ...rest, name: 'odd:name0', enabled: true, carrier: true, megabits: 100 },
      addresses: [{ address: '203.0.113.1', prefix: null, origin: null }],
    },
    {
      ...{ ...rest, name: 'aggr0', bond: true, enabled: true, carrier: true, megabits: null, mtu: 9000 },
      addresses: [{ address: '203.0.113.5', prefix: 29, origin: 'static' }],
    },
    { ...rest, name: 'aggr1', bond: true, enabled: true, carrier: true, megabits: null },
    { ...rest, name: 'igb6', member: 'aggr1', enabled: true, carrier: true, megabits: null },
  ]);
  const nothing = { links: '', ports: '', macs: '', addresses: '' };
  assert.deepEqual(parseLinks(nothing), []);
  for (const [listing, program] of [
    ['links', 'dladm show-link'],
    ['ports', 'dladm show-phys'],
    ['macs', 'dladm show-phys -m'],
    ['addresses', 'ipadm show-addr'],
  ] as const) {
    const said = new RegExp(`“${program}” printed a line that cannot be read: “igb0 phys”`);
    assert.throws(() => parseLinks({ ...nothing, [listing]: 'igb0 phys' }), said);
  }
});

test('illumos: addresses that cannot be asked for hide no link', async () => {
  const machine = new IllumosMachine(
    asOnIllumos(async (program, args) => {
      if (program === 'ipadm' || args.includes('-m')) throw fail('command_failed', 'it is not there');
      return args[0] === 'show-link' ? DLADM.links : DLADM.ports;
    }),
  );
  const [first] = await machine.links();
  assert.deepEqual([first?.name, first?.carrier, first?.mac, first?.addresses], ['igb0', true, null, null]);
});

/** As busctl prints what networkd describes. */
function networkd(addresses: Record<string, [number[], string][]>): string {
  const Interfaces = Object.entries(addresses).map(([Name, all]) => ({
    ...{ Index: 2, Name, MTU: 1500 },
    Addresses: all.map(([Address, ConfigSource]) => ({
      ...{ Family: Address.length === 4 ? 2 : 10, Address, PrefixLength: 24, ConfigSource },
      ConfigState: 'configured',
    })),
  }));
  return JSON.stringify({ type: 's', data: [JSON.stringify({ Interfaces })] });
}

const GLOBAL = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0x5e, 0xff, 0xfe, 0x10, 0, 1];

test('addresses of Linux: the kernel says which, networkd where they are from; without it nobody does', async (t) => {
  const interfaces = () =>
    Object.fromEntries(
      Object.entries({
        lo: ['127.0.0.1/8'],
        eno1: ['192.0.2.10/24', '198.51.100.7/32', '2001:db8::5eff:fe10:1/64', 'fe80::1/64', '203.0.113.1/24'],
      }).map(([name, all]) => [
        name,
        all.map((cidr) => ({ address: cidr.replace(/\/.*/, ''), cidr, internal: false })) as never,
      ]),
    );
  const files = {
    ...port('eno1', { carrier: '1', speed: '1000', mtu: '9000', address: '02:00:5E:10:00:01' }),
    ...port('ib0', { type: '32', carrier: '0', mtu: '2044', address: '80:00:02:08:fe:80:00:00:00:00:00:00' }),
  };
  let asked = 0;
  const command = async (program: string, args: readonly string[]) => {
    assert.equal(program, 'busctl');
    assert.ok(args.includes('--auto-start=no') && args.includes('Describe'));
    asked++;
    return networkd({
      lo: [[[127, 0, 0, 1], 'foreign']],
      eno1: [
        [[192, 0, 2, 10], 'DHCPv4'],
        [[198, 51, 100, 7], 'static'],
        [GLOBAL, 'NDisc'],
        [[203, 0, 113, 1], 'foreign'],
      ],
    });
  };
  const machine = sys(t, files, { command, interfaces });
  const [eno1, ib0] = await machine.links();
  assert.deepEqual(eno1?.addresses, [
    { address: '192.0.2.10', prefix: 24, origin: 'dhcp' },
    { address: '198.51.100.7', prefix: 32, origin: 'static' },
    { address: '2001:db8::5eff:fe10:1', prefix: 64, origin: 'autoconfigured' },
    { address: 'fe80::1', prefix: 64, origin: 'autoconfigured' },
    { address: '203.0.113.1', prefix: 24, origin: null },
  ]);
  assert.deepEqual([eno1?.mtu, eno1?.mac], [9000, '02:00:5e:10:00:01']);
  assert.deepEqual([ib0?.mtu, ib0?.mac, ib0?.addresses], [2044, null, []]);
  await machine.links();
  assert.equal(asked, 1, 'not at each look');
  for (const answer of ['', '{}', '{"type":"s","data":["{"]}', networkd({})]) {
    const [link] = await sys(t, files, { command: async () => answer, interfaces }).links();
    assert.deepEqual(
      link?.addresses?.map(({ origin }) => origin),
      [null, null, null, 'autoconfigured', null],
    );
  }
});

test('what Debian 13’s networkd said of a link, as busctl printed it', () => {
  const said = readFileSync(new URL('../../tests/fixtures/networkd.json', import.meta.url), 'utf8');
  assert.deepEqual(
    [...parseOrigins(said)],
    [
      ['eno1 203.0.113.8', 'static'],
      [`eno1 ${addressBytes('2001:db8::4827:f4ff:fe81:5518').join('.')}`, 'autoconfigured'],
    ],
  );
});

test('two spellings of an address are the same one', () => {
  assert.deepEqual(addressBytes('192.0.2.10'), [192, 0, 2, 10]);
  assert.deepEqual(addressBytes('::'), Array(16).fill(0));
  assert.deepEqual(addressBytes('2001:db8::5eff:fe10:1'), addressBytes('2001:0DB8:0:0:0:5EFF:FE10:0001'));
  assert.deepEqual(addressBytes('2001:db8::5eff:fe10:1'), GLOBAL);
  assert.deepEqual(addressBytes('1::'), [0, 1, ...Array(14).fill(0)]);
  assert.deepEqual(addressBytes('::ffff:192.0.2.1'), addressBytes('::ffff:c000:201'));
});

test('the same link is the same on Linux, on illumos and in the simulation', async (t) => {
  const linux = sys(t, port('eno1', { carrier: '1', speed: '10000', mtu: '1500', address: '02:00:5e:10:00:01' }), {
    command: async () => networkd({ eno1: [[[192, 0, 2, 10], 'DHCPv4']] }),
    interfaces: () => ({
      eno1: [
        { address: '192.0.2.10', cidr: '192.0.2.10/24' },
        { address: 'fe80::5eff:fe10:1', cidr: 'fe80::5eff:fe10:1/64' },
      ] as never,
    }),
  });
  const illumos = new IllumosMachine(
    asOnIllumos(async (program, args) => {
      if (program === 'ipadm')
        return 'eno1/v4:dhcp:ok:192.0.2.10/24\neno1/v6:addrconf:ok:fe80\\:\\:5eff\\:fe10\\:1/64\n';
      if (args.includes('-m')) return 'eno1:primary:2\\:0\\:5e\\:10\\:0\\:1\n';
      return args[0] === 'show-link' ? 'eno1:phys:up:1500:\n' : 'eno1:up:10000\n';
    }),
  );
  const sim = new Simulation({ clock: systemClock }).machine;
  const [expected] = await sim.links();
  for (const machine of [linux, illumos]) assert.deepEqual((await machine.links())[0], expected);
});
