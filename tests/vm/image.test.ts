// The files that ./build.sh image leaves in out/image, each read back by the tool of its format: they hold the same disk,
// and what describes them is true.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, openSync, readdirSync, readFileSync, readSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fromFat, qemuImg } from './qemu.ts';

const folder = realpathSync('out/image');
const work = resolve('out/vm/image');
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
after(() => rmSync(work, { recursive: true, force: true }));
const names = readdirSync(folder);
function file(ending: string): string {
  const found = names.filter((name) => name.endsWith(ending));
  assert.equal(found.length, 1, `${ending}: ${found}`);
  return join(folder, found[0] as string);
}
const sum = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test('SHA256SUMS names each file with its checksum, and coreutils agree', () => {
  const listed = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  assert.deepEqual(listed.map((line) => line.replace(/^\S+ +.*?\.(?=[a-z])/, '').replace(/^.*amd64\./, '')).sort(), [
    'iso',
    'ova',
    'qcow2',
    'raw.zst',
    'vhdx',
    'vmdk',
  ]);
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: folder });
});

test('qcow2, vmdk and vhdx are whole, 32 GiB large, and hold the same disk', () => {
  for (const format of ['qcow2', 'vmdk', 'vhdx']) {
    const info = JSON.parse(qemuImg('info', '--output=json', '-f', format, file(`.${format}`))) as {
      'virtual-size': number;
    };
    assert.equal(info['virtual-size'], 32 * 2 ** 30, format);
    qemuImg('check', '-q', '-f', format, file(`.${format}`));
  }
  qemuImg('compare', '-q', '-f', 'qcow2', '-F', 'vmdk', file('.qcow2'), file('.vmdk'));
  qemuImg('compare', '-q', '-f', 'qcow2', '-F', 'vhdx', file('.qcow2'), file('.vhdx'));
});

test('the raw disk unpacks to the same, and starts under BIOS and UEFI by its first sectors', () => {
  const raw = join(work, 'disk.raw');
  execFileSync('zstd', ['-q', '-d', '--sparse', file('.raw.zst'), '-o', raw]);
  // What is behind the smaller one counts as zeros.
  qemuImg('compare', '-q', '-f', 'raw', '-F', 'qcow2', raw, file('.qcow2'));
  const fd = openSync(raw, 'r');
  const read = (at: number, length: number) => {
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, at);
    return bytes;
  };
  const first = read(0, 512);
  assert.equal(first.readUInt16LE(510), 0xaa55);
  assert.equal(first[446 + 4], 0xee, 'a GPT is announced to whoever reads the old table');
  const start = Number(first.readBigUInt64LE(0x5c));
  assert.equal(start, 2048, 'GRUB’s first stage names the BIOS boot partition');
  assert.equal(Number(read(start * 512, 512).readBigUInt64LE(0x1f4)), start + 1);
  const table = JSON.parse(execFileSync('sfdisk', ['--json', raw], { encoding: 'utf8' })) as {
    partitiontable: { partitions: { name: string; start: number; size: number }[] };
  };
  const { partitions } = table.partitiontable;
  assert.deepEqual(
    partitions.map(({ name }) => name),
    ['cistern-bios', 'cistern-esp', 'cistern-a', 'cistern-b'],
  );
  const esp = `${raw}@@${(partitions[1]?.start ?? 0) * 512}`;
  for (const name of [
    'EFI/BOOT/BOOTX64.EFI',
    'EFI/BOOT/grubx64.efi',
    'EFI/BOOT/mmx64.efi',
    'EFI/debian/grub.cfg',
    'EFI/cistern/cistern.der',
    'cistern/grub.cfg',
    'cistern/grubenv',
    'cistern/a/vmlinuz',
    'cistern/a/initrd',
  ])
    fromFat(esp, name, work);
  const used = ['vmlinuz', 'initrd'].reduce((bytes, name) => bytes + statSync(join(work, name)).size, 0);
  // Both slots have theirs on it.
  assert.ok(2 * used < 0.8 * (partitions[1]?.size ?? 0) * 512, `two slots need ${2 * used} bytes`);
  assert.match(read((partitions[2]?.start ?? 0) * 512, 4).toString(), /^hsqs$/);
});

