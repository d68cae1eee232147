// How old the lists of packages may be that an image is built of (image/debian/apt.sh).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '../..');
const DAY = 24 * 3600 * 1000;

/** Runs a line in a shell that has the build's functions, with an apt that says of itself that it looks at no dates. */
function build(line: string) {
  const apt = `
    apt-config() { printf 'false\\n'; }
    apt-get() { printf 'Debian|file:/archive\\nDebian-Security|file:/security\\n'; }`;
  const parts = ['common/stage', 'debian/apt', 'debian/rootfs', 'debian/disk'].map((name) => `. image/${name}.sh`);
  const script = `set -euo pipefail\n${parts.join('\n')}\n${apt}\n${line}`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: root, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('apt looks at the dates of every list but the end of the testing suite’s, whatever the build machine does', () => {
  const lines = build('debian_sources trixie main; debian_next_sources').stdout.trim().split('\n');
  const said = lines.map((line) => {
    const [, options, suite] = /^deb \[(.*)\] \S+ (\S+) main$/.exec(line) as unknown as string[];
    assert.match(options as string, /^signed-by=\S+ check-date=yes check-valid-until=(yes|no)$/);
    return [suite, /check-valid-until=(\S+)/.exec(options as string)?.[1]];
  });
  assert.deepEqual(said, [
    ['trixie', 'yes'],
    ['trixie-security', 'yes'],
    ['forky', 'no'],
  ]);
});

test('the testing suite’s list may be so old, and no older; the image says of which day it is', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cistern-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'InRelease');
  const age = (text: string) => {
    writeFileSync(file, text);
    return build(`debian_release_age ${file} forky "$ROOTFS_NEXT_DAYS"`);
  };
  const made = (days: number) => {
    const at = new Date(Date.now() - days * DAY);
    const ended = new Date(at.getTime() + 7 * DAY);
    const text = `Origin: Debian\nSuite: testing\nCodename: forky\nDate: ${at.toUTCString()}\nValid-Until: ${ended.toUTCString()}\n`;
    return { text, day: at.toISOString().slice(0, 10) };
  };
  for (const days of [0, 8, 60]) {
    const { text, day } = made(days);
    assert.deepEqual(age(text), { status: 0, stdout: `${day}\n`, stderr: '' });
  }
  const old = made(61);
  const refused = age(old.text);
  assert.deepEqual([refused.status, refused.stdout], [1, '']);
  assert.ok(
    refused.stderr.includes(`forky was made on ${old.day}, 61 days ago; an image may be built of one that is 60`),
  );
  assert.match(refused.stderr, /Have the copy of the archive that apt reads .* brought up to date/);
  assert.match(age('Suite: testing\n').stderr, /does not say when it was made/);
  assert.match(age('').stderr, /there is no list of the suite forky/);
  assert.match(build(`debian_release_age ${folder}/none forky 60`).stderr, /there is no list of the suite forky/);

  writeFileSync(file, 'abc');
  const cfg = build(`image_cfg ${file} 2026-11-20`).stdout;
  assert.match(
    cfg,
    /^set image=ba7816bf[0-9a-f]{56}\n# of the suite forky: dtrace,.* from a list of 2026-11-20; it may be 60 days old/,
  );
});
