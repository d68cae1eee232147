// QEMU out of the tools tree (image/debian/tools.sh): its own loader, libraries and firmware, so that the build
// machine's release does not matter. Arguments are the same for `run` and for the tests; a saved boot needs that.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

const cache = process.env.CISTERN_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cistern');

/** The newest tools tree that is whole. */
export function toolsTree(): string {
  const stages = join(cache, 'stages');
  const trees = (existsSync(stages) ? readdirSync(stages) : [])
    .filter((name) => /^tools-[0-9a-f]+$/.test(name))
    .map((name) => join(stages, name, 'root'))
    .filter((root) => existsSync(join(root, 'usr/bin/qemu-system-x86_64')))
    .sort((a, b) => statSync(join(b, '..')).mtimeMs - statSync(join(a, '..')).mtimeMs);
  if (!trees[0]) throw new Error(`There is no tools tree in ${stages}. Run ./build.sh image first.`);
  return trees[0];
}

function inTree(program: string): { command: string; args: string[]; env: NodeJS.ProcessEnv } {
  const root = toolsTree();
  const lib = join(root, 'usr/lib/x86_64-linux-gnu');
  return {
    command: join(root, 'usr/lib64/ld-linux-x86-64.so.2'),
    args: ['--library-path', `${lib}:${join(lib, 'pulseaudio')}`, join(root, program)],
    env: { ...process.env, QEMU_MODULE_DIR: join(lib, 'qemu') },
  };
}

/** qemu-img with the arguments given: what it prints; throws with what it said when it fails. */
export function qemuImg(...args: string[]): string {
  const tool = inTree('usr/bin/qemu-img');
  return execFileSync(tool.command, [...tool.args, ...args], {
    ...{ env: tool.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  });
}

/** A file of a FAT image, by mtools: no mount, no privilege. `name` may hold wildcards. */
export function fromFat(image: string, name: string, to: string): void {
  const tool = inTree('usr/bin/mcopy');
  execFileSync(tool.command, [...tool.args, '-o', '-i', image, '-s', `::${name}`, to], { env: tool.env });
}

/** Files of the squashfs that begins at a byte of an image, below the folder `to`. */
export function unsquash(image: string, at: number, to: string, ...names: string[]): void {
  const tool = inTree('usr/bin/unsquashfs');
  execFileSync(
    tool.command,
    [...tool.args, '-q', '-n', '-no-xattrs', '-offset', String(at), '-dest', to, image, ...names],
    {
      env: tool.env,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

/** Writes a file into a folder of a FAT image; the image and the folder are made when there are none. */
export function intoFat(image: string, folder: string, name: string, content: string): void {
  const run = (program: string, input: string, ...args: string[]) => {
    const tool = inTree(`usr/bin/${program}`);
    execFileSync(tool.command, [...tool.args, ...args], { env: tool.env, ...(input && { input }), stdio: 'pipe' });
  };
  if (!existsSync(image.replace(/@@\d+$/, '')))
    run('mformat', '', '-C', '-i', image, '-T', '32768', '-h', '64', '-s', '32', '::');
  try {
    run('mdir', '', '-i', image, `::/${folder}`);
  } catch {
    run('mmd', '', '-i', image, `::/${folder}`);
  }
  run('mcopy', content, '-o', '-i', image, '-', `::/${folder}/${name}`);
}

/** Starts QEMU; firmware files are found in the tools tree. */
export function spawnQemu(args: string[], log: number): ChildProcess {
  const tool = inTree('usr/bin/qemu-system-x86_64');
  const share = join(toolsTree(), 'usr/share');
  const child = spawn(tool.command, [...tool.args, '-L', join(share, 'qemu'), '-L', join(share, 'seabios'), ...args], {
    env: tool.env,
    stdio: ['ignore', log, log],
  });
  return child;
}

/** Debian's OVMF; `secure`: with Microsoft's keys in its variables, so that Secure Boot is on. */
export function firmware(name: 'CODE' | 'VARS', secure = false): string {
  return join(toolsTree(), 'usr/share/OVMF', `OVMF_${name}_4M${secure ? '.ms' : ''}.fd`);
}

/**
 * Whether hardware virtualisation really works: /dev/kvm may exist and refuse, start and never run, or run simple code
 * and fail in the firmware that our machines boot with. So that firmware is started under it, and has to reach its
 * console within ten seconds.
 */
export async function kvmWorks(): Promise<boolean> {
  if (process.env.CISTERN_ACCEL === 'tcg' || !existsSync('/dev/kvm')) return false;
  const dir = mkdtempSync(join(tmpdir(), 'cistern-kvm-'));
  const said = join(dir, 'console');
  const log = openSync(join(dir, 'log'), 'w');
  const args = [
    ...['-accel', 'kvm', '-cpu', 'host', '-machine', 'q35', '-smp', '2', '-m', '256', '-display', 'none'],
    ...['-nodefaults', '-no-user-config', '-serial', `file:${said}`],
    ...['-drive', `if=pflash,format=raw,readonly=on,file=${firmware('CODE')}`],
    ...['-drive', `if=pflash,format=raw,snapshot=on,file=${firmware('VARS')}`],
  ];
  const child = spawnQemu(args, log);
  closeSync(log);
  let ended = false;
  for (const event of ['exit', 'error']) {
    child.on(event, () => {
      ended = true;
    });
  }
  const deadline = Date.now() + 10_000;
  let works = false;
  let broken = false;
  while (!works && !broken && !ended && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    works = existsSync(said) && readFileSync(said, 'utf8').includes('BdsDxe');
    broken = readFileSync(join(dir, 'log'), 'utf8').includes('KVM internal error');
  }
  child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
  return works;
}
