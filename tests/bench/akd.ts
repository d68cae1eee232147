// akd as the appliance starts it: bundled into one file, with the memory that its manifest gives it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../stack/build.ts';

/** Node's arguments up to the program, which is bundled anew. What is started from here on allocates as akd does. */
export function bundledAkd(): string[] {
  execFileSync(process.execPath, [path.join(root, 'appliance-kit/scripts/build.ts')], { stdio: 'inherit' });
  const manifest = readFileSync(path.join(root, 'smf/manifest/akd.xml'), 'utf8');
  const found = (pattern: RegExp) => {
    const [, value] = pattern.exec(manifest) ?? [];
    if (value === undefined) throw new Error(`smf/manifest/akd.xml has no ${pattern}`);
    return value;
  };
  for (const [, name, value] of manifest.matchAll(/envvar name="(MALLOC_\w+)" value="(\d+)"/g))
    process.env[name as string] = value;
  return [
    `--max-old-space-size=${found(/name="heap_mib" type="count" value="(\d+)"/)}`,
    `--max-semi-space-size=${found(/--max-semi-space-size=(\d+)/)}`,
    path.join(root, 'appliance-kit/dist/akd.js'),
  ];
}

/** MiB of a process: now, and the most there was. proc_pid_status(5). */
export function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (field: string) => Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
  return { now: mebibytes('VmRSS'), most: mebibytes('VmHWM') };
}
