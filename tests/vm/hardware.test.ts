// The machine's parts: a management controller, a watchdog and an NVMe disk of QEMU's, and errors that QEMU injects where the
// kernel would see those of real parts. What is read of tools and of /sys is tested beside its readers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Person } from '../stack/api.ts';
import { bmc } from './bmc.ts';
import { endsClean } from './clean.ts';
import { Machine } from './machine.ts';
import { fromFat, qemuImg } from './qemu.ts';
import { rowOf, wantsVariant } from './row.ts';
import { apiOf, emptyFolder, image, setUpToPool } from './saved.ts';
import { until } from './until.ts';

interface Hardware {
  sentence: string;
  summary: { maker: string; product: string; secureBoot: string; firmware: { kind: string } } | null;
  controller: { state: string; sentence: string; firmware: string | null };
  sensors: { name: string; state: string }[];
  errors: { part: string; kind: string; corrected: number; uncorrected: number; detail: string }[];
  ports: { name: string; driver: string; mac: string; place: string }[];
  cards: { place: string; title: string; driver: string | null }[];
  watchdogs: { title: string; active: boolean; seconds: number }[];
  problems: string[];
}
interface Alert {
  class: string;
  severity: string;
  title: string;
  text: string;
}

test('hardware', async (t) => {
  const dir = emptyFolder('hardware');
  const nvme = join(dir, 'NVME1.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', nvme, '2G');
  const stick = join(dir, 'stick.raw');
  qemuImg('create', '-q', '-f', 'raw', stick, '256M');
  const machine = await Machine.create(dir, image(), {
    disks: [],
    systemDisk: '8G',
    devices: [
      ...['-device', 'ipmi-bmc-sim,id=bmc', '-device', 'isa-ipmi-kcs,bmc=bmc'],
      ...['-device', 'i6300esb', '-watchdog-action', 'reset'],
      // Behind a port of PCI Express, which passes errors on.
      ...['-device', 'pcie-root-port,id=port1,bus=pcie.0,chassis=1,slot=1'],
      ...['-drive', `if=none,id=nvme1,file=${nvme},format=qcow2,discard=unmap`],
      ...['-device', 'nvme,id=nvme1,drive=nvme1,serial=NVME1,bus=port1'],
      ...['-device', 'pcie-root-port,id=port2,bus=pcie.0,chassis=2,slot=2'],
      ...['-device', 'e1000e,id=card1,bus=port2,romfile='],
      ...['-device', 'qemu-xhci,id=xhci'],
      ...['-drive', `if=none,id=stick,file=${stick},format=raw`],
      ...['-device', 'usb-storage,bus=xhci.0,drive=stick,serial=STICK,removable=on'],
    ],
  });
  const watch = endsClean(t, machine, Math.floor(Date.now() / 1000));
  const step = rowOf(t, () => ({ machine }));
  let api: Person;
  const hardware = () => api.get<Hardware>('GET', '/api/hardware');
  const monitor = (line: string) => machine.qmp('human-monitor-command', { 'command-line': line });
  let place = '';

  await step('the parts, the controller and the watchdog are found', async () => {
    await machine.start();
    await machine.waitForSsh(300);
    await setUpToPool(machine);
    api = await apiOf(machine);
    const found = await until('the management controller answers', 120, async () => {
      const now = await hardware();
      return now.controller.state === 'answers' && now;
    });
    t.diagnostic(JSON.stringify({ ...found, cards: found.cards.length }));
    assert.deepEqual(found.problems, []);
    assert.deepEqual(
      [found.summary?.maker, found.summary?.firmware.kind, found.summary?.secureBoot],
      // This firmware is one without Secure Boot.
      ['QEMU', 'uefi', 'none'],
    );
    assert.deepEqual(found.ports.map(({ driver }) => driver).sort(), ['e1000e', 'virtio_net']);
    place = found.ports.find(({ driver }) => driver === 'e1000e')?.place ?? '';
    const card = found.cards.find((one) => one.place === place);
    assert.match(card?.title ?? '', /Intel.*82574L/, JSON.stringify(found.cards));
    const nvmeAt = found.cards.find(({ driver }) => driver === 'nvme')?.place;
    // The chipset has one, too; the first that the kernel finds is used.
    const used = found.watchdogs.filter(({ active }) => active);
    assert.deepEqual([used.length, used[0]?.seconds], [1, 60], JSON.stringify(found.watchdogs));
    const disks = await api.get<{ items: { id: string; place: string | null }[] }>('GET', '/api/disks');
    const disk = disks.items.find(({ id }) => id.includes('NVME1'));
    assert.equal(disk?.place, `pci-${nvmeAt}-nvme-1`);
  });

  await step('what the parts report ends as alerts in words', async () => {
    watch.expect(
      // The kernel's words for what is injected.
      /^kernel: (mce|pcieport|nvme|\{\d+\}\[Hardware Error\]|\[Hardware Error\]|AER|EDAC)/,
      /^rasdaemon: /,
    );
    // A power supply of the event log: sensor type 8, its offset 3 is “Power Supply AC lost”.
    await machine.sh('ipmitool -I open raw 0x0a 0x44 0 0 0x02 0 0 0 0 0x20 0 0x04 0x08 0x51 0x6f 0x03 0xff 0xff');
    // Corrected errors of a processor: as many as are too many, each found when the kernel looks, once a second here. Of
    // one there may be several lines.
    await machine.sh('echo 1 >/sys/devices/system/machinecheck/machinecheck0/check_interval');
    const checks = async () =>
      Number(await machine.sh('journalctl -b -u rasdaemon -o cat | grep -c mce_record || true'));
    for (let count = 0; count < 10; count++) {
      const before = await checks();
      await monitor('mce 0 5 0x9c00000000000000 0x0 0x12345000 0x8c');
      await until('the kernel has seen a machine check', 60, async () => (await checks()) > before);
    }
    // The port: QEMU's cards have no reports of their own.
    assert.match(String(await monitor('pcie_aer_inject_error port2 COMP_TIME')), /OK/);
    // The disk's own words: its spare is used up.
    const path = '/machine/peripheral/nvme1';
    await machine.qmp('qom-set', { path, property: 'smart_critical_warning', value: 1 });
    // Instead of the minutes after which each is asked again.
    await machine.sh('systemctl restart cistern-akd');
    const wanted = ['controller.event', 'disk.ailing', 'pcie.errors', 'processor.errors'];
    let seen: Alert[] = [];
    await until('all of them are alerts', 180, async () => {
      seen = (await api.get<{ items: Alert[] }>('GET', '/api/alerts?state=all&limit=100')).items;
      return wanted.every((kind) => seen.some((one) => one.class === kind));
    }).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${JSON.stringify(seen)}\n${JSON.stringify(await hardware())}`);
    });
    for (const kind of wanted) t.diagnostic(seen.find((one) => one.class === kind)?.text ?? '');
    const text = (kind: string) => seen.find((one) => one.class === kind)?.text ?? '';
    assert.match(text('controller.event'), /Power Supply #0x51: Power Supply AC lost/);
    const error = 'has reported 1 error that could not be corrected. The last: CmpltTO';
    assert.match(text('pcie.errors'), new RegExp(`^The PCI Express port .*82574L.*\\(${place}\\), ${error}`));
    assert.match(text('processor.errors'), /Processor 0, .* has reported 10 corrected errors/);
  });

  const usb = 'a support bundle goes to a USB stick, and is read back';
  if (wantsVariant(usb)) {
    await step(usb, async () => {
      await machine.sh('mkfs.vfat -I /dev/disk/by-id/usb-QEMU_QEMU_HARDDISK_STICK-0:0 >/dev/null');
      const before = machine.console().length;
      const shown = () => machine.console().slice(before);
      await machine.type('b\r');
      await until('the console asks for a disk', 60, () => /Plug in a USB disk/.test(shown()));
      await machine.type('\r');
      await until('the bundle is on the disk', 300, () => /\.tar\.zst is on the disk/.test(shown()), 1000);
      const to = join(dir, 'read-back');
      mkdirSync(to);
      fromFat(stick, 'cistern-*.tar.zst', to);
      const [file] = readdirSync(to);
      execFileSync('tar', ['--zstd', '-xf', join(to, file ?? ''), '-C', to, '--strip-components=1']);
      const errors = readFileSync(join(to, 'hardware/errors.txt'), 'utf8');
      assert.match(errors, /CmpltTO 1/, 'with what the port has counted');
      assert.match(readFileSync(join(to, 'hardware/firmware-tables.txt'), 'utf8'), /Manufacturer: QEMU/);
    });
  }

  const hangs = 'a system that hangs is started again by the watchdog';
  if (!wantsVariant(hangs)) return;
  await step(hangs, async () => {
    await watch.look();
    const boot = () => machine.sh('cat /proc/sys/kernel/random/boot_id');
    const before = await boot();
    // It stops at a panic, and says no more that it is alive.
    await machine.sh('sync; echo 0 >/proc/sys/kernel/panic; (sleep 2; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &');
    await until('it says no more', 60, () => /Kernel panic - not syncing: sysrq/.test(machine.console()));
    await until('it has started again', 400, async () => (await boot()) !== before, 2_000);
  });
});

const silent = 'a management controller answers late, falls silent, and answers again';
if (wantsVariant(silent))
  test(silent, async (t) => {
    const dir = emptyFolder('controller');
    const controller = await bmc(t, dir);
    const machine = await Machine.create(dir, image(), { disks: [], systemDisk: '8G', devices: controller.devices });
    const watch = endsClean(t, machine, Math.floor(Date.now() / 1000));
    await machine.start();
    await machine.waitForSsh(300);
    await setUpToPool(machine);
    const api = await apiOf(machine);
    watch.expect(/^kernel: ipmi_si /);
    const now = async () => (await api.get<Hardware>('GET', '/api/hardware')).controller;
    const alert = async () =>
      (await api.get<{ items: Alert[] }>('GET', '/api/alerts?state=active&limit=100')).items.find(
        (one) => one.class === 'controller.silent',
      );
    const answers = (what: string, seconds: number) =>
      until(what, seconds, async () => (await now()).state === 'answers', 1000);
    await answers('the controller answers', 180);

    // As one does that is busy: for twenty seconds it says nothing to what it is asked by the start.
    controller.silence();
    await machine.sh('systemctl restart cistern-akd');
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    controller.wake();
    await answers('it has answered late', 120);

    controller.silence();
    const said = await until('it is silent', 400, async () => {
      const one = await now();
      return one.state === 'silent' && one;
    });
    t.diagnostic(said.sentence);
    assert.match(said.sentence, /did not answer (within 90 seconds|the system's driver in time)/);
    assert.equal(await alert(), undefined, 'its own update takes minutes');
    const began = Date.now();
    await api.get('GET', '/api/hardware');
    assert.ok(Date.now() - began < 10_000, 'the page does not wait for it');
    // A quarter of an hour by the monotonic clock, which no setting of the clock moves.
    const raised = await until('it is an alert', 1_000, alert, 5_000);
    assert.match(raised.text, /did not answer (within 90 seconds|the system's driver in time)/);

    const restart = async () => {
      await machine.sh('systemctl restart cistern-akd');
      await until('management answers', 120, async () => (await api.ask('GET', '/api/status')).status === 200, 1000);
    };
    await restart();
    assert.ok(await alert(), 'a restart ends no alert');
    controller.wake();
    // Asked again at once by a start of akd, instead of after the rest that one gets which took so long.
    await restart();
    await answers('it answers again', 300);
    await until('its alert ends', 120, async () => (await alert()) === undefined, 1000);
  });
