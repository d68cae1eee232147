import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hardware, PartErrors, Sensor } from '../src/system/hardware/queries.ts';
import { troublesOf } from '../src/system/hardware/troubles.ts';
import {
  chartOf,
  countsOf,
  errorFreeWords,
  groupWords,
  limitsOf,
  memoryWords,
  missing,
  pageOf,
  processorWords,
  secureBootWords,
  sensorSentence,
  worstFirst,
} from '../src/system/hardware/words.ts';

const sensor = (change: Partial<Sensor>): Sensor => ({
  ...{ name: 'FAN3', kind: 'fan', state: 'ok', value: 4200, unit: 'rpm', reports: [], lowest: 500, highest: null },
  ...change,
});
const part = (change: Partial<PartErrors>): PartErrors => ({
  ...{ part: 'mc0/dimm0', kind: 'memory', title: 'DIMM_A1', state: 'ok', corrected: 0, uncorrected: 0, detail: '' },
  clearedAt: null,
  ...change,
});
const controller: Hardware['controller'] = {
  ...{ state: 'answers', sentence: 'It answers.', maker: null, firmware: null, address: null, mac: null },
  ...{ logUsedRatio: null, chassis: [], ageSeconds: 0 },
};
const nothing: Hardware = {
  ...{ state: 'ok', sentence: '', summary: null, memoryBytes: null, processors: [], memory: [], cards: [], ports: [] },
  ...{ controller, sensors: [], errors: [], enclosures: [], slots: [], watchdogs: [], changes: [], problems: [] },
};

test('a sensor as a sentence, with its limits and its chart', () => {
  assert.equal(
    sensorSentence(sensor({ value: 0, state: 'critical', reports: ['Lower Critical'] })),
    'FAN3 reads 0 rpm: Lower Critical; it is well from 500 rpm.',
  );
  assert.equal(sensorSentence(sensor({ value: null, unit: '', reports: ['AC lost'] })), 'FAN3: AC lost.');
  assert.equal(sensorSentence(sensor({ value: null, unit: '' })), 'FAN3: well.');
  assert.equal(limitsOf(sensor({ unit: 'V', lowest: 11.2, highest: 12.9 })), '11.2 to 12.9 V');
  assert.equal(limitsOf(sensor({ unit: '°C', lowest: null, highest: 95 })), 'up to 95 °C');
  assert.equal(limitsOf(sensor({ lowest: null })), 'none');
  const address = (one: Partial<Sensor>) => new URLSearchParams(chartOf(sensor(one)).split('?')[1]);
  const chart = address({ name: 'CPU1 Temp & more', unit: '°C' });
  assert.equal(chart.get('metric'), 'cistern_hardware_temperature_celsius');
  assert.equal(chart.get('f.sensor'), 'CPU1 Temp & more');
  assert.equal(address({ value: null, unit: '' }).get('metric'), 'cistern_hardware_sensor_state');
  assert.equal(address({ value: 40, unit: '%' }).get('metric'), 'cistern_hardware_sensor_state');
});

test('a group of sensors in words: what is not well first', () => {
  assert.equal(groupWords([sensor({}), sensor({ value: 4300 })]), '2, all well, 4,200 to 4,300 rpm');
  assert.equal(groupWords([sensor({ value: null })]), '1, well');
  assert.equal(
    groupWords([sensor({}), sensor({ state: 'critical', value: 0 }), sensor({ state: 'absent', value: null })]),
    '3, 1 with a fault, 1 not there, 0 to 4,200 rpm',
  );
  assert.equal(groupWords([sensor({ state: 'absent', value: null })]), '1, none of them there');
  assert.deepEqual(
    worstFirst([
      sensor({ name: 'a' }),
      sensor({ name: 'b', state: 'warning' }),
      sensor({ name: 'c', state: 'critical' }),
    ]).map(({ name }) => name),
    ['c', 'b', 'a'],
  );
});

test('errors in words', () => {
  assert.equal(
    countsOf(part({ corrected: 1, uncorrected: 2 })),
    '2 errors that could not be corrected, 1 corrected error',
  );
  assert.equal(countsOf(part({ kind: 'link', uncorrected: 412 })), '412 packets lost');
  assert.equal(
    errorFreeWords([part({}), part({}), part({ kind: 'link' })], true),
    'No errors of the others that count them: 2 parts of the memory, 1 network link.',
  );
});

