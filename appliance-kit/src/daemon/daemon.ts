// What akd does as the Go daemons do (services/daemon): flags and a configuration file, one structured log, readiness and
// watchdog of the service manager, an orderly stop with a deadline, a private socket that tells what the process is doing,
// and a trace of what nobody caught. A program's main is wiring.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { type Log, standardLog } from '../base/log.ts';
import { DIAGNOSTICS, serveDiagnostics } from './diagnostics.ts';
import { type Program, parseFlags, type Settings, UsageError } from './flags.ts';
import { ServiceManager } from './service-manager.ts';

const FAILED = 1;
const USAGE = 2;

/** The service manager's patience is longer than this; what is not done by then is taken up at the next start. */
const STOP_MS = 8_000;

export interface Started {
  /** Ends its parts in order. */
  stop(): Promise<void>;
}

export interface Daemon extends Program {
  /** Returns when it answers on the socket. */
  readonly setup: (settings: Settings, log: Log) => Promise<Started>;
}

/** True when another process answers on the socket: two of them would do everything twice. */
function answered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath: socket, path: '/', timeout: 2_000 }, (response) => {
      response.resume();
      resolve(true);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

const stackOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** What nobody caught leaves the state unknown: the trace is printed where supportd looks for it, and the process ends. */
function endsOnErrors(name: string, log: () => Log): void {
  const end = (error: unknown) => {
    log().error(`${name} ends because of an error that nobody handled`, {
      error: error instanceof Error ? error.message : String(error),
    });
    // As it is, line by line: supportd makes the crash record of it, as it does of the stacks of a Go daemon.
    process.stderr.write(`${error instanceof Error ? stackOf(error) : stackOf(new Error(String(error)))}\n`);
    process.exit(FAILED);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** Whether whoever started the process had a signal ignored, as nohup does. Node would take it again. */
function ignored(number: number): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${mask}`) >> BigInt(number - 1)) % 2n === 1n;
  } catch {
    return false;
  }
}

/** Those that end a daemon in order. */
const signals: readonly NodeJS.Signals[] = ignored(1) ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP'];

export async function runDaemon(daemon: Daemon): Promise<void> {
  let log = standardLog();
  endsOnErrors(daemon.name, () => log);
  let settings: Settings;
  try {
    const parsed = parseFlags(daemon, process.argv.slice(2), process.env);
    if (parsed.answer !== undefined) {
      process.stdout.write(parsed.answer);
      return;
    }
    settings = parsed.settings;
  } catch (error) {
    log.error(`${daemon.name} cannot start`, { error: error instanceof UsageError ? error.message : stackOf(error) });
    process.exit(USAGE);
  }
  log = standardLog({ level: settings.logLevel, format: settings.logFormat });
  const manager = new ServiceManager(log);
  let diagnostics: { close(): void } | undefined;
  let started: Started | undefined;
  try {
    const { socket } = settings;
    mkdirSync(dirname(socket), { recursive: true });
    if (await answered(socket)) throw new Error(`another process answers on ${socket} already; stop it first`);
    rmSync(socket, { force: true });
    started = await daemon.setup(settings, log);
    diagnostics = await serveDiagnostics(join(dirname(socket), DIAGNOSTICS), daemon.name).catch((error: unknown) => {
      log.warn('what this process is doing cannot be asked for', { error: String(error) });
      return undefined;
    });
  } catch (error) {
    log.error(`${daemon.name} ends`, { error: stackOf(error) });
    process.exit(FAILED);
  }

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info(`${daemon.name} is stopping`, { signal });
    setTimeout(() => {
      log.warn('the stop is not finished in time; what is left is done at the next start', { seconds: STOP_MS / 1000 });
      process.exit(0);
    }, STOP_MS).unref();
    void manager.stopping();
    try {
      diagnostics?.close();
      await started.stop();
      process.exit(0);
    } catch (error) {
      log.error(`${daemon.name} ends`, { error: stackOf(error) });
      process.exit(FAILED);
    }
  };
  for (const signal of signals) process.on(signal, () => void stop(signal));
  log.info('ready', { version: daemon.version, listens: settings.socket });
  await manager.ready();
}
