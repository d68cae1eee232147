// Reads disks from lsblk's JSON and the links under /dev/disk/by-id.
import { fail } from '../../base/problems/problem.ts';
import type { PlatformDisk } from '../platform.ts';

/** The columns asked for; what is asked for is what is parsed. */
export const LSBLK_COLUMNS = 'NAME,KNAME,PATH,TYPE,SIZE,MODEL,SERIAL,TRAN,ROTA,RO,FSTYPE,LABEL,MOUNTPOINTS,PARTLABEL';

interface Device {
  name: string;
  kname?: string;
  path: string;
  type: string;
  size: number | string | null;
  model?: string | null;
  serial?: string | null;
  tran?: string | null;
  rota?: boolean | string | null;
  ro?: boolean | string | null;
  fstype?: string | null;
  label?: string | null;
  mountpoints?: (string | null)[];
  partlabel?: string | null;
  children?: Device[];
}

/** Not disks a pool is made of: made by the kernel itself, or read-only media. */
const NOT_DISKS = /^(zram|ram|loop|zd|nbd|sr|fd|dm-|md)/;

/**
 * Which of a disk's names is its stable one: those that hold model and serial number first, since people read them on
 * the label; then the world-wide name; names that only repeat another are last.
 */
const PREFERENCE: readonly RegExp[] = [
  /^nvme-(?!eui\.|nvme\.|uuid\.)/,
  /^ata-/,
  /^scsi-0/,
  /^scsi-S/,
  /^virtio-/,
  /^usb-/,
  /^mmc-/,
  /^wwn-/,
  /^nvme-/,
  /^scsi-/,
];

export function stableName(names: readonly string[]): string | undefined {
  const rank = (name: string) => {
    const at = PREFERENCE.findIndex((pattern) => pattern.test(name));
    return at < 0 ? PREFERENCE.length : at;
  };
  // Of equals the shortest: `nvme-X_1` is the same as `nvme-X` with the namespace said twice.
  return [...names].sort((a, b) => rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1))[0];
}

/** wwn-0x5000c500a1b2c3d4; nvme-eui.0025385b21404e7f, nvme-uuid.… */
function wideName(names: readonly string[]): string | null {
  for (const name of names) {
    const found = /^(?:wwn-|nvme-(?=eui\.|uuid\.))(.+)$/.exec(name)?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

const truthy = (value: boolean | string | null | undefined) => value === true || value === '1';

function descendants(device: Device): Device[] {
  return (device.children ?? []).flatMap((child) => [child, ...descendants(child)]);
}

const mounts = (device: Device) => (device.mountpoints ?? []).filter((mount): mount is string => mount !== null);

/** What already lives on the disk, in words; null when nothing does. */
function occupant(device: Device): string | null {
  const all = [device, ...descendants(device)];
  for (const one of all) {
    const [mount] = mounts(one);
    if (mount === '[SWAP]') return `${one.path} is used as swap space.`;
    if (mount !== undefined) return `${one.path} is mounted at ${mount}.`;
  }
  for (const one of all) {
    const named = one.label ? ` named “${one.label}”` : '';
    if (one.fstype === 'zfs_member') return `It carries a ZFS pool${named} that is not imported here.`;
    if (one.fstype === 'LVM2_member') return `${one.path} belongs to a volume group.`;
    if (one.fstype === 'linux_raid_member') return `${one.path} belongs to a software RAID.`;
    if (one.fstype) return `${one.path} carries a ${one.fstype} file system${named}.`;
  }
  const partitions = (device.children ?? []).length;
  if (partitions > 0) return `It has ${partitions === 1 ? 'a partition' : `${partitions} partitions`}.`;
  return null;
}

/**
 * @param links the entries of /dev/disk/by-id: name → kernel name ("sda", "sda1")
 * @param partitions the entries of /dev/disk/by-partuuid, which the system pool's devices are named by
 * @param systemDisk the kernel's name of the disk the machine runs from, if that is known otherwise
 * @param paths the entries of /dev/disk/by-path, which name the way to a disk: its controller and port
 */
export function parseDisks(
  lsblk: string,
  links: ReadonlyMap<string, string>,
  systemDisk: string | null,
  partitions: ReadonlyMap<string, string> = new Map(),
  paths: ReadonlyMap<string, string> = new Map(),
): PlatformDisk[] {
  let devices: Device[];
  try {
    devices = (JSON.parse(lsblk) as { blockdevices: Device[] }).blockdevices;
    if (!Array.isArray(devices)) throw new Error('no blockdevices');
  } catch (error) {
    throw fail('command_failed', `The list of disks (lsblk) cannot be read: ${(error as Error).message}`);
  }
  return devices.flatMap((device): PlatformDisk[] => {
    const kernel = device.kname ?? device.name;
    const bytes = Number(device.size ?? 0);
    if (device.type !== 'disk' || NOT_DISKS.test(kernel) || bytes === 0) return [];
    const names = [...links].filter(([, target]) => target === kernel).map(([name]) => name);
    const id = stableName(names);
    const all = [device, ...descendants(device)];
    const system =
      kernel === systemDisk ||
      all.some((one) => mounts(one).some((mount) => mount === '/' || /^\/(boot|usr)(\/|$)/.test(mount)));
    // Partitions too: a pool on a whole disk names the first partition ZFS made on it.
    const parts = new Set(all.map((one) => one.kname ?? one.name));
    const named = (entries: ReadonlyMap<string, string>, folder: string) =>
      [...entries].filter(([, target]) => parts.has(target)).map(([name]) => `${folder}/${name}`);
    const aliases = [...named(links, '/dev/disk/by-id'), ...named(partitions, '/dev/disk/by-partuuid')];
    return [
      {
        id: id ?? kernel,
        path: device.path,
        link: id === undefined ? device.path : `/dev/disk/by-id/${id}`,
        aliases: [...all.map((one) => one.path), ...aliases],
        model: (device.model ?? '').trim() || 'Unknown model',
        serial: (device.serial ?? '').trim(),
        wwn: wideName(names),
        place: [...paths].find(([, target]) => target === kernel)?.[0] ?? null,
        bytes,
        bus: device.tran ?? (kernel.startsWith('vd') ? 'virtio' : kernel.startsWith('nvme') ? 'nvme' : 'scsi'),
        rotational: device.rota === null || device.rota === undefined ? null : truthy(device.rota),
        system,
        occupant:
          occupant(device) ??
          (id === undefined
            ? 'It has no serial number, so it could not be distinguished from another disk after a reboot.'
            : null),
        readOnly: truthy(device.ro),
      },
    ];
  });
}
