import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { diskFacts } from './disk-facts.ts';

function machine(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'disk-facts-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const name of ['sda', 'sda1', 'sdb']) mkdirSync(join(root, 'sys/class/block', name), { recursive: true });
  for (const name of ['b8:0', 'b8:1', 'b8:16', 'n2']) put(`run/udev/data/${name}`, '');
  for (const name of ['by-id', 'by-partuuid']) mkdirSync(join(root, 'dev/disk', name), { recursive: true });
  put('proc/self/mountinfo', '22 1 0:21 / / rw - zfs system/root rw\n');
  put('proc/swaps', 'Filename Type Size Used Priority\n');
  return { root, put };
}

test('whatever changes what lsblk prints changes the facts', (t) => {
  const { root, put } = machine(t);
  const changes: Record<string, () => void> = {
    'a disk came': () => mkdirSync(join(root, 'sys/class/block/sdc')),
    'it went': () => rmSync(join(root, 'sys/class/block/sdc'), { recursive: true }),
    'udev has noted something new of a disk': () => {
      // As udev does it: another file takes the name.
      put('run/udev/data/.b8:16', 'E:ID_FS_TYPE=ext4\n');
      renameSync(join(root, 'run/udev/data/.b8:16'), join(root, 'run/udev/data/b8:16'));
    },
    'a disk has got another name': () => symlinkSync('../../sdb', join(root, 'dev/disk/by-id/scsi-B')),
    'a partition has got a name': () => symlinkSync('../../sda1', join(root, 'dev/disk/by-partuuid/x')),
    'a file system was mounted': () => put('proc/self/mountinfo', '23 1 8:16 / /mnt rw - ext4 /dev/sdb rw\n'),
    'swap was switched on': () => put('proc/swaps', 'Filename Type Size Used Priority\n/dev/sda1 partition 1 0 -2\n'),
  };
  let before = diskFacts(root);
  for (const [what, change] of Object.entries(changes)) {
    assert.equal(diskFacts(root), before, `before ${what}`);
    change();
    const after = diskFacts(root);
    assert.notEqual(after, before, what);
    before = after;
  }
});

test('what udev notes of other devices is no reason to look', (t) => {
  const { root, put } = machine(t);
  const before = diskFacts(root);
  put('run/udev/data/n2', 'E:ID_NET_NAME=ens3\n');
  utimesSync(join(root, 'run/udev/data/n2'), 1, 1);
  assert.equal(diskFacts(root), before);
});

test('without udev nothing is known, and lsblk is asked each time', (t) => {
  const { root } = machine(t);
  rmSync(join(root, 'run/udev'), { recursive: true });
  assert.equal(diskFacts(root), null);
});
