import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Execd } from '../execd.ts';
import { illumosHardware } from './hardware.ts';
import { topologyCards, topologyEnclosures, topologySlots } from './topology.ts';

/** As print_node, print_pgroup and print_prop_nameval of fmtopo.c print it. */
function node(fmri: string, properties: readonly (readonly [string, string, string, string])[] = []): string {
  return `${fmri}\n${properties
    .map(
      ([group, name, type, value]) =>
        `  group: ${group.padEnd(30)} version: 1   stability: Private/Private\n    ${name.padEnd(17)} ${type.padEnd(8)}  ${value}\n`,
    )
    .join('')}\n`;
}
const HEAD = 'TIME                 UUID\nNov 25 08:00:00 c0ffee00-0000-0000-0000-000000000000\n\n';
const SHELF = 'hc://:product-id=LSI-SAS3x40:server-id=:chassis-id=500304801f1e2d00/ses-enclosure=0';
const discrete = (fmri: string, type: string, state: string) =>
  `${fmri}\n  group: facility                       version: 1   stability: Private/Private\n` +
  '    sensor-class      string    discrete\n' +
  `    type              uint32    ${type}\n    state             uint32    ${state}\n\n`;
const threshold = (fmri: string, type: string, units: string, reading: string, state: string) =>
  `${fmri}\n  group: facility                       version: 1   stability: Private/Private\n` +
  `    sensor-class      string    threshold\n    type              uint32    ${type}\n` +
  `    units             uint32    ${units}\n    reading           double    ${reading}\n    state             uint32    ${state}\n` +
  '  group: ses                            version: 1   stability: Private/Private\n    node-id           uint64    0x5\n\n';
const indicator = (fmri: string, type: string, mode: string) =>
  `${fmri}\n  group: facility                       version: 1   stability: Private/Private\n` +
  `    type              uint32    ${type}\n    mode              uint32    ${mode}\n\n`;

const SHELVES = [
  HEAD,
  node(SHELF),
  discrete(`${SHELF}?sensor=fault`, '0x10d (GENERIC_FAILURE)', '0x1 (DEASSERTED)'),
  threshold(`${SHELF}?sensor=Ambient`, '0x1 (TEMP)', '0x1 (DEGREES_C)', '61.000000', '0x18 (0x18)'),
  threshold(`${SHELF}?sensor=voltage-0`, '0x2 (VOLTAGE)', '0x4 (VOLTS)', '11.970000', '0x0 (0x00)'),
  node(`${SHELF}/fan=0`),
  threshold(
    `${SHELF}/fan=0?sensor=speed`,
    '0x101 (THRESHOLD_STATE)',
    '0x12 (RPM)',
    '4320.000000',
    '0x0 (NO_STATES_ASSERTED)',
  ),
  discrete(`${SHELF}/fan=0?sensor=fault`, '0x10d (GENERIC_FAILURE)', '0x1 (DEASSERTED)'),
  threshold(
    `${SHELF}/fan=1?sensor=speed`,
    '0x101 (THRESHOLD_STATE)',
    '0x12 (RPM)',
    '0.000000',
    '0x0 (NO_STATES_ASSERTED)',
  ),
  discrete(`${SHELF}/fan=1?sensor=fault`, '0x10d (GENERIC_FAILURE)', '0x4 (CRITICAL)'),
  discrete(`${SHELF}/psu=1?sensor=status`, '0x8 (POWER_SUPPLY)', '0x8 (INPUT_LOST)'),
  discrete(`${SHELF}/bay=1?sensor=fault`, '0x10d (GENERIC_FAILURE)', '0x1 (DEASSERTED)'),
  indicator(`${SHELF}/bay=1?indicator=ident`, '0x1 (LOCATE)', '0x1 (ON)'),
  indicator(`${SHELF}/bay=1?indicator=fail`, '0x0 (SERVICE)', '0x0 (OFF)'),
  node(
    'hc://:product-id=LSI-SAS3x40:server-id=:chassis-id=500304801f1e2d00:serial=S2:part=HUS:revision=A1/ses-enclosure=0/bay=1/disk=0',
    [['storage', 'logical-disk', 'string', 'c0t5000CCA01234ABCDd0']],
  ),
  discrete(`${SHELF}/bay=2?sensor=fault`, '0x10d (GENERIC_FAILURE)', '0x2 (NONRECOVERABLE)'),
  node(`${SHELF}/bay=2/disk=0`),
  indicator(`${SHELF}/bay=3?indicator=ident`, '0x1 (LOCATE)', '0x0 (OFF)'),
].join('');

