// The installer's other ways and its faults, each a variant of what tests/vm/install.test.ts does in the ordinary run: without
// questions, onto the stick itself, cut off, onto a disk that fails, with too little memory, without a network.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { brokenDisks, endsClean, type Watch } from './clean.ts';
import { type DiskOptions, type Hardware, Machine } from './machine.ts';
import { intoFat, qemuImg } from './qemu.ts';
import { wantsVariant } from './row.ts';
import { emptyFolder, imageFile } from './saved.ts';
import { until } from './until.ts';

/** A machine, what its console has shown since something was typed, and what it complains about. */
class Installation {
  readonly machine: Machine;
  readonly watch: Watch;
  private from = 0;

  private constructor(t: TestContext, machine: Machine) {
    this.machine = machine;
    this.watch = endsClean(t, machine, Math.floor(Date.now() / 1000));
  }

  static async create(
    t: TestContext,
    name: string,
    { disks = [], hardware, image }: { disks?: DiskOptions[]; hardware?: Partial<Hardware>; image?: string } = {},
  ): Promise<Installation> {
    return new Installation(
      t,
      await Machine.create(emptyFolder(`install-${name}`), image ?? imageFile('.qcow2'), {
        disks,
        hardware: { firmware: 'bios', bus: 'virtio-scsi', network: 'e1000', ...hardware },
      }),
    );
  }

  shown(what: string, pattern: RegExp, seconds = 300): Promise<RegExpExecArray> {
    return until(what, seconds, () => pattern.exec(this.machine.console().slice(this.from)), 100).catch(
      (error: Error) => {
        throw new Error(`${error.message}; the console shows:\n${this.machine.console().slice(-2000)}`);
      },
    );
  }

  /** Switches on; the log of the console begins anew. */
  async start(options?: Parameters<Machine['start']>[0]): Promise<void> {
    await this.machine.start(options);
    this.from = 0;
  }

  /** From now on only what comes now counts as shown. */
  mark(): void {
    this.from = this.machine.console().length;
  }

  async type(text: string): Promise<void> {
    this.mark();
    await this.machine.type(`${text}\n`);
  }

  /** Starts it from the ISO, in the CD drive. */
  async fromCD(): Promise<void> {
    await this.start({ medium: imageFile('.iso') });
    await this.shown('it is live', /LIVE: started from sr0[\s\S]*i and Enter: install/);
  }

  /** The list of disks that the installer shows. */
  async listed(): Promise<string> {
    await this.type('i');
    return (await this.shown('the disks are listed', /Disks of this machine:\n\n([\s\S]*?)\n\n/))[1] ?? '';
  }
}

const nameOf = (list: string, serial: string) =>
  new RegExp(`^ {4}(sd\\w+) .* ${serial} {2}`, 'm').exec(list)?.[1] ?? assert.fail(list);

/** The raw image, with an answer file, as a disk to start from. */
function imageWithAnswers(folder: string, answers: string): string {
  const raw = join(folder, 'stick.raw');
  qemuImg('convert', '-O', 'raw', imageFile('.qcow2'), raw);
  intoFat(`${raw}@@${2 << 20}`, 'cistern', 'install.json', answers);
  const image = join(folder, 'stick.qcow2');
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, image);
  rmSync(raw);
  return image;
}

const answersFor = (serial: string) => `{"disks": ["${serial}"], "overwrite": [], "then": "power-off"}`;

function variant(name: string, body: (t: TestContext) => Promise<void>): void {
  if (wantsVariant(name)) test(name, body);
}

