import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Execd } from '../execd.ts';
import { LinuxHardware, parseCards } from './hardware.ts';

/** A /sys in a folder: files by their path, links by where they point. */
function machine(
  t: TestContext,
  files: Record<string, string | Buffer>,
  links: Record<string, string> = {},
  said: unknown = { text: '' },
) {
  const root = mkdtempSync(join(tmpdir(), 'cistern-hardware-'));
  t.after(() => rmSync(root, { recursive: true }));
  const at = (path: string) => {
    const whole = join(root, 'sys', path);
    mkdirSync(dirname(whole), { recursive: true });
    return whole;
  };
  mkdirSync(join(root, 'sys'));
  for (const [path, content] of Object.entries(files)) writeFileSync(at(path), content);
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(at(`${target}/.`), { recursive: true });
    symlinkSync(join(root, 'sys', target), at(path));
  }
  mkdirSync(join(root, 'proc'));
  writeFileSync(join(root, 'proc/cpuinfo'), 'processor\t: 0\nmicrocode\t: 0xa0011d5\n');
  const database = join(root, 'ras-mc_event.db');
  const asked: string[] = [];
  const hardware = new LinuxHardware({
    ...{ sys: join(root, 'sys'), proc: join(root, 'proc'), database },
    command: async (program, args) => {
      asked.push([program, ...args].join(' '));
      return program === 'ethtool' ? 'driver: ixgbe\nfirmware-version: 0x80000835\nbus-info: 0000:01:00.0\n' : '';
    },
    execd: { run: async () => said } as unknown as Execd,
  });
  return { hardware, database, asked };
}

test('memory errors, by module where the controller knows which', async (t) => {
  const mc = 'devices/system/edac/mc/mc0';
  const { hardware } = machine(t, {
    [`${mc}/mc_name`]: 'Skylake Socket#0 IMC#0\n',
    [`${mc}/ce_count`]: '15\n',
    [`${mc}/ue_count`]: '1\n',
    [`${mc}/dimm0/dimm_label`]: 'CPU1_DIMM_A1\n',
    [`${mc}/dimm0/dimm_ce_count`]: '12\n',
    [`${mc}/dimm0/dimm_ue_count`]: '1\n',
    [`${mc}/dimm3/dimm_label`]: '\n',
    [`${mc}/dimm3/dimm_location`]: 'channel 1 slot 0\n',
    [`${mc}/dimm3/dimm_ce_count`]: '0\n',
    [`${mc}/dimm3/dimm_ue_count`]: '0\n',
  });
  assert.deepEqual(
    (await hardware.errors()).map(({ part, title, corrected, uncorrected }) => [part, title, corrected, uncorrected]),
    [
      ['mc0/dimm0', 'CPU1_DIMM_A1', 12, 1],
      ['mc0/dimm3', 'mc0 channel 1 slot 0', 0, 0],
      ['mc0', 'Memory controller 0 (Skylake Socket#0 IMC#0)', 3, 0],
    ],
  );
});

test('errors of PCI Express, with the names of those there were', async (t) => {
  const device = 'bus/pci/devices/0000:01:00.0';
  const { hardware } = machine(t, {
    [`${device}/aer_dev_correctable`]: 'RxErr 0\nBadTLP 4\nBadDLLP 1\nTOTAL_ERR_COR 5\n',
    [`${device}/aer_dev_nonfatal`]: 'Undefined 0\nCmpltTO 2\nTOTAL_ERR_NONFATAL 2\n',
    [`${device}/aer_dev_fatal`]: 'Undefined 0\nTOTAL_ERR_FATAL 0\n',
    'bus/pci/devices/0000:00:00.0/class': '0x060000\n',
    'bus/pci/devices/0000:00:05.0/aer_dev_correctable': 'RxErr 0\nTOTAL_ERR_COR 0\n',
    'bus/pci/devices/0000:00:05.0/0000:01:00.0/class': '0x020000\n',
  });
  assert.deepEqual(await hardware.errors(), [
    {
      ...{ kind: 'pcie', part: '0000:00:05.0', title: 'The PCI Express port 0000:00:05.0', behind: '0000:01:00.0' },
      ...{ corrected: 0, uncorrected: 0, detail: '' },
    },
    {
      ...{ kind: 'pcie', part: '0000:01:00.0', title: 'The PCI Express device 0000:01:00.0' },
      ...{ corrected: 5, uncorrected: 2, detail: 'BadTLP, BadDLLP, CmpltTO' },
    },
  ]);
});

