import assert from 'node:assert/strict';
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectedToJournal, type LogOptions, logTo } from './log.ts';

function written(options: LogOptions) {
  const lines: string[] = [];
  const log = logTo((text) => lines.push(text), options);
  log.error('it is "broken"', { path: '/a b', attempts: 2, error: 'one\ntwo' });
  log.warn('plain', { givenUp: true, reason: '' });
  log.info('ready', { version: '1.2.3', listens: '/run/x' });
  log.debug('detail');
  return lines.map((text) => text.replace(/(time=|"time":")[0-9T:.-]+Z/, '$1NOW'));
}

test('a line is written as the Go daemons write it', () => {
  assert.deepEqual(written({}), [
    'time=NOW level=ERROR msg="it is \\"broken\\"" path="/a b" attempts=2 error="one\\ntwo"\n',
    'time=NOW level=WARN msg=plain givenUp=true reason=""\n',
    'time=NOW level=INFO msg=ready version=1.2.3 listens=/run/x\n',
  ]);
  assert.deepEqual(written({ level: 'debug', format: 'json' }).slice(2), [
    '{"time":"NOW","level":"INFO","msg":"ready","version":"1.2.3","listens":"/run/x"}\n',
    '{"time":"NOW","level":"DEBUG","msg":"detail"}\n',
  ]);
  assert.equal(written({ level: 'error' }).length, 1);
});

test('to the journal, and to nothing else, a line begins with its priority', () => {
  assert.deepEqual(
    written({ level: 'debug', journal: true }).map((text) => text.slice(0, 8)),
    ['<3>time=', '<4>time=', '<6>time=', '<7>time='],
  );
  const folder = mkdtempSync(join(tmpdir(), 'log-'));
  const file = openSync(join(folder, 'log'), 'w');
  try {
    const { dev, ino } = fstatSync(file, { bigint: true });
    assert.equal(connectedToJournal(file, `${dev}:${ino}`), process.platform === 'linux');
    for (const other of [undefined, '', 'journal', `${dev}:${ino + 1n}`]) {
      assert.equal(connectedToJournal(file, other), false);
    }
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
});

test('a value is cut, and a stack keeps its frames', () => {
  const lines: string[] = [];
  logTo((text) => lines.push(text)).error('x', { text: 'a'.repeat(1_000), error: 'b'.repeat(1_000) });
  assert.match(lines[0] ?? '', / text=a{500} error=b{1000}\n$/);
});
