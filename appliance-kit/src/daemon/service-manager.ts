// The service manager's protocol, sd_notify(3): that the process is ready, alive, or ends. Node opens no datagram sockets of
// Unix, so systemd's own program sends it, for which the unit has NotifyAccess=all. Where no manager asks (SMF, a
// laptop), nothing is done.
import { execFile } from 'node:child_process';
import process from 'node:process';
import type { Log } from '../base/log.ts';

const DEADLINE_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

export class ServiceManager {
  readonly #env: Environment;
  readonly #log: Log;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(log: Log, env: Environment = process.env) {
    this.#log = log;
    this.#env = env;
  }

  /** The service answers now. */
  async ready(): Promise<void> {
    await this.#notify('READY=1');
    this.#keepAlive();
  }

  /** It has begun to end in order. */
  async stopping(): Promise<void> {
    clearInterval(this.#watchdog);
    await this.#notify('STOPPING=1');
  }

  /** Twice as often as the manager wants it, by WATCHDOG_USEC (sd_watchdog_enabled(3)). */
  #keepAlive(): void {
    const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = this.#env;
    const everyMs = Number(microseconds) / 2_000;
    if (!(everyMs >= 1) || (pid !== undefined && pid !== '' && pid !== String(process.pid))) return;
    void this.#notify('WATCHDOG=1');
    this.#watchdog = setInterval(() => void this.#notify('WATCHDOG=1'), everyMs);
    this.#watchdog.unref();
  }

  #notify(message: string): Promise<void> {
    if (!this.#env.NOTIFY_SOCKET) return Promise.resolve();
    return new Promise((done) => {
      execFile('systemd-notify', [message], { timeout: DEADLINE_MS, env: { ...this.#env } }, (error) => {
        if (error !== null) this.#log.warn('the service manager was not notified', { error: error.message });
        done();
      });
    });
  }
}
