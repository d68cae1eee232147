import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantity, unitText } from './quantity.ts';

test('a value is said in its unit', () => {
  const said: [number, string, string][] = [
    [0.00217, 'seconds', '2.17 ms'],
    [250, 'milliseconds', '250 ms'],
    [90, 'milliseconds', '90 ms'],
    [1500, 'milliseconds', '1.5 s'],
    [0, 'seconds', '0 s'],
    [7300, 'seconds', '2.03 h'],
    [3e-8, 'seconds', '30 ns'],
    [0.25, 'seconds/s', '25 %'],
    [0.981, 'ratio', '98.1 %'],
    [12.5, 'percent', '12.5 %'],
    [1536, 'bytes', '1.5 KiB'],
    [1023, 'bytes', '1023 bytes'],
    [2e6, 'bytes/s', '1.91 MiB/s'],
    [-3, 'megabytes', '-2.86 MiB'],
    [93.5, 'celsius', '93.5 °C'],
    [12, 'request/s', '12 request/s'],
    [12, '/s', '12/s'],
    [0.123456789, '', '0.123457'],
    [998, '', '998'],
    [Number.POSITIVE_INFINITY, 'seconds', 'Infinity'],
  ];
  for (const [value, unit, want] of said) assert.equal(quantity(value, unit), want, `${value} ${unit}`);
});

test('what a value is measured in is one text', () => {
  assert.equal(unitText({ unit: 'bytes', perSecond: true }), 'bytes/s');
  assert.equal(unitText({ unit: 'seconds', perSecond: false }), 'seconds');
  assert.equal(unitText({ unit: 'count', perSecond: true }), '/s');
  assert.equal(unitText({ unit: 'count', perSecond: false }), '');
  assert.equal(unitText({ unit: '', perSecond: false }), '');
});
