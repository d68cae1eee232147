// Reads disks from `diskinfo -Hpc` (a line each, tab separated: type, disk, vendor, product, serial, bytes, FLRS, location).
// Written after diskinfo(8) and its source; not run on illumos yet.

import { fail } from '../../base/problems/problem.ts';
import type { PlatformDisk, PlatformPool } from '../platform.ts';
import { leaves } from '../pool.ts';

/** The pool that OmniOS itself is installed on. */
export const ROOT_POOL = 'rpool';

const known = (text: string) => (text === '-' ? '' : text.trim());

/** A disk by its slices, partitions and itself: a pool may have been made with any of them. */
function paths(disk: string): string[] {
  const parts = [...Array.from({ length: 16 }, (_, n) => `s${n}`), ...Array.from({ length: 5 }, (_, n) => `p${n}`)];
  return ['', ...parts].map((part) => `/dev/dsk/${disk}${part}`);
}

export function parseDisks(output: string, pools: readonly PlatformPool[]): PlatformDisk[] {
  const root = new Set(leaves(pools.find(({ name }) => name === ROOT_POOL)?.vdevs ?? []).map(({ path }) => path));
  return output
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line): PlatformDisk[] => {
      const [type = '', disk = '', vendor = '', product = '', serial = '', size = '', flags, location = ''] =
        line.split('\t');
      if (flags === undefined || !/^c\d+(t[0-9A-F]+)?d\d+$/.test(disk) || !/^\d+$/.test(size)) {
        throw fail('command_failed', `“diskinfo” printed a line that cannot be read: “${line.slice(0, 200)}”.`);
      }
      // No medium in it, or it no longer answers.
      if (size === '0') return [];
      const aliases = paths(disk);
      const solid = flags.at(3);
      return [
        {
          id: disk,
          path: `/dev/dsk/${disk}`,
          link: `/dev/dsk/${disk}`,
          aliases,
          model: [known(vendor), known(product)].filter((word) => word !== '').join(' ') || 'Unknown model',
          serial: known(serial),
          // c0t5000C500A1B2C3D4d0: such a target is the disk's own name.
          wwn: /t([0-9A-F]{16,32})d/.exec(disk)?.[1] ?? null,
          place: known(location) || null,
          bytes: Number(size),
          bus: known(type).toLowerCase() || 'scsi',
          rotational: solid === 'S' ? false : solid === '-' ? true : null,
          system: aliases.some((path) => root.has(path)),
          occupant: null,
          readOnly: false,
        },
      ];
    });
}
