// The disks, as execd lists them: illumos lets only privileged processes open a disk, and its tools leave out what they cannot open.
// Not run on illumos yet.

import type { PlatformDisk, PlatformPool } from '../platform.ts';
import { leaves } from '../pool.ts';

/** Of execd's verb disks.list. A text is empty when it is not known. */
export interface ListedDisk {
  readonly name: string;
  readonly type: string;
  readonly vendor: string;
  readonly product: string;
  readonly serial: string;
  /** 0: no medium in it, or it no longer answers. */
  readonly bytes: number;
  readonly solidState: boolean | null;
  readonly location: string;
}

/** The pool that OmniOS itself is installed on. */
export const ROOT_POOL = 'rpool';

/** A disk by its slices, partitions and itself: a pool may have been made with any of them. */
function paths(disk: string): string[] {
  const parts = [...Array.from({ length: 16 }, (_, n) => `s${n}`), ...Array.from({ length: 5 }, (_, n) => `p${n}`)];
  return ['', ...parts].map((part) => `/dev/dsk/${disk}${part}`);
}

export function readDisks(listed: readonly ListedDisk[], pools: readonly PlatformPool[]): PlatformDisk[] {
  const root = new Set(leaves(pools.find(({ name }) => name === ROOT_POOL)?.vdevs ?? []).map(({ path }) => path));
  return listed
    .filter(({ bytes }) => bytes > 0)
    .map(({ name, type, vendor, product, serial, bytes, solidState, location }): PlatformDisk => {
      const aliases = paths(name);
      return {
        id: name,
        path: `/dev/dsk/${name}`,
        link: `/dev/dsk/${name}`,
        aliases,
        model: [vendor, product].filter((word) => word !== '').join(' ') || 'Unknown model',
        serial,
        // c0t5000C500A1B2C3D4d0: such a target is the disk's own name.
        wwn: /t([0-9A-F]{16,32})d/.exec(name)?.[1] ?? null,
        place: location || null,
        bytes,
        bus: type.toLowerCase() || 'scsi',
        rotational: solidState === null ? null : !solidState,
        system: aliases.some((path) => root.has(path)),
        occupant: null,
        readOnly: false,
      };
    });
}
