// Sends the audit log on as it is written. Entries go out at once; the position moves when the receiver has confirmed them
// by ending the connection after us (connection.ts), which is done whenever there was nothing to send for a moment. What
// was sent and not confirmed is sent again: each entry arrives at least once, and carries its number and its hash, by
// which a second one is known.
import type { LookupFunction } from 'node:net';
import { type Clock, iso } from '../../base/clock.ts';
import type { Database } from '../../state/database.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import { lookupOthers } from './address.ts';
import { Connection, PATIENCE, type Patience, type Receiver } from './connection.ts';
import { auditMessage } from './message.ts';

/** What is stored of where it is sent. */
export interface Target extends Receiver {
  readonly enabled: boolean;
}

/** How far it was received. */
export interface Position {
  readonly id: number;
  readonly at: string | null;
  /** Dropped by retention before they could be sent. */
  readonly missed: number;
}

export const targetSetting = setting<Target>('audit.forwarding');
export const positionSetting = setting<Position>('audit.forwarded');

export interface Timing extends Patience {
  /** So long the connection waits for the next entry. */
  readonly lingerMs: number;
  readonly lookMs: number;
  readonly retryMs: (failures: number) => number;
}

export const TIMING: Timing = {
  ...PATIENCE,
  lingerMs: 1_000,
  lookMs: 200,
  retryMs: (failures) => Math.min(60_000, 1_000 * 2 ** (failures - 1)),
};

/** Read at once. */
const BATCH = 50;
/** More than these are not left unconfirmed. */
const UNCONFIRMED = 500;

export interface ForwarderParts {
  readonly audit: Audit;
  readonly db: Database;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly hostName: () => string;
  readonly changed: () => void;
  readonly timing?: Timing;
  readonly lookup?: LookupFunction;
}

export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #timing: Timing;
  #stopped = false;
  #open: Connection | null = null;
  #busy: Promise<void> | null = null;
  /** Why the last try failed. */
  #error: string | null = null;
  #failures = 0;
  /** By the monotonic clock. */
  #retryAt = 0;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
    this.#timing = parts.timing ?? TIMING;
  }

  target(): Target | undefined {
    return this.#parts.settings.get(targetSetting);
  }

  position(): Position | undefined {
    return this.#parts.settings.get(positionSetting);
  }

  /** Why it fails; null: it does not, as far as is known. */
  get error(): string | null {
    return this.target()?.enabled ? this.#error : null;
  }

  waiting(): number {
    const position = this.position();
    return position === undefined ? 0 : Math.max(0, (this.#parts.audit.newest()?.id ?? 0) - position.id);
  }

  /** Inside the transaction of the change: from the first time that it is switched on, nothing is left out. */
  set(target: Target): void {
    const { settings, audit } = this.#parts;
    settings.set(targetSetting, target);
    if (target.enabled && this.position() === undefined) {
      settings.set(positionSetting, { id: audit.newest()?.id ?? 0, at: null, missed: 0 });
    }
  }

  /** After a change: with the new settings at once. */
  again(): void {
    this.#open?.abandon();
    this.#error = null;
    this.#failures = 0;
    this.#retryAt = 0;
  }

  /** Once a second. */
  tick(): void {
    const { clock } = this.#parts;
    const target = this.target();
    if (this.#busy !== null || this.#stopped || !target?.enabled) return;
    if (clock.monotonic() < this.#retryAt || this.waiting() === 0) return;
    this.#busy = this.#session(target)
      .then(
        () => {
          this.#error = null;
          this.#failures = 0;
        },
        (error: unknown) => {
          // A connection with the settings from before a change says nothing of those of today.
          if (this.#stopped || !this.#isStill(target)) return;
          this.#failures++;
          this.#error = (error as Error).message;
          this.#retryAt = clock.monotonic() + this.#timing.retryMs(this.#failures);
        },
      )
      .finally(() => {
        this.#busy = null;
        this.#parts.changed();
      });
  }

  /** One connection: from the position on, until there is nothing more for a moment. */
  async #session(target: Target): Promise<void> {
    const { audit, settings, hostName, clock } = this.#parts;
    this.#skipDropped();
    const connection = await Connection.open(target, this.#parts.lookup ?? lookupOthers, this.#timing);
    this.#open = connection;
    try {
      const begin = this.position()?.id ?? 0;
      let sent = begin;
      for (let idle = 0; idle < this.#timing.lingerMs && sent - begin < UNCONFIRMED; ) {
        const entries = audit.after(sent, BATCH);
        for (const entry of entries) {
          await connection.send(auditMessage(entry, hostName()));
          sent = entry.id;
        }
        if (entries.length > 0) {
          idle = 0;
          continue;
        }
        await connection.idle(this.#timing.lookMs);
        idle += this.#timing.lookMs;
      }
      await connection.end();
      const missed = this.position()?.missed ?? 0;
      // Unless it was changed to another receiver in the meantime.
      if (this.#isStill(target)) {
        settings.set(positionSetting, { id: sent, at: iso(clock.now()), missed });
      }
    } finally {
      this.#open = null;
      connection.abandon();
    }
  }

  #isStill(target: Target): boolean {
    return JSON.stringify(this.target()) === JSON.stringify(target);
  }

  #skipDropped(): void {
    const { audit, settings } = this.#parts;
    const anchor = audit.anchor();
    const position = this.position();
    if (anchor === undefined || position === undefined || anchor.id <= position.id) return;
    settings.set(positionSetting, { ...position, id: anchor.id, missed: position.missed + anchor.id - position.id });
  }

  /** For tests, and for an orderly end. */
  async settled(): Promise<void> {
    await this.#busy;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#open?.abandon();
    await this.settled();
  }
}
