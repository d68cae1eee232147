// The installer: started live from the ISO on a USB stick, at the screen and at the serial console, onto two disks of which one
// is not empty; then one of them is taken away.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { Person } from '../stack/api.ts';
import { endsClean } from './clean.ts';
import { foreignDisk } from './foreign.ts';
import { Machine } from './machine.ts';
import { rowOf, wantsVariant } from './row.ts';
import { emptyFolder, imageFile } from './saved.ts';
import { until } from './until.ts';

test('installation from the ISO', async (t) => {
  const machine = await Machine.create(emptyFolder('install'), imageFile('.qcow2'), {
    disks: [],
    hardware: { firmware: 'bios', bus: 'virtio-scsi', network: 'e1000', screen: true },
  });
  const watch = endsClean(t, machine, Math.floor(Date.now() / 1000));
  const step = rowOf(t, () => ({ machine }));
  let from = 0;
  const shown = (what: string, pattern: RegExp, seconds = 300) =>
    until(what, seconds, () => pattern.exec(machine.console().slice(from)), 200);
  const managementAnswers = () => {
    const api = new Person(machine.url, 60_000);
    return until('management answers', 300, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
  };
  const type = async (text: string) => {
    from = machine.console().length;
    await machine.type(`${text}\n`);
  };
  /** What stands on the screen. */
  const screen = () => machine.sh('cat /dev/vcs1');
  const picture = async (name: string) => {
    mkdirSync(resolve('out/screenshots'), { recursive: true });
    await machine.picture(resolve(`out/screenshots/vm-console-${name}.png`));
  };

  await step('from a stick under BIOS it starts live, and says so on the screen and both serial ports', async () => {
    await machine.start({ medium: imageFile('.iso'), mediumOn: 'stick' });
    await shown('the console says that it is live', /LIVE: started from sda, and nothing is kept/);
    await shown('the console offers to install', /i and Enter: install/);
    assert.doesNotMatch(machine.console(), /k and Enter/, 'nothing can be kept on a stick that was written as a CD');
    await machine.waitForSsh(120);
    await until('the second port, too', 60, () => /i and Enter: install/.test(machine.console('second')));
    for (const port of ['console', 'second'] as const)
      assert.match(machine.console(port), /Cistern: try it, or install it/, `the boot loader's menu at the ${port}`);
    assert.match(await screen(), /LIVE: started from sda/);
    await managementAnswers();
  });

  await step('there is no disk to install to: at the screen, with a keyboard at USB', async () => {
    await machine.press('i', 'ret');
    await until('the screen says so', 60, async () => /There is no disk to install to/.test(await screen()));
    await picture('no-disk');
    await machine.press('ret');
    // A key that is pressed while the terminal changes hands is lost.
    await until('the page has the screen again', 60, async () =>
      /q and Enter/.test((await screen()).split('There is no disk to install to').at(-1) ?? ''),
    );
    await machine.press('q', 'ret');
    await until('the QR code is on the screen, above the address', 60, async () =>
      /https:\/\/10\.0\.2\.15\/ +\(set-up code [A-Z2-9]{4}-/.test(await screen()),
    );
    await picture('qr');
    await machine.press('ret');
  });

  await step('the cable is pulled: the console says which one is missing', async () => {
    from = machine.console().length;
    await machine.link(false);
    await shown('what is missing', /none: no network cable is connected[\s\S]*?en\w+ \(MAC 52:54:/, 60);
    from = machine.console().length;
    await machine.link(true);
    await shown('the address is back', /Web page {5}https:\/\/10\.0\.2\.15\//, 60);
  });

  let chosen = '';
  let full = '';
  await step('the disks are listed with what is on them; one with a pool is not taken without its name', async () => {
    const foreign = { MD: 'software RAID', LVM: 'LVM', SMALL: 'RAID controller' } as const;
    for (const [serial, kind] of Object.entries(foreign))
      foreignDisk(join(machine.dir, `${serial}.qcow2`), (serial === 'SMALL' ? 4e9 : 8e9) - 512, kind);
    await Promise.all(['ONE', 'TWO', ...Object.keys(foreign)].map((serial) => machine.plug(serial, '10G')));
    // For the list of disks: one is somebody's.
    await machine.sh('zpool create -f theirs /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_TWO && zpool export theirs');
    await type('i');
    const list = (await shown('the disks are listed', /Disks of this machine:\n\n([\s\S]*?)\n\n/))[1] ?? '';
    t.diagnostic(list);
    // The kernel's names are not those of the last start.
    const empty = /^ {4}(sd\w) +10\.7 GB {2}QEMU HARDDISK {2}ONE {2}empty$/m.exec(list)?.[1];
    full = /^ {4}(sd\w) +10\.7 GB {2}QEMU HARDDISK {2}TWO {2}the ZFS pool "theirs"$/m.exec(list)?.[1] ?? '';
    assert.ok(empty && full, list);
    chosen = `${empty} ${full}`;
    assert.match(list, /HARDDISK {2}MD {2}a side of the software RAID "nas:0"$/m);
    assert.match(list, /HARDDISK {2}LVM {2}a volume of LVM$/m);
    assert.match(
      list,
      /HARDDISK {2}SMALL {2}a disk of a RAID controller \(isw\); cannot be taken: it is too small: it holds 4\.0 GB, and 6\.7 GB are needed$/m,
    );
    await type(chosen);
    await shown('it asks', new RegExp(`Write to ${empty}, which is empty\\? Type "yes"`));
    await type('yes');
    await shown(
      'it names what is lost',
      new RegExp(`${full} is not empty: the ZFS pool "theirs"[\\s\\S]*Type the disk's name`),
    );
    await type('yes');
    await shown('it goes back', /Nothing was changed/);
    await type('');
    await shown('the console is back', /i and Enter: install/);
    assert.equal((await machine.sh('zpool import')).match(/pool: theirs/g)?.length, 1);
    await watch.look();
  });

  // services/install writes a whole system to files in any case.
  const installed = 'it is installed to two disks, and starts from them under UEFI with a mirrored system pool';
  const alone = 'the first one is taken away: it starts from the other';
  if (!wantsVariant(installed) && !wantsVariant(alone)) return;
  await step(installed, async () => {
    await type('i');
    await shown('it asks for disks', /Install to which disk/);
    await type(chosen);
    await shown('it asks', /Type "yes"/);
    await type('yes');
    await shown('it names what is lost', /Type the disk's name/);
    await type(full);
    await shown('the system is written', /writing the boot files/, 600);
    await shown('it is read back', /reading it back/, 600);
    await shown('it is installed', /Installed\. Take the medium out/, 600);
    await watch.look();
    await machine.kill();
    machine.disks.splice(0, Infinity, ...machine.disks.filter(({ serial }) => ['ONE', 'TWO'].includes(serial)));
    await machine.start({ bootFrom: 'ONE', firmware: 'uefi' });
    from = 0; // each start begins the log anew
    // An attempt by ssh that comes too early takes its whole deadline.
    await shown('the page', /Web page {5}https:/);
    await machine.waitForSsh(300);
    await managementAnswers();
    const status = await machine.sh('zpool status -P system');
    assert.match(status, /mirror-0 +ONLINE/);
    assert.equal(status.match(/by-partuuid\/\S+ +ONLINE/g)?.length, 2, status);
    assert.equal(await machine.sh('cat /run/cistern-live 2>/dev/null || echo no'), 'no\n');
  });

  if (!wantsVariant(alone)) return;
  await step(alone, async () => {
    const id = await machine.sh('cat /etc/machine-id; sync');
    await machine.kill();
    machine.disks.splice(0, Infinity, ...machine.disks.filter(({ serial }) => serial === 'TWO'));
    await machine.start({ bootFrom: 'TWO' });
    await machine.waitForSsh(300);
    assert.equal(await machine.sh('cat /etc/machine-id; sync'), id);
    assert.match(await machine.sh('zpool status system'), /state: DEGRADED/);
  });
});
