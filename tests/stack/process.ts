// One child process of the stack: started, its lines logged with its name before them, stopped so that nothing is left.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}
export type LogLine = (name: string, line: string) => void;

/** How long a program may take to end when asked; then it is killed. */
const STOP_MS = 5_000;

const alive = new Set<ChildProcess>();
// Whatever ends us, our children do not outlive us.
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export class Process {
  readonly program: Program;
  readonly #log: LogLine;
  #child: ChildProcess | undefined;

  constructor(program: Program, log: LogLine) {
    this.program = program;
    this.#log = log;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    if (this.running) return;
    const { name, command, args, env, cwd } = this.program;
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    alive.add(child);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#log(name, line));
    }
    child.on('error', (error) => this.#log(name, `could not be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      alive.delete(child);
      if (code !== 0 && signal !== 'SIGTERM' && signal !== 'SIGQUIT')
        this.#log(name, `ended: ${signal ?? `code ${code}`}`);
    });
  }

  /** As SIGSTOP and SIGCONT, which end nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  }
}
