import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ago,
  bytes,
  compact,
  digits,
  duration,
  parseQuantity,
  percent,
  quantity,
  seconds,
} from '../src/words/format.ts';

test('three digits, and no exponent where a person would not write one', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [1.5, '1.5'],
    [12.345, '12.3'],
    [999.6, '1,000'],
    [1234567, '1,234,567'],
    [0.000123, '0.000123'],
    [-2.5, '-2.5'],
    [Number.NaN, '–'],
    [Number.POSITIVE_INFINITY, '∞'],
  ];
  for (const [value, text] of cases) assert.equal(digits(value), text);
});

test('bytes in binary units, and never 1024 of one', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(1023), '1,023 B');
  assert.equal(bytes(1024), '1 KiB');
  assert.equal(bytes(1024 * 1023.9), '1 MiB');
  assert.equal(bytes(3.72 * 2 ** 30), '3.72 GiB');
  assert.equal(bytes(-2048), '−2 KiB');
});

test('times from nanoseconds to days', () => {
  assert.equal(seconds(0.00034), '340 µs');
  assert.equal(seconds(0.0012), '1.2 ms');
  assert.equal(seconds(1.5), '1.5 s');
  assert.equal(seconds(119), '119 s');
  assert.equal(seconds(600), '10 min');
  assert.equal(seconds(259_200), '3 d');
});

test('a counter is a rate', () => {
  assert.equal(quantity(2048, 'bytes', true), '2 KiB/s');
  assert.equal(quantity(0.25, 'seconds', true), '25 %');
  assert.equal(quantity(12_300, 'count', true), '12.3 k/s');
  assert.equal(quantity(0.0004, 'ratio'), '0.04 %');
});

test('what is measured in other units is shown in those that people read', () => {
  assert.equal(quantity(2.17, 'milliseconds'), '2.17 ms');
  assert.equal(quantity(1500, 'milliseconds'), '1.5 s');
  assert.equal(quantity(90, 'minutes'), '90 min');
  assert.equal(quantity(3, 'megabytes'), '2.86 MiB');
  assert.equal(quantity(12.5, 'percent'), '12.5 %');
  assert.equal(quantity(21.5, 'celsius'), '21.5 °C');
  assert.equal(quantity(12_300, 'request', true), '12.3 k request/s');
  assert.equal(quantity(12_300, 'request', true, false), '12.3 k/s');
  assert.equal(quantity(2048, 'bytes/s'), '2 KiB/s');
  assert.equal(quantity(0.25, 'seconds/s'), '25 %');
  assert.equal(quantity(7, ''), '7');
  assert.equal(quantity(7, '/s'), '7/s');
});

test('a limit is typed in the unit that one likes, and kept in the metric’s', () => {
  assert.equal(parseQuantity('1.5 s', 'milliseconds'), 1500);
  assert.equal(parseQuantity('250', 'milliseconds'), 250);
  assert.equal(parseQuantity('0.25 s', 'ms'), 250);
  assert.equal(parseQuantity('1.2 ms', 's'), 0.0012);
  assert.equal(parseQuantity('1.2 s', 's'), 1.2);
  assert.equal(parseQuantity('80 %', 'percent'), 80);
  assert.equal(parseQuantity('80 %', 'ratio'), 0.8);
  assert.equal(parseQuantity('2 GiB', 'mebibytes'), 2048);
  assert.equal(parseQuantity('10k', 'request'), 10_000);
});

test('shares: a little is not nothing', () => {
  assert.equal(percent(0), '0 %');
  assert.equal(percent(0.0001), '< 0.1 %');
  assert.equal(percent(0.38), '38 %');
  assert.equal(percent(0.0874), '8.7 %');
});

test('what a person types into a limit field', () => {
  assert.equal(parseQuantity('1.5'), 1.5);
  assert.equal(parseQuantity('250 ms'), 0.25);
  assert.equal(parseQuantity('80 %'), 0.8);
  assert.equal(parseQuantity('2GiB'), 2 * 2 ** 30);
  assert.equal(parseQuantity('-3'), -3);
  assert.equal(parseQuantity('10,000'), 10_000);
  assert.equal(parseQuantity('5 parsecs'), undefined);
  assert.equal(parseQuantity('lots'), undefined);
  assert.equal(parseQuantity(''), undefined);
});

test('what is shown can be typed again', () => {
  for (const [value, unit] of [
    [1.5, 'seconds'],
    [0.25, 'seconds'],
    [2 * 2 ** 30, 'bytes'],
    [0.8, 'ratio'],
    [12_000, 'count'],
    [250, 'milliseconds'],
    [90_000, 'milliseconds'],
    [3, 'megabytes'],
    [12, 'percent'],
    [12, 'request'],
    [21.5, 'celsius'],
    [1.5, 'hours'],
  ] as const) {
    const read = parseQuantity(quantity(value, unit), unit) as number;
    assert.ok(Math.abs(read - value) <= 0.005 * value, `${value} ${unit} is read as ${read}`);
  }
});

test('durations and distances in time, in words', () => {
  assert.equal(duration(0), '0 seconds');
  assert.equal(duration(1), '1 second');
  assert.equal(duration(5400), '1 hour 30 minutes');
  assert.equal(duration(90_061), '1 day 1 hour');
  const now = Date.UTC(2026, 0, 1);
  assert.equal(ago(now - 1_000, now), 'just now');
  assert.equal(ago(now - 240_000, now), '4 minutes ago');
  assert.equal(ago(now - 86_400_000, now), '1 day ago');
  assert.equal(ago(now + 3_600_000, now), 'in 1 hour');
});

test('large numbers keep their length', () => {
  assert.equal(compact(9_999), '9,999');
  assert.equal(compact(41_200), '41.2 k');
  assert.equal(compact(3_000_000), '3 M');
});
