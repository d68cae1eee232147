// The devices of a pool, as ZFS has them.
import type { Vdev } from '../../platform/pool.ts';

/** What ZFS calls a device: its path, or its number when it is gone. */
export const zfsName = (leaf: Vdev): string => (/^\d+$/.test(leaf.name) ? leaf.name : (leaf.path ?? leaf.name));

export function parentOf(vdevs: readonly Vdev[], leaf: Vdev): Vdev | null {
  for (const vdev of vdevs) {
    if (vdev.children.includes(leaf)) return vdev;
    const found = parentOf(vdev.children, leaf);
    if (found !== null) return found;
  }
  return null;
}
