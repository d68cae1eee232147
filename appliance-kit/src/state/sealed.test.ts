import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Log, silentLog } from '../base/log.ts';
import { type Belongs, KEY_FILE, openSeal, Seal } from './sealed.ts';

const secret = Buffer.from('12345678901234567890');
const ada: Belongs = ['factor', 'ada', 'fa-1'];

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'sealed-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('a secret opens for what it belongs to, with its key, and as it was written', () => {
  const seal = new Seal(Buffer.alloc(32, 7));
  const sealed = seal.seal(ada, secret);
  assert.deepEqual(seal.open(ada, sealed), secret);
  assert.notEqual(seal.seal(ada, secret), sealed, 'never twice the same');
  for (const other of [
    ['factor', 'bob', 'fa-1'],
    ['factor', 'ada', 'fa-2'],
    ['destination', 'ada', 'fa-1'],
    ['factor', 'ada'],
  ] as const) {
    assert.equal(seal.open(other as unknown as Belongs, sealed), null, other.join(' '));
  }
  assert.equal(new Seal(Buffer.alloc(32, 8)).open(ada, sealed), null);
  const bytes = Buffer.from(sealed, 'base64');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8((bytes[at] as number) ^ 1, at);
    assert.equal(seal.open(ada, changed.toString('base64')), null, `byte ${at}`);
  }
  for (const cut of ['', 'AQ==', bytes.subarray(0, 20).toString('base64')]) assert.equal(seal.open(ada, cut), null);
  assert.throws(() => seal.seal(['factor', 'a\0b'], secret), /zero byte/);
});

test('the format is the one in docs/FORMATS.md: what was sealed once opens for ever', () => {
  const sealed = 'AQABAgMEBQYHCAkKCymz2kQoP+5xToLUrtFsWczWBI++U/Dlylrl/ToVgdt4nwGQ0g==';
  assert.deepEqual(new Seal(Buffer.alloc(32, 7)).open(ada, sealed), secret);
});

test('the key is made once, for akd and root alone', (t) => {
  const state = folder(t);
  const sealed = openSeal(state, silentLog).seal(ada, secret);
  const { mode, size } = statSync(join(state, KEY_FILE));
  assert.deepEqual([mode & 0o777, size], [0o640, 32]);
  assert.deepEqual(openSeal(state, silentLog).open(ada, sealed), secret);
});

test('a damaged key is put aside, and said', (t) => {
  const state = folder(t);
  writeFileSync(join(state, KEY_FILE), 'short');
  const said: unknown[] = [];
  const log: Log = { ...silentLog, error: (message, fields) => said.push([message, fields?.path]) };
  const seal = openSeal(state, log);
  assert.equal(readFileSync(join(state, KEY_FILE)).length, 32);
  assert.ok(existsSync(join(state, `${KEY_FILE}.damaged`)));
  assert.match(String(said[0]), /is damaged.*secrets\.key\.damaged/s);
  assert.deepEqual(seal.open(ada, seal.seal(ada, secret)), secret);
});
