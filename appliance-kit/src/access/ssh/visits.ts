// What users did by ssh, in the audit log. The shell writes it to the journal, which keeps it while akd is away; supportd reads it
// from there. Each is recorded once: where the journal was read to is written together with the entries.
import { type Clock, iso } from '../../base/clock.ts';
import { closed, type Static, Type } from '../../base/schema/schema.ts';
import { fits } from '../../base/validate.ts';
import type { Peer } from '../../peers/peer.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import type { Keys } from './keys.ts';
import * as stored from './settings.ts';

const Answer = closed({
  cursor: Type.String({ maxLength: 1_000 }),
  more: Type.Boolean(),
  entries: Type.Array(
    closed({
      time: Type.String(),
      user: Type.String(),
      address: Type.String(),
      action: Type.String({ pattern: '^ssh\\.[a-z-]+$' }),
      command: Type.String(),
      key: Type.String(),
    }),
  ),
});

const DEADLINE_MS = 20_000;
/** So long after its end it is read on: the last lines come late. */
const AFTER_MS = 10 * 60_000;
/** Answers in a row; the rest comes the next time. */
const MOST_AT_ONCE = 10;

export interface VisitsParts {
  readonly db: Database;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly keys: Pick<Keys, 'used'>;
  readonly supportd: Peer;
}

export class Visits {
  readonly #parts: VisitsParts;
  /** Until when it is read; the first time it is not known how long akd was away. */
  #until: number;

  constructor(parts: VisitsParts) {
    this.#parts = parts;
    this.#until = parts.clock.monotonic() + AFTER_MS;
  }

  /** As long as ssh is on, each time before `read`. */
  on(): void {
    const { settings, clock } = this.#parts;
    this.#until = clock.monotonic() + AFTER_MS;
    // What there was before is nobody's visit.
    if (settings.get(stored.visited) === undefined) {
      settings.set(stored.visited, { cursor: '', since: iso(clock.now() - 1_000) });
    }
  }

  /** supportd may be away: the journal has it still when it comes back. */
  async read(): Promise<void> {
    const { settings, supportd, clock } = this.#parts;
    if (clock.monotonic() > this.#until) return;
    for (let n = 0; n < MOST_AT_ONCE; n++) {
      const before = settings.get(stored.visited);
      if (before === undefined) return;
      const path = `/ssh-entries?cursor=${encodeURIComponent(before.cursor)}&since=${encodeURIComponent(before.since)}`;
      const answer = await supportd.call({ method: 'GET', path, deadlineMs: DEADLINE_MS }).catch(() => null);
      if (!fits(Answer, answer)) return;
      const given = answer as Static<typeof Answer>;
      if (given.cursor !== before.cursor) this.#record(given, before.since);
      if (!given.more || given.cursor === before.cursor) return;
    }
  }

  #record({ entries, cursor }: Static<typeof Answer>, since: string): void {
    const { db, settings, clock, audit, keys } = this.#parts;
    db.transaction(() => {
      for (const { time, user, address, action, command, key } of entries) {
        const read = Date.parse(time);
        const at = Number.isNaN(read) ? clock.now() : read;
        const session = action === 'ssh.sign-in' || action === 'ssh.sign-out';
        const by = { name: user, address, way: 'ssh' } as const;
        audit.recordLater(by, at, action, session ? user : command, session ? { fingerprint: key } : null);
        if (action === 'ssh.sign-in') keys.used(key, at);
      }
      settings.set(stored.visited, { cursor, since: entries.at(-1)?.time ?? since });
    });
  }
}
