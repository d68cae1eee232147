// The audit log is bounded by time and by number: the oldest entries are dropped, a few at a time, and counted.
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Audit } from './audit.ts';
import type { AuditRetentionInput } from './schema.ts';

export const retentionSetting = setting<AuditRetentionInput>('audit.retention');
export const DEFAULT_RETENTION: AuditRetentionInput = { days: 730, entries: 500_000 };

const DAY_MS = 86_400_000;
/** Dropped in one transaction. */
const AT_ONCE = 500;

export class Retention {
  readonly #audit: Audit;
  readonly #settings: Settings;
  readonly #clock: Clock;
  #running = false;
  #stopped = false;

  constructor(parts: { audit: Audit; settings: Settings; clock: Clock }) {
    this.#audit = parts.audit;
    this.#settings = parts.settings;
    this.#clock = parts.clock;
  }

  get(): AuditRetentionInput {
    return this.#settings.get(retentionSetting) ?? DEFAULT_RETENTION;
  }

  /** Once a minute. */
  async drop(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      for (;;) {
        const { days, entries } = this.get();
        if (this.#stopped || this.#audit.drop(this.#clock.now() - days * DAY_MS, entries, AT_ONCE) < AT_ONCE) return;
        await turn();
      }
    } finally {
      this.#running = false;
    }
  }

  stop(): void {
    this.#stopped = true;
  }
}