test('a shelf of the topology has a sensor for each part, with its reading and what is wrong', () => {
  const [shelf, ...others] = topologyEnclosures(SHELVES);
  assert.deepEqual(others, []);
  assert.deepEqual([shelf?.id, shelf?.title, shelf?.error], ['500304801f1e2d00', 'LSI-SAS3x40', null]);
  const without = { lowest: null, highest: null };
  assert.deepEqual(shelf?.sensors, [
    {
      name: 'LSI-SAS3x40 1f1e2d00 Enclosure',
      kind: 'chassis',
      state: 'ok',
      value: null,
      unit: '',
      reports: [],
      ...without,
    },
    {
      ...{ name: 'LSI-SAS3x40 1f1e2d00 Ambient', kind: 'temperature', state: 'critical', value: 61, unit: '°C' },
      ...{ reports: ['High', 'Critically high'], ...without },
    },
    {
      name: 'LSI-SAS3x40 1f1e2d00 voltage-0',
      kind: 'voltage',
      state: 'ok',
      value: 11.97,
      unit: 'V',
      reports: [],
      ...without,
    },
    { name: 'LSI-SAS3x40 1f1e2d00 Fan 0', kind: 'fan', state: 'ok', value: 4320, unit: 'rpm', reports: [], ...without },
    {
      ...{ name: 'LSI-SAS3x40 1f1e2d00 Fan 1', kind: 'fan', state: 'critical', value: 0, unit: 'rpm' },
      ...{ reports: ['Critical'], ...without },
    },
    {
      ...{
        name: 'LSI-SAS3x40 1f1e2d00 Power supply 1',
        kind: 'power-supply',
        state: 'critical',
        value: null,
        unit: '',
      },
      ...{ reports: ['No power'], ...without },
    },
  ]);
});

test('its bays are slots, with the disk, the fault and the light', () => {
  const enclosure = 'LSI-SAS3x40 1f1e2d00';
  assert.deepEqual(topologySlots(SHELVES), [
    { enclosure, slot: '1', disk: '/dev/dsk/c0t5000CCA01234ABCDd0', state: 'ok', lit: true },
    { enclosure, slot: '2', disk: null, state: 'critical', lit: false },
    { enclosure, slot: '3', disk: null, state: 'absent', lit: false },
  ]);
});

test('cards are what does something, not bridges', () => {
  const bus =
    'hc://:product-id=X:server-id=nas:chassis-id=1/motherboard=0/hostbridge=0/pciexrc=0/pciexbus=1/pciexdev=0';
  const pci = (classCode: string, vendor: string, device: string) =>
    `  group: pci                            version: 1   stability: Private/Private\n    class-code        string    ${classCode}\n` +
    `    vendor-id         string    8086\n    device-id         string    1521\n${vendor === '' ? '' : `    vendor-name       string    ${vendor}\n    device-name       string    ${device}\n`}`;
  const driver = (name: string) =>
    `  group: io                             version: 1   stability: Private/Private\n    driver            string    ${name}\n`;
  const label =
    '  group: protocol                       version: 1   stability: Private/Private\n    label             string    PCIe Slot 2\n';
  const text = [
    HEAD,
    `hc://:product-id=X:server-id=nas:chassis-id=1/motherboard=0/hostbridge=0/pciexrc=0\n${pci('60400', 'Intel', 'Root port')}\n`,
    `${bus}/pciexfn=0\n${pci('20000', 'Intel Corporation', 'I350 Gigabit Network Connection')}${driver('igb')}${label}\n`,
    `${bus}/pciexfn=1\n${pci('10700', '', '')}\n`,
    `${bus}/pciexfn=2\n${pci('60400', 'Intel', 'Bridge')}\n`,
    `${bus}/pciexfn=3\n${pci('88000', 'Intel', 'System peripheral')}\n`,
  ].join('');
  assert.deepEqual(topologyCards(text), [
    {
      ...{ place: 'bus 1, device 0, function 0', slot: 'PCIe Slot 2', kind: 'Ethernet controller' },
      ...{ title: 'Intel Corporation I350 Gigabit Network Connection', driver: 'igb' },
    },
    {
      ...{ place: 'bus 1, device 0, function 1', slot: null, kind: 'Serial Attached SCSI controller' },
      ...{ title: '8086:1521', driver: null },
    },
  ]);
});

test('what is cut off or is no topology at all is read as far as it goes', () => {
  for (const text of [
    '',
    HEAD,
    'fmtopo: failed\n',
    'hc://\n',
    'hc:///ses-enclosure=0?sensor=x\n  group:\n    state uint32\n',
  ]) {
    assert.ok(topologyEnclosures(text).length <= 1);
    assert.deepEqual([topologySlots(text), topologyCards(text)], [[], []]);
  }
  for (let at = 0; at < SHELVES.length; at += 7) {
    const text = SHELVES.slice(0, at);
    for (const { sensors } of topologyEnclosures(text))
      for (const { value } of sensors) assert.ok(!Number.isNaN(value));
    topologySlots(text);
  }
});

test('slots and sensors are one question, and shelves whose topology says nothing are silent by their names', async () => {
  let answer: { text: string; error?: string } = { text: SHELVES };
  let asked = 0;
  const execd = {
    run: async (verb: string) => {
      assert.equal(verb, 'enclosures.read');
      asked++;
      return { enclosures: [{ id: 'topology', title: 'Shelves', ...answer }] };
    },
  } as unknown as Execd;
  const hardware = illumosHardware(async () => '', execd);
  const [slots, enclosures] = await Promise.all([hardware.slots(), hardware.enclosures()]);
  assert.deepEqual([asked, slots.length, enclosures.length], [1, 3, 1]);
  answer = { text: '', error: 'It did not answer within 45 seconds.' };
  assert.deepEqual(await hardware.enclosures(), [
    { id: '500304801f1e2d00', title: 'LSI-SAS3x40', error: 'It did not answer within 45 seconds.', sensors: [] },
  ]);
  await assert.rejects(hardware.slots(), /The slots of shelves are not known: It did not answer within 45 seconds\./);
  const other = illumosHardware(async () => '', execd);
  assert.deepEqual(await other.enclosures(), [
    { id: 'topology', title: 'Shelves', error: 'It did not answer within 45 seconds.', sensors: [] },
  ]);
});