test('the OVA: description, checksums and disk in this order, each as it is described', () => {
  const ova = file('.ova');
  const entries = execFileSync('tar', ['-tf', ova], { encoding: 'utf8' }).trim().split('\n');
  assert.deepEqual(
    entries.map((name) => name.replace(/^.*\./, '')),
    ['ovf', 'mf', 'vmdk'],
  );
  execFileSync('tar', ['-xf', ova, '-C', work]);
  const [ovf, mf, vmdk] = entries.map((name) => join(work, name)) as [string, string, string];
  assert.deepEqual(readFileSync(mf, 'utf8').trim().split('\n'), [
    `SHA256(${entries[0]})= ${sum(ovf)}`,
    `SHA256(${entries[2]})= ${sum(vmdk)}`,
  ]);
  assert.equal(sum(vmdk), sum(file('.vmdk')));
  const text = readFileSync(ovf, 'utf8');
  assert.ok(text.includes(`ovf:href="${entries[2]}" ovf:id="file1" ovf:size="${statSync(vmdk).size}"`), text);
  assert.ok(text.includes(`ovf:capacity="${32 * 2 ** 30}"`), text);

  // The reader of VMware's own command line finds in it what was meant. It does not mind the order of elements, which the
  // schema of an item (CIM_ResourceAllocationSettingData) has as that of the alphabet.
  const read = JSON.parse(
    execFileSync('go', ['run', '.'], { cwd: 'tests/vm/ovf', input: text, encoding: 'utf8' }),
  ) as Envelope;
  assert.deepEqual(
    read.References.map(({ ID, Href, Size }) => ({ ID, Href, Size })),
    [{ ID: 'file1', Href: entries[2], Size: statSync(vmdk).size }],
  );
  const disk = read.Disk.Disks[0];
  assert.deepEqual([disk?.FileRef, Number(disk?.Capacity)], ['file1', 32 * 2 ** 30]);
  const [system] = read.VirtualSystem.OperatingSystem;
  assert.equal(system?.ID, 96, 'CIM_OperatingSystem.OSType: Debian 64-bit');
  const [hardware] = read.VirtualSystem.VirtualHardware;
  assert.match(hardware?.System.VirtualSystemType ?? '', /^vmx-\d+ virtualbox-/);
  const item = (type: number) => {
    const found = hardware?.Item.filter((one) => one.ResourceType === type) ?? [];
    assert.equal(found.length, 1, `resource type ${type}`);
    return found[0] as Item;
  };
  assert.deepEqual([item(3).VirtualQuantity, item(3).AllocationUnits], [2, 'hertz * 10^6']);
  assert.deepEqual([item(4).VirtualQuantity, item(4).AllocationUnits], [4096, 'byte * 2^20']);
  assert.deepEqual([item(17).HostResource, item(17).Parent], [[`ovf:/disk/${disk?.DiskID}`], item(6).InstanceID]);
  assert.deepEqual([item(6).ResourceSubType, item(10).ResourceSubType], ['lsilogic', 'E1000']);
  assert.deepEqual(
    item(10).Connection,
    read.Network.Networks.map(({ Name }) => Name),
  );
  assert.equal(new Set(hardware?.Item.map(({ InstanceID }) => InstanceID)).size, hardware?.Item.length);
  for (const [, content] of text.matchAll(/<(?:Item|System)>([\s\S]*?)<\/(?:Item|System)>/g)) {
    const names = [...(content ?? '').matchAll(/<\w+:(\w+)>/g)].map(([, name]) => name);
    assert.deepEqual(names, [...names].sort());
  }
});

test('it is no larger than it has to be, and no kernel module is left without its firmware unless it says why', () => {
  const { size } = statSync(file('.raw.zst'));
  assert.ok(size <= 300e6, `${size} bytes compressed`);
  const manifest = readFileSync(file('.manifest'), 'utf8');
  const [, wanting] =
    /\n\nfirmware that a kernel module names and that is not in the image\n([\s\S]*?)\n\n/.exec(manifest) ?? [];
  assert.ok(wanting !== undefined, manifest);
  const rows = wanting.split('\n');
  // HARDWARE_WITHOUT_FIRMWARE of image/debian/hardware.sh: a module whose firmware comes into the image leaves it.
  assert.deepEqual([...new Set(rows.map((row) => row.replace(/ .*/, '')))], ['cassini', 'xhci-pci-renesas']);
  for (const row of rows)
    assert.match(row, /^\S+ \S+: \S.+/, 'add its firmware, remove the module, or state the reason');
});

/** As tests/vm/ovf prints it. */
interface Item {
  InstanceID: string;
  ResourceType: number;
  ResourceSubType: string | null;
  AllocationUnits: string | null;
  VirtualQuantity: number | null;
  HostResource: string[] | null;
  Parent: string | null;
  Connection: string[] | null;
}
interface Envelope {
  References: { ID: string; Href: string; Size: number }[];
  Disk: { Disks: { DiskID: string; FileRef: string; Capacity: string }[] };
  Network: { Networks: { Name: string }[] };
  VirtualSystem: {
    OperatingSystem: { ID: number }[];
    VirtualHardware: { System: { VirtualSystemType: string }; Item: Item[] }[];
  };
}
