// How a disk is called in sentences.
import type { Disk } from './schema.ts';

/** How a disk is found: by the serial number on its label, then by where it is. */
export function diskWords(disk: Disk | undefined, fallback: string): string {
  if (disk === undefined) return fallback;
  const what = [disk.model, disk.path].filter((word) => word !== '').join(', ');
  return `${disk.serial || disk.id} (${what})`;
}
