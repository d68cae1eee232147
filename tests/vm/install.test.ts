// The installer: started from the ISO, at the serial console, onto two disks of which one is not empty; then one of them is
// taken away.
import assert from 'node:assert/strict';
import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Person } from '../stack/api.ts';
import { endsClean } from './clean.ts';
import { Machine, until } from './machine.ts';
import { rowOf, wantsVariant } from './row.ts';
import { emptyFolder, image } from './saved.ts';

const disks = ['ONE', 'TWO'].map((serial) => ({ serial, bytes: '10G' }));

test('installation from the ISO', async (t) => {
  const folder = realpathSync('out/image');
  const iso = join(folder, readdirSync(folder).find((name) => name.endsWith('.iso')) ?? 'there is no ISO');
  const machine = await Machine.create(emptyFolder('install'), image(), {
    disks,
    hardware: { firmware: 'bios', bus: 'virtio-scsi', network: 'e1000' },
  });
  endsClean(t, machine, Math.floor(Date.now() / 1000));
  const step = rowOf(t, () => ({ machine }));
  let from = 0;
  const shown = (what: string, pattern: RegExp, seconds = 300) =>
    until(what, seconds, () => pattern.exec(machine.console().slice(from)));
  const managementAnswers = () => {
    const api = new Person(machine.url, 60_000);
    return until('management answers', 300, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
  };
  const type = async (text: string) => {
    from = machine.console().length;
    await machine.type(`${text}\n`);
  };

  await step('under BIOS it starts live: the page answers, and the console says that nothing is kept', async () => {
    await machine.start({ medium: iso });
    await shown('the console says that it is live', /LIVE: started from sr0, and nothing is kept/);
    await shown('the console offers to install', /i and Enter: install/);
    assert.doesNotMatch(machine.console(), /k and Enter/, 'nothing can be kept on a CD');
    await machine.waitForSsh(120);
    // For the list of disks: one is somebody's.
    await machine.sh('zpool create -f theirs /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_TWO && zpool export theirs');
    await managementAnswers();
  });

  await step('two disks are chosen; the one with a pool is overwritten only when its name is typed', async () => {
    await type('i');
    const list = (await shown('the disks are listed', /Disks of this machine:\n\n([\s\S]*?)\n\n/))[1] ?? '';
    t.diagnostic(list);
    // The kernel's names are not those of the last start.
    const empty = /^ {4}(sd\w) +10\.7 GB {2}QEMU HARDDISK {2}ONE {2}empty$/m.exec(list)?.[1];
    const full = /^ {4}(sd\w) +10\.7 GB {2}QEMU HARDDISK {2}TWO {2}the ZFS pool “theirs”$/m.exec(list)?.[1];
    assert.ok(empty && full, list);
    await type(`${empty} ${full}`);
    await shown('it asks', new RegExp(`Write to ${empty}, which is empty\\? Type “yes”`));
    await type('yes');
    await shown(
      'it names what is lost',
      new RegExp(`${full} is not empty: the ZFS pool “theirs”[\\s\\S]*Type the disk's name`),
    );
    await type('yes');
    await shown('it goes back', /Nothing was changed/);
    await type('');
    await shown('the console is back', /i and Enter: install/);
    assert.equal((await machine.sh('zpool import')).match(/pool: theirs/g)?.length, 1);
    await type('i');
    await shown('it asks for disks', /Install to which disk/);
    await type(`${empty} ${full}`);
    await shown('it asks', /Type “yes”/);
    await type('yes');
    await shown('it names what is lost', /Type the disk's name/);
    await type(full);
    await shown('it is installed', /Installed\. Take the medium out/, 600);
  });

  await step('it starts from them under UEFI, with a mirrored system pool', async () => {
    await machine.kill();
    await machine.start({ bootFrom: 'ONE', firmware: 'uefi' });
    await machine.waitForSsh(300);
    await managementAnswers();
    const status = await machine.sh('zpool status -P system');
    assert.match(status, /mirror-0 +ONLINE/);
    assert.equal(status.match(/by-partuuid\/\S+ +ONLINE/g)?.length, 2, status);
    assert.equal(await machine.sh('cat /run/cistern-live 2>/dev/null || echo no'), 'no\n');
  });

  const alone = 'the first one is taken away: it starts from the other';
  if (!wantsVariant(alone)) return;
  await step(alone, async () => {
    const id = await machine.sh('cat /etc/machine-id; sync');
    await machine.kill();
    machine.disks.shift();
    await machine.start({ bootFrom: 'TWO' });
    await machine.waitForSsh(300);
    assert.equal(await machine.sh('cat /etc/machine-id; sync'), id);
    assert.match(await machine.sh('zpool status system'), /state: DEGRADED/);
  });
});