variant('without questions: two sticks with answer files are refused, with one of them it installs', async (t) => {
  const folder = emptyFolder('install-answers');
  const other = join(folder, 'other.raw');
  intoFat(other, 'cistern', 'install.json', answersFor('ONE'));
  const one = await Installation.create(t, 'unattended', {
    disks: [
      { serial: 'ONE', bytes: '10G' },
      { serial: 'OTHER', bytes: '16M', removable: true },
    ],
    hardware: { bus: 'usb' },
    image: imageWithAnswers(folder, answersFor('ONE')),
  });
  const { machine } = one;
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', other, join(machine.dir, 'OTHER.qcow2'));
  await one.start();
  const [said] = await one.shown('it is refused', /PROBLEM {6}The installation without questions was not done\..*/);
  t.diagnostic(said);
  assert.match(
    said,
    /2 sticks have an answer file, sd\w+ .*(SYSTEM|OTHER) and sd\w+ .*(SYSTEM|OTHER): leave in the one that is meant/,
  );
  assert.match(await one.listed(), /ONE {2}empty/, 'nothing was written');
  await machine.kill();

  machine.disks.splice(1, 1);
  await one.start();
  await one.shown('it is installed', /Installed\. Then: power-off/, 600);
  await until('it has switched itself off', 120, () => !machine.running);
  await one.start({ bootFrom: 'ONE' });
  await one.shown('it starts from there', /Web page {5}https:/);
  assert.match(await machine.sh('zpool status system; ls /run/cistern-live 2>&1 || true'), /ONLINE[\s\S]*No such file/);
});

variant('k keeps everything on the stick', async (t) => {
  const one = await Installation.create(t, 'keep', { hardware: { bus: 'usb' } });
  const { machine } = one;
  await one.start();
  await one.shown('it is live', /LIVE: started from sd\w[\s\S]*k and Enter: keep everything on sd\w itself/);
  await one.type('k');
  await one.shown('it asks', /Type "yes"/);
  await one.type('no');
  await one.shown('the console is back', /k and Enter: keep/);
  await one.type('k');
  await one.shown('it asks', /Type "yes"/);
  await one.type('yes');
  await one.shown('the pool is made', /Done\. Enter restarts the machine/);
  await one.type('');
  // The first line of the next start's page.
  await one.shown('it starts again, and is not live', /Cistern {2}cistern-\w+[^\n]*\n\n {2}Web page/, 600);
  await machine.waitForSsh(120);
  assert.match(await machine.sh('zpool status system'), /state: ONLINE/);
  await machine.sh('echo kept >/var/lib/cistern/kept; sync; zpool sync system');
  await one.watch.look();
  await machine.reset();
  await machine.waitForSsh(600);
  assert.equal(await machine.sh('cat /var/lib/cistern/kept; ls /run/cistern-live 2>/dev/null || true'), 'kept\n');
});

/** What is on a disk of a machine that is off: the names of its partitions, and whether a BIOS would start it. */
function onDisk(machine: Machine, serial: string): { partitions: string[]; starts: boolean } {
  const raw = join(machine.dir, 'looked-at.raw');
  qemuImg('convert', '-O', 'raw', join(machine.dir, `${serial}.qcow2`), raw);
  try {
    const code = Buffer.alloc(440);
    const fd = openSync(raw, 'r');
    readSync(fd, code, 0, code.length, 0);
    closeSync(fd);
    const table = JSON.parse(execFileSync('sfdisk', ['--json', raw], { encoding: 'utf8' })) as {
      partitiontable: { partitions: { name?: string }[] };
    };
    return {
      partitions: table.partitiontable.partitions.map(({ name = '' }) => name),
      starts: code.some((byte) => byte !== 0),
    };
  } finally {
    rmSync(raw);
  }
}

