// What lsblk reads, looked at without starting it: the kernel's block devices, when udev wrote what it knows of each, the links
// that udev made, and what is mounted. As long as nothing of it is different, lsblk prints the same.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Everything is in memory (sysfs, proc and tmpfs), so that no disk is waited for. Null: there is no udev to go by. */
export function diskFacts(root = '/'): string | null {
  const at = (...path: string[]) => join(root, ...path);
  const stamp = (path: string) => {
    const { ino, mtimeNs } = statSync(path, { bigint: true });
    return `${path} ${ino} ${mtimeNs}`;
  };
  const orNothing = <T>(read: () => T): T | '' => {
    try {
      return read();
    } catch {
      return ''; // no disk has a serial number, or there is no swap
    }
  };
  try {
    const notes = at('run/udev/data');
    const udev = readdirSync(notes).filter((name) => name.startsWith('b'));
    return [
      ...readdirSync(at('sys/class/block')).sort(),
      // udev writes a new file at each event of a device: it came, its size or its content changed.
      ...udev.sort().map((name) => orNothing(() => stamp(join(notes, name)))),
      ...['dev/disk/by-id', 'dev/disk/by-partuuid', 'dev/disk/by-path'].map((folder) =>
        orNothing(() => stamp(at(folder))),
      ),
      readFileSync(at('proc/self/mountinfo'), 'utf8'),
      orNothing(() => readFileSync(at('proc/swaps'), 'utf8')),
    ].join('\n');
  } catch {
    return null;
  }
}
