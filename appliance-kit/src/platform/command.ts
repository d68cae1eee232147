// Runs a program of the system: with an argument list, a deadline and a limit on what it may print. Never a shell.
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fail } from '../base/problems/problem.ts';

export interface CommandOptions {
  readonly deadlineMs?: number;
  readonly maxBytes?: number;
  /** What it printed is an answer also when it fails: of several things asked for, some were not there. */
  readonly partial?: boolean;
}

export type Command = (program: string, args: readonly string[], options?: CommandOptions) => Promise<string>;

/** ZFS commands take many seconds while a pool resilvers or a disk fails slowly; what has not ended then, hangs. */
const DEADLINE_MS = 30_000;

/** Where Debian keeps them; akd's own PATH need not have the administrator's folders in it. */
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** What it printed. A failure, a timeout or too much output is a problem that names the command. */
export const run: Command = (program, args, options = {}) => {
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(
    program,
    [...args],
    {
      // A process that waits for a dying disk cannot be killed at once; we only stop waiting for it.
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      maxBuffer: options.maxBytes ?? 16 * 1024 * 1024,
      env: { PATH: `${process.env.PATH ?? ''}:${PATH}`, LC_ALL: 'C', TZ: 'UTC' },
    },
    (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const what = [program, ...args].join(' ');
      if (error.killed) return reject(fail('timeout', `“${what}” did not end within ${deadlineMs / 1000} s.`));
      if (options.partial && typeof error.code === 'number' && stdout !== '') return resolve(stdout);
      reject(fail('command_failed', `“${what}” failed: ${stderr.trim().slice(0, 500) || error.message}`));
    },
  );
  // execFile's own deadline needs the process to die; this one does not.
  const timer = setTimeout(
    () => reject(fail('timeout', `“${program}” did not end within ${deadlineMs / 1000} s.`)),
    deadlineMs + 1_000,
  );
  return promise.finally(() => clearTimeout(timer));
};