test('machine checks as rasdaemon has recorded them; without its file there are none', async (t) => {
  const { hardware, database } = machine(t, {});
  assert.deepEqual(await hardware.errors(), []);
  const written = new DatabaseSync(database);
  assert.deepEqual(await hardware.errors(), [], 'it has made its file and no table yet');
  // The columns that are read, as ras-record.c of rasdaemon 0.8.3 declares them.
  written.exec(
    'CREATE TABLE mce_record (id INTEGER PRIMARY KEY, cpu INTEGER, bank INTEGER, bank_name TEXT, error_msg TEXT, mcistatus_msg TEXT, status INTEGER)',
  );
  const insert = written.prepare(
    'INSERT INTO mce_record (cpu, bank, bank_name, error_msg, mcistatus_msg, status) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const corrected = BigInt.asIntN(64, 0x9c00000000000000n);
  insert.run(0, 5, 'bank=5', 'No Error', 'Corrected_error', corrected);
  insert.run(0, 5, 'bank=5', 'Bus error', 'Corrected_error', corrected);
  insert.run(1, 2, null, null, 'Uncorrected_error', BigInt.asIntN(64, 0xbe00000000000000n));
  written.close();
  assert.deepEqual(
    (await hardware.errors()).map(({ part, title, corrected: c, uncorrected, detail }) => [
      part,
      title,
      c,
      uncorrected,
      detail,
    ]),
    [
      ['cpu0/bank5', 'Processor 0, bank=5', 2, 0, 'Bus error, Corrected_error'],
      ['cpu1/bank2', 'Processor 1, bank 2', 0, 1, 'Uncorrected_error'],
    ],
  );
  writeFileSync(database, 'garbage that is no database at all, and long enough to be read as one '.repeat(20));
  await assert.rejects(hardware.errors(), /What rasdaemon has recorded cannot be read/);
});

test('ports with their card, slots with their disk, and the watchdog', async (t) => {
  const card = 'devices/pci0000:00/0000:00:1c.0/0000:01:00.0';
  const statistics = 'class/net/eno1/statistics';
  const slot = 'class/enclosure/0:0:9:0/Slot 01';
  const { hardware, asked } = machine(
    t,
    {
      'class/net/eno1/address': '02:00:5e:10:00:01\n',
      [`${statistics}/rx_packets`]: '100\n',
      [`${statistics}/tx_packets`]: '50\n',
      [`${statistics}/rx_errors`]: '3\n',
      [`${statistics}/tx_errors`]: '1\n',
      'class/net/lo/address': '00:00:00:00:00:00\n',
      'class/enclosure/0:0:9:0/components': '2\n',
      [`${slot}/status`]: 'OK\n',
      [`${slot}/fault`]: '1\n',
      [`${slot}/locate`]: '1\n',
      'class/enclosure/0:0:9:0/Slot 02/status': 'not installed\n',
      'class/watchdog/watchdog0/identity': 'iTCO_wdt\n',
      'class/watchdog/watchdog0/state': 'active\n',
      'class/watchdog/watchdog0/timeout': '60\n',
    },
    {
      'class/net/eno1/device': card,
      [`${card}/driver`]: 'bus/pci/drivers/ixgbe',
      [`${slot}/device`]: 'devices/scsi/0:0:1:0',
      'devices/scsi/0:0:1:0/block/sda': 'devices/scsi/sda',
    },
  );
  const [port, ...others] = await hardware.ports();
  assert.deepEqual(others, []);
  assert.deepEqual(port, {
    ...{ name: 'eno1', place: '0000:01:00.0', driver: 'ixgbe', firmware: '0x80000835', mac: '02:00:5e:10:00:01' },
    ...{ packets: 150, errors: 4 },
  });
  await hardware.ports();
  assert.deepEqual(asked, ['ethtool -i eno1'], 'what runs on a card is asked once');
  assert.deepEqual(await hardware.slots(), [
    { enclosure: '0:0:9:0', slot: 'Slot 01', disk: '/dev/sda', state: 'critical', lit: true },
    { enclosure: '0:0:9:0', slot: 'Slot 02', disk: null, state: 'absent', lit: false },
  ]);
  assert.deepEqual(await hardware.watchdogs(), [{ title: 'iTCO_wdt', active: true, seconds: 60 }]);
});

test('Secure Boot, the kernel’s lockdown, and microcode', async (t) => {
  const variable = (name: string) => `firmware/efi/efivars/${name}-8be4df61-93ca-11d2-aa0d-00e098032b8c`;
  const flag = (value: number) => Buffer.from([6, 0, 0, 0, value]);
  const lockdown = { 'kernel/security/lockdown': 'none [integrity] confidentiality\n' };
  const state = async (files: Record<string, string | Buffer>) => {
    const { firmware, secureBoot, lockdown: kept, microcode } = await machine(t, files).hardware.inventory();
    return [firmware.kind, secureBoot, kept, microcode];
  };
  assert.deepEqual(await state({ ...lockdown, [variable('SecureBoot')]: flag(1), [variable('SetupMode')]: flag(0) }), [
    'uefi',
    'on',
    'integrity',
    'a0011d5',
  ]);
  assert.deepEqual(await state({ [variable('SecureBoot')]: flag(0), [variable('SetupMode')]: flag(1) }), [
    ...['uefi', 'setup', null, 'a0011d5'],
  ]);
  assert.deepEqual((await state({ [variable('SecureBoot')]: flag(0) }))[1], 'off');
  assert.deepEqual(await state({}), ['bios', 'none', null, 'a0011d5']);
});

test('cards: what they are and where, without bridges and the processor’s own parts', () => {
  // As lspci -D -vmmk -nn of pciutils 3.13 prints them.
  const output = `Slot:\t0000:00:00.0
Class:\tHost bridge [0600]
Vendor:\tIntel Corporation [8086]
Device:\t82G33/G31/P35/P31 Express DRAM Controller [29c0]

Slot:\t0000:01:00.0
Class:\tEthernet controller [0200]
Vendor:\tIntel Corporation [8086]
Device:\tEthernet Controller X710 for 10GbE SFP+ [1572]
SVendor:\tIntel Corporation [8086]
SDevice:\tEthernet Converged Network Adapter X710-2 [0008]
PhySlot:\t2
Rev:\t02
Driver:\ti40e
Module:\ti40e
`;
  assert.deepEqual(parseCards(output), [
    {
      ...{ place: '0000:01:00.0', slot: '2', kind: 'Ethernet controller', driver: 'i40e' },
      title: 'Intel Corporation Ethernet Controller X710 for 10GbE SFP+',
    },
  ]);
  assert.deepEqual(parseCards(''), []);
});

test('sensors of enclosures, without the slots that the kernel tells of', async (t) => {
  const text = readFileSync(new URL('../../../tests/fixtures/ses.txt', import.meta.url), 'utf8');
  const enclosures = [{ id: '6:0:8:0', title: 'EXAMPLE SHELF24-12G', text }];
  const slots = async (files: Record<string, string>) => {
    const [shelf] = await machine(t, files, {}, { enclosures }).hardware.enclosures();
    assert.ok(shelf?.sensors.some(({ kind }) => kind === 'fan'));
    return shelf?.sensors.filter(({ kind }) => kind === 'disk').length;
  };
  assert.equal(await slots({}), 4);
  assert.equal(await slots({ 'class/enclosure/6:0:8:0/Slot 01/status': 'OK\n' }), 0);
});
