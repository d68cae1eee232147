// A connection to a syslog receiver over TLS (RFC 5425). Syslog confirms nothing while a connection is open: what was
// written may lie in a buffer of either system. It is taken as received when we have ended the connection and the receiver
// has then ended it too, without a reset: it has read all there was.
import { once } from 'node:events';
import net, { type LookupFunction } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import tls from 'node:tls';
import { frame } from './message.ts';

export interface Receiver {
  readonly host: string;
  readonly port: number;
  /** PEM; left out: the authorities that the operating system knows. */
  readonly ca?: string;
}

export interface Patience {
  readonly connectMs: number;
  /** Without that anything of what is to be sent goes. */
  readonly writeMs: number;
  readonly closeMs: number;
}

export const PATIENCE: Patience = { connectMs: 10_000, writeMs: 30_000, closeMs: 10_000 };

export class Connection {
  readonly #socket: tls.TLSSocket;
  readonly #patience: Patience;
  readonly #failed: Promise<never>;
  #fail: (error: Error) => void = () => {};
  #ending = false;

  private constructor(receiver: Receiver, lookup: LookupFunction, patience: Patience) {
    const { host, port, ca } = receiver;
    this.#patience = patience;
    this.#socket = tls.connect({
      ...{ host, port, lookup, minVersion: 'TLSv1.2', rejectUnauthorized: true },
      ...(net.isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
    });
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject;
      this.#socket.on('error', reject);
      // Before we have ended it, the receiver may not have read what came last.
      this.#socket.on('end', () => {
        if (!this.#ending) reject(new Error('the receiver ended the connection'));
      });
      this.#socket.on('close', () => {
        if (!this.#ending) reject(new Error('the connection was closed'));
      });
    });
    // Whoever waits is told; nobody may be waiting.
    this.#failed.catch(() => {});
    this.#socket.resume();
  }

  static async open(receiver: Receiver, lookup: LookupFunction, patience = PATIENCE): Promise<Connection> {
    const connection = new Connection(receiver, lookup, patience);
    await connection.#within(patience.connectMs, 'no answer', once(connection.#socket, 'secureConnect'));
    return connection;
  }

  /** Waits for an event, but not longer, and not when the connection ends or fails. */
  async #within(ms: number, what: string, event: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} within ${ms / 1000} s`)), ms);
    });
    try {
      await Promise.race([event, this.#failed, late]);
    } catch (error) {
      this.abandon();
      throw error;
    } finally {
      clearTimeout(timer);
      event.catch(() => {});
    }
  }

  get protocol(): string {
    return this.#socket.getProtocol() ?? 'TLS';
  }

  /** Waits for so long, or until the connection fails. */
  async idle(ms: number): Promise<void> {
    await Promise.race([wait(ms), this.#failed]);
  }

  async send(message: string): Promise<void> {
    if (this.#socket.destroyed) await this.#failed;
    if (this.#socket.write(frame(message))) return;
    await this.#within(this.#patience.writeMs, 'the receiver read nothing', once(this.#socket, 'drain'));
  }

  /** Returns when the receiver has taken all that was sent. */
  async end(): Promise<void> {
    const closed = once(this.#socket, 'close').then(([hadError]) => {
      if (hadError) throw new Error('the connection was reset');
    });
    this.#ending = true;
    this.#socket.end();
    await this.#within(
      this.#patience.closeMs,
      'the receiver did not end the connection, as RFC 5425 wants it,',
      closed,
    );
  }

  abandon(): void {
    this.#ending = true;
    this.#fail(new Error('the connection was given up'));
    this.#socket.destroy();
  }
}
