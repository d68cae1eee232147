// The daily digest: which alerts can wait, and when they are sent.

import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Entry } from '../../schedules/timetable.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { routes } from './routes.ts';
import { DigestInput } from './schema.ts';

interface Kept extends DigestInput {
  /** When it was last sent, or switched on. */
  readonly since: number;
}

export const digestSetting = setting<Kept>('alerts.digest');

/** Sends what was gathered. */
export interface DigestSender {
  sendDigest(): void;
}

export class Digest {
  readonly #settings: Settings;
  readonly #clock: Clock;
  #kept: Kept;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#kept = settings.get(digestSetting) ?? { enabled: false, at: '08:00', severities: ['info'], since: 0 };
  }

  get(): DigestInput {
    const { since: _, ...settings } = this.#kept;
    return settings;
  }

  set(settings: DigestInput): void {
    this.#keep({ ...settings, since: this.#clock.now() });
  }

  #keep(kept: Kept): void {
    this.#settings.set(digestSetting, kept);
    this.#kept = kept;
  }

  canWait(severity: DigestInput['severities'][number]): boolean {
    return this.#kept.enabled && this.#kept.severities.includes(severity);
  }

  entries(outbox: DigestSender): Entry[] {
    const { enabled, at, since } = this.#kept;
    if (!enabled) return [];
    const run = async (due: number) => {
      outbox.sendDigest();
      this.#keep({ ...this.#kept, since: due });
    };
    return [{ id: 'alerts/digest', schedule: { every: 'day', at }, since, run }];
  }
}

export function digestRoutes(parts: {
  digest: Digest;
  outbox: DigestSender;
  audit: Audit;
  changes: Changes;
}): Handlers<typeof routes> {
  const { digest, outbox, audit, changes } = parts;
  return {
    getDigest: () => digest.get(),
    setDigest: ({ body, caller }) => {
      audit.record(caller, 'alerts.digest', 'digest', digest.get(), body);
      digest.set(body);
      // What was collected and may not wait any more is sent now.
      if (!body.enabled) outbox.sendDigest();
      changes.publish('destinations');
      return digest.get();
    },
  };
}

export const digestPart = (digest: Digest, handlers: Handlers<typeof routes>) =>
  onePart({
    ...{ name: 'alert-digest', title: 'Daily digest of alerts', version: 1, schema: DigestInput },
    covers: ['setDigest'],
    read: () => digest.get(),
    set: (body, caller) => asked(handlers.setDigest, { body, caller }),
  });