/** When the power is cut: what the console shows just before, and what the disk is then taken for. */
const cuts: readonly (readonly [moment: RegExp, found: RegExp])[] = [
  [/Type the disk's name/, /the ZFS pool "theirs"/],
  [/partitioning/, /the ZFS pool "theirs"|not finished/],
  [/writing the system, 1\d %/, /not finished/],
  [/writing the system, 4\d %/, /not finished/],
  [/writing the system, 8\d %/, /not finished/],
  [/writing the boot files/, /not finished/],
  [/reading it back\n/, /not finished/],
  [/reading it back, 5\d %/, /not finished/],
  [/reading it back, 9\d %/, /not finished|a Cistern system/],
  [/ done/, /a Cistern system/],
];

variant('the power is cut at ten moments', async (t) => {
  const one = await Installation.create(t, 'cuts', { disks: [{ serial: 'ONE', bytes: '8G' }] });
  const { machine } = one;
  await one.fromCD();
  await machine.waitForSsh(120);
  await machine.sh('zpool create -f theirs /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_ONE && zpool export theirs');
  for (const [moment, found] of cuts) {
    const disk = nameOf(await one.listed(), 'ONE');
    await one.type(disk);
    await one.shown('it asks', /Type the disk's name/);
    if (!/name/.test(moment.source)) await one.type(disk);
    await one.shown(`it shows ${moment}`, moment, 600);
    await machine.kill();
    const { partitions, starts } = onDisk(machine, 'ONE');
    t.diagnostic(`cut at ${moment}: ${partitions.join(' ')}${starts ? ', starts' : ''}`);
    if (partitions.some((name) => name === 'cistern-unfinished')) {
      assert.ok(
        partitions.every((name) => name === 'cistern-unfinished'),
        partitions.join(' '),
      );
    } else assert.match(partitions[0] ?? '', /^zfs-|^cistern-bios$/);
    await one.fromCD();
    const list = await one.listed();
    assert.match(list, found, `after a cut at ${moment}`);
    // It offers to begin anew.
    await one.type('');
    await one.shown('the console is back', /i and Enter: install/);
  }
});

variant('the disk fails while it is written', async (t) => {
  const one = await Installation.create(t, 'broken');
  const { machine, watch } = one;
  watch.expect(...brokenDisks);
  await one.fromCD();
  await machine.waitForSsh(120);
  await machine.plug('BROKEN', '10G', { failsAt: 300 << 20 });
  const disk = nameOf(await one.listed(), 'BROKEN');
  await one.type(disk);
  await one.shown('it asks', /Type "yes"/);
  await one.type('yes');
  const [said] = await one.shown('it says what is wrong', /Not installed:[\s\S]*?\.\n/, 600);
  t.diagnostic(said);
  assert.match(said, new RegExp(`the disk ${disk}: .*the disk or its cable is faulty; install to another one`));
  assert.match(said, /it is not finished, and no machine starts from it/);
  await one.type('');
  await one.shown('the console is back', /i and Enter: install/);
  assert.match(await one.listed(), /BROKEN {2}an installation of Cistern that was not finished/);
});

variant('a machine with 1 GB of memory says so, live and installed', async (t) => {
  const one = await Installation.create(t, 'memory', { hardware: { memory: 1024 } });
  const { machine } = one;
  const problem = /PROBLEM {6}This machine has 9\d\d MiB of memory\. Cistern needs 4 GB/;
  await one.fromCD();
  await one.shown('it says so', problem);
  await machine.waitForSsh(120);
  t.diagnostic(await machine.sh('free -m; grep oom_kill /proc/vmstat'));
  // While it is used: the console answers, and says it when a program was ended.
  await sleep(60_000);
  await one.type('');
  const [live] = await one.shown('the console answers', /Cistern {2}cistern-[\s\S]*support bundle/, 60);
  assert.match(live, problem);
  t.diagnostic(await machine.sh('free -m; grep oom_kill /proc/vmstat; systemctl is-system-running || true'));
  await machine.kill();

  await one.start();
  const [installed] = await one.shown('it says so', /PROBLEM[\s\S]*support bundle/);
  assert.match(installed, problem);
  await machine.waitForSsh(300);
  t.diagnostic(await machine.sh('free -m; grep oom_kill /proc/vmstat; systemctl is-system-running || true'));
});

variant('without an address it says what is missing: a DHCP server, a cable, a card', async (t) => {
  const one = await Installation.create(t, 'network', { hardware: { silent: true } });
  const { machine } = one;
  await one.start();
  const [late] = await one.shown(
    'no DHCP server',
    /none: the cable at en\w+ is connected, but no DHCP server\n[^\n]* since \d\d:\d\d[\s\S]*?\n\n/,
  );
  one.mark();
  await machine.link(false);
  const [cable] = await one.shown('no cable', /none: no network cable is connected[\s\S]*?MAC 52:54:[\s\S]*?\n\n/, 60);
  await machine.kill();
  await one.start({ card: false });
  const [card] = await one.shown('no card', /none: no network card was found[\s\S]*?\n\n/);
  t.diagnostic([late, cable, card].join('\n'));
  // There is no ssh to look at the log by.
  await machine.kill();
});
