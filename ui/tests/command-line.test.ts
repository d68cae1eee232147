import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { checkOf, forVisitor, linesFor, type Program, titleOf } from '../src/access/command-line/commands.ts';

const sha256 = 'ab'.repeat(32);
const programs: Program[] = [
  ['darwin', 'amd64', '.tar.xz'],
  ['darwin', 'arm64', '.tar.xz'],
  ['illumos', 'amd64', '.tar.xz'],
  ['linux', 'amd64', ''],
  ['linux', 'arm64', '.tar.xz'],
  ['windows', 'amd64', '.zip'],
].map(([system = '', architecture = '', end]) => ({
  ...{ system, architecture, file: `cistern-${system}-${architecture}${end}`, bytes: 1, sha256 },
}));

test('the visitor’s system is offered first', () => {
  for (const [agent, first] of [
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', 'linux-amd64'],
    ['Mozilla/5.0 (X11; Linux aarch64; rv:140.0)', 'linux-arm64'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'windows-amd64'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 'darwin-arm64'],
    ['Mozilla/5.0 (X11; SunOS i86pc; rv:115.0)', 'illumos-amd64'],
    ['curl/8', 'linux-amd64'],
  ] as const) {
    const found = forVisitor(programs, agent);
    assert.ok(found[0]?.file.includes(first), `${agent}: ${found[0]?.file}`);
    assert.equal(found.length, programs.length);
  }
  assert.equal(new Set(programs.map(titleOf)).size, programs.length);
});

test('the lines of each system check the sum before anything runs', () => {
  for (const program of programs) {
    const lines = linesFor(program, 'https://berlin:8443');
    const [sum, run] = [lines.indexOf(sha256), lines.indexOf('cistern sign-in')];
    assert.ok(sum > 0 && sum < run, lines);
    assert.ok(lines.includes(`https://berlin:8443/command-line/${program.file}`), lines);
    assert.ok(checkOf(program).endsWith(program.file));
    if (program.system !== 'windows') execFileSync('bash', ['-n', '-c', lines]);
  }
});