test('troubles are grouped by what has to be done, the critical ones first, with the alert of each', () => {
  const lost = sensor({ name: 'PS2', kind: 'power-supply', state: 'critical', value: null, reports: ['AC lost'] });
  const many = part({ part: 'mc0/dimm3', state: 'warning', corrected: 214, title: 'DIMM_B1' });
  const alert = (kind: string, labels: Record<string, string>) => ({
    ...{ id: `al-${kind}`, class: kind, labels, raisedAt: '2026-01-01T00:00:00.000Z' },
  });
  const groups = troublesOf(
    { ...nothing, sensors: [sensor({}), lost], errors: [part({}), many] },
    [alert('memory.errors', { part: 'mc0/dimm3' }), alert('psu.failed', { sensor: 'PS1' })],
    [{ class: 'memory.errors', action: 'Replace the module.' }],
  );
  assert.deepEqual(
    groups.map(({ title, state, action, troubles }) => [title, state, action, troubles.map(({ words }) => words)]),
    [
      ['A power supply has a fault', 'critical', '', ['PS2: AC lost.']],
      ['A part of the memory has errors', 'warning', 'Replace the module.', ['DIMM_B1: 214 corrected errors.']],
    ],
  );
  assert.deepEqual(
    groups.map(({ troubles }) => troubles[0]?.alert?.id),
    [undefined, 'al-memory.errors'],
  );
});

test('what the chassis says stands beside the sensors', () => {
  const chassis = { ...controller, chassis: ['The chassis is open'] };
  const words = (sensors: Sensor[]) =>
    troublesOf({ ...nothing, controller: chassis, sensors }, [], []).flatMap(({ troubles }) =>
      troubles.map((one) => one.words),
    );
  assert.deepEqual(words([]), ['The chassis is open.']);
  assert.equal(words([sensor({ value: 0, state: 'critical' })]).length, 2);
});

test('the machine in words', () => {
  const module = {
    ...{ slot: 'A1', bytes: 16 * 2 ** 30, kind: 'DDR4', megatransfers: 3200, maker: null, part: null, serial: null },
  };
  const empty = { ...module, bytes: null, kind: null, megatransfers: null };
  assert.equal(
    memoryWords({ memoryBytes: 32 * 2 ** 30, memory: [module, module, empty] }),
    '32 GiB: 2 × 16 GiB DDR4 at 3200 MT/s. 1 slot is empty.',
  );
  const processor = { socket: 'CPU1', model: 'Example', cores: 8, threads: 16 };
  assert.equal(processorWords([processor]), 'Example, with 8 cores and 16 threads.');
  assert.equal(processorWords([processor, processor]), '2 × Example, with 8 cores and 16 threads each.');
  assert.equal(
    processorWords([{ socket: 'CPU 0', model: null, cores: null, threads: null }]),
    'A processor of an unknown model.',
  );
  const firmware = { kind: 'bios' as const, maker: null, version: null, date: null };
  assert.match(secureBootWords({ secureBoot: 'none', firmware }), /started by BIOS/);
  assert.match(secureBootWords({ secureBoot: 'off', firmware }), /^Off: .* enrol the key/);
  assert.equal(pageOf('192.0.2.200'), 'https://192.0.2.200/');
  assert.equal(pageOf('2001:db8::1'), 'https://[2001:db8::1]/');
});

test('a machine that tells nothing is said to tell nothing', () => {
  const said = missing({ ...nothing, controller: { ...controller, state: 'none' } });
  assert.equal(said.length, 9);
  assert.match(said.join(' '), /no management controller.*no watchdog/);
  // A virtual machine counts what its network links lose, and nothing else.
  assert.ok(missing({ ...nothing, errors: [part({ kind: 'link' })] }).some((one) => one.startsWith('Neither memory')));
});

test('an enclosure that does not answer is a trouble with its alert; one that answers is none', () => {
  const enclosures = [
    { id: '6:0:8:0', title: 'EXAMPLE SHELF', error: 'It did not answer within 20 seconds.' },
    { id: '6:0:9:0', title: 'EXAMPLE SHELF', error: null },
  ];
  const alerts = [
    { id: 'one', class: 'enclosure.silent', labels: { enclosure: '6:0:9:0' }, raisedAt: '2026-01-01T00:00:00Z' },
    { id: 'two', class: 'enclosure.silent', labels: { enclosure: '6:0:8:0' }, raisedAt: '2026-01-01T00:00:00Z' },
  ];
  const groups = troublesOf({ ...nothing, enclosures }, alerts, []);
  assert.deepEqual(
    groups.flatMap(({ title, troubles }) => troubles.map(({ words, alert }) => [title, words, alert?.id])),
    [['An enclosure does not answer', 'EXAMPLE SHELF (6:0:8:0): It did not answer within 20 seconds.', 'two']],
  );
});
