import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base32, codeOfStep, otpauth, STEP_SECONDS, stepAt, stepOfCode } from './totp.ts';

const seed = Buffer.from('12345678901234567890');

test('the vectors of RFC 6238, appendix B, for SHA-1', () => {
  for (const [seconds, code] of [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const) {
    assert.equal(codeOfStep(seed, stepAt(seconds * 1000), 8), code, String(seconds));
    assert.equal(stepOfCode(seed, code.slice(2), seconds * 1000), stepAt(seconds * 1000));
  }
});

test('the vectors of RFC 4226, appendix D', () => {
  const codes = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'];
  assert.deepEqual(
    codes.map((_, step) => codeOfStep(seed, step)),
    codes,
  );
});

test('one step to either side counts, and no more', () => {
  const now = 1_767_225_600_000;
  for (const [off, taken] of [
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ] as const) {
    const code = codeOfStep(seed, stepAt(now) + off);
    assert.equal(stepOfCode(seed, code, now), taken ? stepAt(now) + off : null, String(off));
    assert.equal(stepOfCode(seed, code, now + off * STEP_SECONDS * 1000), stepAt(now) + off);
  }
  assert.equal(stepOfCode(seed, codeOfStep(seed, 0), 0), 0, 'no step before the first');
  for (const wrong of ['', '12345', '1234567', 'abcdef', `${codeOfStep(seed, stepAt(now))}0`])
    assert.equal(stepOfCode(seed, wrong, now), null, wrong);
});

test('the vectors of RFC 4648 for base32, without padding', () => {
  for (const [text, encoded] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const)
    assert.equal(base32(Buffer.from(text)), encoded);
});

test('the address that an app reads holds everything, and no second colon', () => {
  const url = new URL(otpauth(seed, 'Cistern a:b c', 'ada'));
  assert.equal(url.href.split('?')[0], 'otpauth://totp/Cistern%20a%20b%20c:ada');
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    ...{ secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', issuer: 'Cistern a b c' },
    ...{ algorithm: 'SHA1', digits: '6', period: '30' },
  });
});
