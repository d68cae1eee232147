import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseController, parseEvents, parseSensors, stateOf } from './ipmi.ts';

// As print_csv_discrete and ipmi_sdr_print_sensor_fc of ipmitool 1.8.19 (lib/ipmi_sdr.c) print them with -c and -v: 18
// fields of a threshold sensor, and of a discrete one its number, whether it was read, its entity, and its states.
const SENSORS = `Inlet Temp,23,degrees C,ok,7.1,System Board,Temperature,25.000,10.000,35.000,47.000,42.000,38.000,-7.000,-5.000,3.000,-128.000,127.000
FAN3,0,RPM,Lower Critical,29.3,Fan Device,Fan,4200.000,,,,,,300.000,500.000,700.000,0.000,25500.000
12V,12.192,Volts,ok,7.1,System Board,Voltage,12.000,,,13.200,12.900,12.800,10.800,11.200,11.300,0.000,16.065
P1, left,142,Watts,ok,21.1,Power Management,Current,,,,,,,,,,0.000,2040.000
CPU2 Temp,,,ns,3.2,Processor,Temperature,,,,,,,,,,-128.000,127.000
PS1 Status,C8h,ok,10.1,Presence detected
PS2 Status,C9h,ok,10.2,Presence detected, Power Supply AC lost
PS Redundancy,CAh,ok,7.1,Redundancy Lost
Intrusion,73h,ok,23.1,General Chassis intrusion
DIMM_C1,53h,ns,32.3,No Reading
Riser 2,11h,ok,16.2,Absent
BMC,20h,ok,6.1
Watchdog,00h,ok,46.1,`;

test('the sensors of a management controller: values, limits, and states in its own words', () => {
  const sensors = parseSensors(SENSORS);
  assert.deepEqual(
    sensors.map(({ name, kind, state, value, unit }) => [name, kind, state, value, unit]),
    [
      ['Inlet Temp', 'temperature', 'ok', 23, '°C'],
      ['FAN3', 'fan', 'critical', 0, 'rpm'],
      ['12V', 'voltage', 'ok', 12.192, 'V'],
      ['P1, left', 'power', 'ok', 142, 'W'],
      ['PS1 Status', 'power-supply', 'ok', null, ''],
      ['PS2 Status', 'power-supply', 'critical', null, ''],
      ['PS Redundancy', 'other', 'warning', null, ''],
      ['Intrusion', 'chassis', 'warning', null, ''],
      ['Riser 2', 'other', 'absent', null, ''],
      ['BMC', 'other', 'ok', null, ''],
      ['Watchdog', 'other', 'ok', null, ''],
    ],
  );
  assert.deepEqual(sensors[0] && [sensors[0].lowest, sensors[0].highest], [-5, 42]);
  assert.deepEqual(sensors[1] && [sensors[1].lowest, sensors[1].highest, sensors[1].reports], [
    500,
    null,
    ['Lower Critical'],
  ]);
  assert.deepEqual(sensors[5]?.reports, ['Presence detected', 'Power Supply AC lost']);
  assert.deepEqual(parseSensors(''), []);
  assert.deepEqual(parseSensors('Get SDR 0001 command failed\n,,,\n'), []);
});

test('states that are a failure, a warning, or as they should be', () => {
  for (const [reports, state] of [
    [['Presence detected'], 'ok'],
    [['Fully Redundant'], 'ok'],
    [['Drive Present', 'Predictive Failure'], 'warning'],
    [['Drive Present', 'Drive Fault'], 'critical'],
    [['Upper Non-Critical'], 'warning'],
    [['Upper Critical'], 'critical'],
    [['Lower Non-Recoverable'], 'critical'],
    [['Correctable ECC'], 'warning'],
    [['Uncorrectable ECC'], 'critical'],
    [['Transition to Critical from less severe'], 'critical'],
    [['Transition to Non-critical from OK'], 'warning'],
    [['Config Error: Vendor Mismatch'], 'warning'],
    [['Device Absent'], 'absent'],
    [['State Asserted'], 'ok'],
  ] as const) {
    assert.equal(stateOf(reports), state, reports.join());
  }
});

// As ipmi_sel_print_std_entry prints them with -c (lib/ipmi_sel.c).
const EVENTS = `1,11/20/26,08:00:01 UTC,System Event #0x83,Timestamp Clock Sync,Asserted
2,11/21/2026,09:30:00 UTC,Power Supply PS2 Status,Power Supply AC lost,Asserted
3,11/21/2026,09:31:00 UTC,Power Supply PS2 Status,Power Supply AC lost,Deasserted
a, Pre-Init ,0000000012,Fan FAN3,Lower Critical going low ,Asserted,Reading 0 < Threshold 500 RPM
b,11/22/2026,10:00:00 UTC,OEM record c1,000157,000000000000
c,11/22/2026,11:00:00 UTC,Memory #0x53,Uncorrectable ECC,Asserted,CPU 0 DIMM 3
`;

test('the event log of a management controller', () => {
  const events = parseEvents(EVENTS);
  assert.deepEqual(
    events.map(({ number, at, sensor, text, over, state }) => [
      number,
      at === null ? null : new Date(at).toISOString(),
      sensor,
      text,
      over,
      state,
    ]),
    [
      [1, '2026-11-20T08:00:01.000Z', 'System Event #0x83', 'Timestamp Clock Sync', false, 'ok'],
      [2, '2026-11-21T09:30:00.000Z', 'Power Supply PS2 Status', 'Power Supply AC lost', false, 'critical'],
      [3, '2026-11-21T09:31:00.000Z', 'Power Supply PS2 Status', 'Power Supply AC lost', true, 'ok'],
      [10, null, 'Fan FAN3', 'Lower Critical going low, Reading 0 < Threshold 500 RPM', false, 'critical'],
      [11, '2026-11-22T10:00:00.000Z', 'OEM record c1', '000157', false, 'ok'],
      [12, '2026-11-22T11:00:00.000Z', 'Memory #0x53', 'Uncorrectable ECC, CPU 0 DIMM 3', false, 'critical'],
    ],
  );
  assert.deepEqual(parseEvents(''), []);
});

test('the controller itself, its chassis and its network', () => {
  const controller = parseController({
    text: 'Device ID                 : 32\nFirmware Revision         : 1.74\nManufacturer ID           : 10876\nManufacturer Name         : Supermicro\n',
    chassis:
      'System Power         : on\nPower Overload       : false\nMain Power Fault     : true\nChassis Intrusion    : active\nCooling/Fan Fault    : false\n',
    network:
      'IP Address Source       : DHCP Address\nIP Address              : 192.0.2.200\nMAC Address             : 02:00:5e:10:00:fe\n',
    log: 'SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\nEntries          : 214\nPercent Used     : 41%\n',
  });
  assert.deepEqual(controller, {
    ...{ maker: 'Supermicro', firmware: '1.74', address: '192.0.2.200', mac: '02:00:5e:10:00:fe', logUsedRatio: 0.41 },
    chassis: [
      { words: 'The main power has a fault', kind: 'power-supply' },
      { words: 'The chassis is open', kind: 'chassis' },
    ],
  });
  const bare = parseController({
    text: 'Firmware Revision : 0.0\nManufacturer Name : Unknown\n',
    log: 'Percent Used     : unknown\n',
  });
  assert.deepEqual(bare, { maker: null, firmware: '0.0', address: null, mac: null, logUsedRatio: null, chassis: [] });
  assert.throws(() => parseController({ text: 'Could not open device' }), /cannot be read/);
});
