// What the image starts on: each kind of firmware, of disk and of network card at least once. A machine that starts has
// to show its page to the network; the log and the services are looked at as in every test. In the ordinary run others do it:
// the saved machines have started by UEFI from virtio-scsi, and install.test.ts starts by BIOS from USB.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Person } from '../stack/api.ts';
import { endsClean } from './clean.ts';
import { type Hardware, Machine } from './machine.ts';
import { wantedStep, wantsVariant } from './row.ts';
import { emptyFolder, image } from './saved.ts';
import { until } from './until.ts';

// OVMF has no driver for megasas. mptsas1068 is left out: Linux’ driver finds QEMU’s adapter, and no disk on it.
const variants: Hardware[] = [
  { firmware: 'bios', bus: 'usb', network: 'e1000' },
  { firmware: 'bios', bus: 'virtio-blk', network: 'rtl8139' },
  { firmware: 'bios', bus: 'virtio-scsi', network: 'virtio-net-pci' },
  { firmware: 'bios', bus: 'megasas', network: 'igb' },
  { firmware: 'bios', bus: 'lsi', network: 'vmxnet3' },
  { firmware: 'bios', bus: 'pvscsi', network: 'vmxnet3' },
  { firmware: 'uefi', bus: 'ahci', network: 'e1000' },
  { firmware: 'uefi', bus: 'nvme', network: 'igb' },
  { firmware: 'uefi', bus: 'usb', network: 'e1000e' },
];

const named = ({ firmware, bus, network }: Hardware) => `${firmware.toUpperCase()}, ${bus}, ${network}`;

for (const hardware of variants) {
  const name = `it starts on ${named(hardware)}`;
  if (wantedStep ? !wantedStep.test(name) : !wantsVariant(name)) continue;
  test(name, async (t) => {
    const dir = emptyFolder(`boots-${Object.values(hardware).join('-')}`);
    const began = Date.now();
    const machine = await Machine.create(dir, image(), { disks: [], systemDisk: '8G', hardware });
    const watch = endsClean(t, machine, Math.floor(began / 1000));
    assert.ok(watch);
    await machine.start();
    const shown = await until('the console shows the page and its certificate', 600, () =>
      /Web page {5}(https:\S+)[\s\S]*Certificate {2}SHA-256 (\S+)/.exec(machine.console()),
    );
    const api = new Person(machine.url, 60_000);
    await until('management answers', 300, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
    const firmware = (await machine.sh('test -d /sys/firmware/efi && echo uefi || echo bios')).trim();
    assert.equal(firmware, hardware.firmware);
    const disk = (await machine.sh('cat /run/cistern-root/disk')).trim();
    const driver = (await machine.sh('basename "$(readlink -f /sys/class/net/e*/device/driver)"')).trim();
    t.diagnostic(
      `${named(hardware)}: ${shown[1]} after ${((Date.now() - began) / 1000).toFixed(0)} s, disk ${disk}, driver ${driver}`,
    );
  });
}
