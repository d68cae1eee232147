// Secure Boot with Microsoft's keys, as a machine is bought: what the console says as long as the key of our kernel modules is
// not enrolled; enrolling it as the manual says, at the serial console; and what runs then. Nightly: the ordinary run starts
// the same files without Secure Boot.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Person } from '../stack/api.ts';
import { endsClean } from './clean.ts';
import { byId, Machine } from './machine.ts';
import { fromFat, unsquash } from './qemu.ts';
import { rowOf, wantedStep, withVariants } from './row.ts';
import { apiOf, emptyFolder, image, jobDone, setUpToPool } from './saved.ts';
import { until } from './until.ts';

const signed = 'the kernel modules are signed with the key that is on the boot partition';
const folder = join(image(), '..');
const DOWN = '\x1b[B';
const ENTER = '\r';

// Its steps can be named one by one.
if (withVariants || (wantedStep && !wantedStep.test(signed)))
  test('Secure Boot', async (t) => {
    const machine = await Machine.create(emptyFolder('secure-boot'), image(), {
      systemDisk: '10G',
      hardware: { firmware: 'uefi-secure', bus: 'virtio-scsi', network: 'virtio-net-pci' },
    });
    const watch = endsClean(t, machine, Math.floor(Date.now() / 1000));
    const step = rowOf(t, () => ({ machine }));
    let from = 0;
    const shown = async (what: string, pattern: RegExp, seconds = 120) => {
      const found = await until(what, seconds, () => pattern.exec(machine.console().slice(from)), 200);
      t.diagnostic(`${what}:\n${machine.console().slice(from)}`);
      return found;
    };
    /** What is shown next counts from here. */
    const type = async (...keys: string[]) => {
      from = machine.console().length;
      for (const key of keys) await machine.type(key);
    };

    const iso = join(folder, readdirSync(folder).find((one) => one.endsWith('.iso')) ?? 'there is no ISO');
    await step('without the key the ISO starts, runs live and says that ZFS is missing', async () => {
      await machine.start({ medium: iso });
      await shown(
        'the console is there',
        /LIVE: started from sr0[\s\S]*PROBLEM {6}Secure Boot is on[\s\S]*Web page {5}https/,
        600,
      );
      await machine.waitForSsh(120);
      const api = new Person(machine.url, 60_000);
      await until('management answers', 300, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
      watch.expect(/^systemd-modules-load: Failed to insert module 'zfs': /);
      await watch.look();
      await machine.kill();
    });

    await step('without the key it starts from its disk, and the console says what to do', async () => {
      from = 0; // each start begins a log of its own
      await machine.start();
      const problem = await shown('the console names the problem', /PROBLEM {6}(.*)/, 600);
      assert.match(problem[1] ?? '', /^Secure Boot is on, .* Nothing on the disks was changed\.$/);
    });

    await step('the key is enrolled from the disk, in the boot menu', async () => {
      from = machine.console().length;
      await machine.reset();
      await shown('the boot menu offers it', /Secure Boot: enrol Cistern's key/);
      await type('k');
      await shown('MokManager waits', /Press any key to perform MOK management/);
      await type(ENTER);
      await shown('its menu', /Enroll key from disk/);
      await type(DOWN, ENTER);
      await shown('the disk', /CISTERN/);
      await type(ENTER);
      for (const one of ['EFI/', 'cistern/', 'cistern.der']) {
        const list = new RegExp(`Select Key[\\s\\S]*?[^\\w.]${one.replace('.', '\\.')}`);
        const [text] = await shown(`the list with ${one}`, list);
        // In the order that they lie on the disk.
        const items = [...text.matchAll(/[\w.]+(\/|\.der)/g)].map(([item]) => item);
        await type(...new Array<string>(items.indexOf(one)).fill(DOWN), ENTER);
      }
      await shown('what to do with it', /\[Enroll MOK\][\s\S]*View key 0[\s\S]*Continue/);
      await type(ENTER);
      await shown('the certificate', /Cistern kernel modules/);
      await type(ENTER);
      await shown('what to do with it', /\[Enroll MOK\][\s\S]*View key 0[\s\S]*Continue/);
      await type(DOWN, ENTER);
      await shown('it asks', /Enroll the key\(s\)\?[\s\S]*Yes/);
      await type(DOWN, ENTER);
      await shown('it is enrolled', /Reboot/);
      await type(ENTER);
    });

    await step('with the key it is an appliance: the page answers, and pools are made', async () => {
      await setUpToPool(machine);
      await machine.waitForSsh(120);
      const api = await apiOf(machine);
      const disks = [0, 1].map((n) => byId(`DATA${n}`));
      await jobDone(
        api,
        await api.get<{ id: string }>('POST', '/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true }),
      );
      assert.match(await machine.sh('zpool status tank'), /mirror-0 +ONLINE/);
    });

    await step('Secure Boot is on, the kernel is locked down, and knows the key', async () => {
      const variable = '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c';
      assert.equal((await machine.sh(`od -An -tu1 -j4 -N1 ${variable}`)).trim(), '1');
      assert.match(await machine.sh('cat /sys/kernel/security/lockdown'), /\[integrity\]/);
      assert.match(await machine.sh('cat /proc/keys'), /asymmetri +Cistern kernel modules: /);
      const copy = 'cp /usr/lib/modules/*/extra/spl.ko /run/spl.ko && truncate -s -100 /run/spl.ko';
      const refused = await machine.sh(`${copy}; insmod /run/spl.ko 2>&1; echo "ended with $?"`);
      assert.match(refused, /not permitted|rejected/, refused);
    });

    await step('DTrace traces', async () => {
      const probes = {
        syscall: 'syscall::openat:entry',
        'a function of the kernel': 'fbt::vfs_read:entry',
        disks: 'io:::start',
        processes: 'proc:::exec-success',
        scheduler: 'sched:::dequeue',
        tracepoint: 'rawtp:sched::sched_switch',
        clock: 'profile-97',
      };
      for (const [what, probe] of Object.entries(probes)) {
        const load =
          'for n in 1 2 3 4 5 6; do ls / >/dev/null; sync -f /var/log; echo $n >/var/log/probe; sync; sleep 1; done';
        const counted = await machine.sh(
          `(sleep 3; ${load}) & dtrace -q -n '${probe} { @ = count(); } tick-8s { exit(0); }' 2>&1; wait`,
        );
        t.diagnostic(`${what}: ${counted.trim()}`);
        assert.ok(Number(counted.trim()) > 0, `${what}: ${counted}`);
      }
    });

    await step('the ISO starts as well, and ZFS is loaded', async () => {
      await watch.look();
      await machine.kill();
      from = 0;
      await machine.start({ medium: iso });
      const live = await shown('the console says that it is live', /LIVE: started from sr0[\s\S]*Web page/, 600);
      assert.doesNotMatch(live[0], /PROBLEM/);
      await machine.waitForSsh(120);
      await machine.sh('test -d /sys/module/zfs');
    });
  });

test(signed, () => {
  const work = emptyFolder('secure-boot-files');
  const named = (ending: string) => join(folder, readdirSync(folder).find((one) => one.endsWith(ending)) ?? ending);
  const raw = join(work, 'disk.raw');
  execFileSync('zstd', ['-q', '-d', '--sparse', named('.raw.zst'), '-o', raw]);
  type Table = { partitiontable: { partitions: { name: string; start: number }[] } };
  const { partitions } = (JSON.parse(execFileSync('sfdisk', ['--json', raw], { encoding: 'utf8' })) as Table)
    .partitiontable;
  const at = (wanted: string) => 512 * (partitions.find(({ name }) => name === wanted)?.start ?? Number.NaN);
  fromFat(`${raw}@@${at('cistern-esp')}`, 'EFI/cistern/cistern.der', work);
  const der = join(work, 'cistern.der');
  const sum = createHash('sha256').update(readFileSync(der)).digest('hex');
  assert.match(
    readFileSync(named('.manifest'), 'utf8'),
    new RegExp(`^kernel modules signed with the key SHA-256 ${sum}$`, 'm'),
  );
  const root = join(work, 'root');
  unsquash(raw, at('cistern-a'), root, 'usr/lib/modules/*/extra/*', 'usr/lib/cistern/cistern.der');
  assert.deepEqual(readFileSync(join(root, 'usr/lib/cistern/cistern.der')), readFileSync(der));
  const release = readdirSync(join(root, 'usr/lib/modules'))[0] as string;
  const extra = join(root, 'usr/lib/modules', release, 'extra');
  assert.deepEqual(readdirSync(extra).sort(), ['spl.ko', 'zfs.ko']);
  for (const module of readdirSync(extra)) {
    // The kernel's include/linux/module_signature.h: the module, the signature, 12 bytes that end in the signature's length, a mark.
    const whole = readFileSync(join(extra, module));
    const mark = Buffer.from('~Module signature appended~\n');
    assert.ok(whole.subarray(-mark.length).equals(mark), `${module} has no signature`);
    const end = whole.length - mark.length - 12;
    const start = end - whole.readUInt32BE(end + 8);
    writeFileSync(join(work, 'content'), whole.subarray(0, start));
    writeFileSync(join(work, 'signature'), whole.subarray(start, end));
    execFileSync(
      'openssl',
      [
        ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', join(work, 'signature')],
        ...['-content', join(work, 'content'), '-certfile', der, '-noverify', '-out', '/dev/null'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
  }
  rmSync(work, { recursive: true });
});
