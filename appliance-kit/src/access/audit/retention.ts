// The audit log is bounded by time and by number: the oldest entries are dropped, a few at a time, and counted.
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { onePart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Audit } from './audit.ts';
import { AuditRetentionInput } from './schema.ts';

export const retentionSetting = setting<AuditRetentionInput>('audit.retention');
export const DEFAULT_RETENTION: AuditRetentionInput = { days: 730, entries: 500_000 };

const DAY_MS = 86_400_000;
/** Dropped in one transaction. */
const AT_ONCE = 500;

export class Retention {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #audit: Audit;
  readonly #settings: Settings;
  readonly #clock: Clock;
  #running = false;
  #stopped = false;

  constructor(parts: { db: Database; audit: Audit; settings: Settings; clock: Clock; changes: Changes }) {
    this.#db = parts.db;
    this.#changes = parts.changes;
    this.#audit = parts.audit;
    this.#settings = parts.settings;
    this.#clock = parts.clock;
  }

  get(): AuditRetentionInput {
    return this.#settings.get(retentionSetting) ?? DEFAULT_RETENTION;
  }

  set(after: AuditRetentionInput, by: Caller): AuditRetentionInput {
    this.#db.transaction(() => {
      const what = `${after.days} days, ${after.entries} entries`;
      this.#audit.record(by, 'audit-retention.set', what, this.get(), after);
      this.#settings.set(retentionSetting, after);
    });
    this.#changes.publish('audit');
    return after;
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

export const auditRetentionPart = (retention: Retention) =>
  onePart({
    ...{ name: 'audit-retention', title: 'How much of the audit log is kept', version: 1, schema: AuditRetentionInput },
    covers: ['setAuditRetention'],
    read: () => retention.get(),
    set: (given, by) => retention.set(given, by),
    warn: (before, after) =>
      after.days < before.days || after.entries < before.entries
        ? 'Entries of the audit log that are no longer kept are dropped, and do not come back.'
        : null,
  });
