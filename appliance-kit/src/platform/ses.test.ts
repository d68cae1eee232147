import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseEnclosure, readEnclosures } from './ses.ts';

/**
 * What sg_ses 2.86 of Debian 13 prints with --join --join for pages of a shelf that were made for this (--inhex): all of them, and
 * without those for names and limits, which an enclosure may not have.
 */
const printed = (name: string) => readFileSync(new URL(`../../tests/fixtures/${name}`, import.meta.url), 'utf8');
const shelf = { id: '6:0:8:0', title: 'EXAMPLE SHELF24-12G' };
const NAME = 'EXAMPLE SHELF24-12G 051e2d00';

test('what a shelf says: fans, power supplies, temperatures, voltages, currents, slots and modules', () => {
  const sensors = parseEnclosure({ ...shelf, text: printed('ses.txt') });
  assert.deepEqual(
    sensors.map(({ name, kind, state, value, unit, reports }) => [
      ...[name.replace(`${NAME} `, ''), kind, state],
      ...[value === null ? '' : `${value} ${unit}`, reports.join(', ')],
    ]),
    [
      ['Slot 01', 'disk', 'ok', '', ''],
      ['Slot 02', 'disk', 'ok', '', ''],
      ['Slot 03', 'disk', 'critical', '', 'Critical, Fault'],
      ['Slot 04', 'disk', 'absent', '', ''],
      ['PSU A', 'power-supply', 'ok', '', ''],
      ['PSU B', 'power-supply', 'critical', '', 'Critical, Failed, No power from outside'],
      ['PSU A Fan', 'fan', 'ok', '4860 rpm', ''],
      ['PSU B Fan', 'fan', 'critical', '0 rpm', 'Critical, Failed'],
      ['Fan 3', 'fan', 'warning', '1210 rpm', 'Noncritical'],
      ['Ambient', 'temperature', 'ok', '27 °C', ''],
      ['Midplane', 'temperature', 'warning', '58 °C', 'Noncritical, Warm'],
      ['IOM B (temperature sensor)', 'temperature', 'absent', '', ''],
      ['PSU A 12V (voltage sensor)', 'voltage', 'ok', '12.04 V', ''],
      ['PSU B 5V', 'voltage', 'critical', '4.21 V', 'Critical, Critically low'],
      ['PSU A 12V (current sensor)', 'current', 'ok', '3.87 A', ''],
      ['IOM A', 'other', 'ok', '', ''],
      ['IOM B (enclosure services controller electronics)', 'other', 'ok', '', ''],
      ['SHELF', 'chassis', 'ok', '', ''],
      ['SAS Expander A', 'other', 'ok', '', ''],
    ],
  );
  assert.ok(sensors.every(({ name }) => name.startsWith(NAME)));
  const limits = sensors.filter(({ lowest, highest }) => lowest !== null || highest !== null);
  assert.deepEqual(
    limits.map(({ name, lowest, highest }) => [name.slice(NAME.length + 1), lowest, highest]),
    [
      ['Ambient', 0, 60],
      ['Midplane', 0, 60],
    ],
  );
});

test('a shelf without names and limits: its parts are numbered', () => {
  const sensors = parseEnclosure({ ...shelf, text: printed('ses-bare.txt') });
  const whole = parseEnclosure({ ...shelf, text: printed('ses.txt') });
  assert.deepEqual(
    sensors.map(({ state, value }) => [state, value]),
    whole.map(({ state, value }) => [state, value]),
  );
  assert.deepEqual(
    sensors.slice(4, 7).map(({ name, highest }) => [name, highest]),
    [
      [`${NAME} Power supply 1`, null],
      [`${NAME} Power supply 2`, null],
      [`${NAME} Cooling 1`, null],
    ],
  );
});

test('a flag that the status code does not have is believed, of a part that is there', () => {
  const element = (status: string, flags: string) =>
    `Fan 1 [2,0]  Element type: Cooling\n  Enclosure Status:\n    Predicted failure=${flags}, Disabled=0, Swap=0, status: ${status}\n    Ident=0, Fail=0\n`;
  const state = (text: string) => parseEnclosure({ ...shelf, text }).map((one) => one.state);
  assert.deepEqual(state(element('OK', '1')), ['warning']);
  assert.deepEqual(state(element('Not installed', '1')), ['absent']);
  assert.deepEqual(state(element('Unknown', '0')), ['ok']);
  assert.deepEqual(state(element('Unsupported', '1')), []);
  assert.deepEqual(state('nonsense'), []);
});

test('a shelf that two ways lead to is there once; one that does not answer, or tells of nothing, has no sensors', () => {
  const text = printed('ses.txt');
  const found = readEnclosures([
    { ...shelf, text: '', error: 'It did not answer within 20 seconds.' },
    { ...shelf, id: '6:0:9:0', text },
    { ...shelf, id: '7:0:9:0', text },
    { ...shelf, id: '7:0:10:0', text: '', unsupported: true },
  ]);
  assert.deepEqual(
    found.map(({ id, error, sensors }) => [id, error, sensors.length]),
    [
      ['6:0:8:0', 'It did not answer within 20 seconds.', 0],
      ['6:0:9:0', null, 19],
      ['7:0:10:0', null, 0],
    ],
  );
});
