// What was done at supportd's own page, which is there when akd is not: supportd keeps it in a file, and it is taken over
// from there, each entry once.
import type { Clock } from '../../base/clock.ts';
import { closed, type Static, Type } from '../../base/schema/schema.ts';
import { fits } from '../../base/validate.ts';
import type { Peer } from '../../peers/peer.ts';
import type { Database } from '../../state/database.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Audit } from './audit.ts';

const Answer = closed({
  log: Type.String({ maxLength: 64 }),
  dropped: Type.Integer({ minimum: 0 }),
  entries: Type.Array(
    closed({
      number: Type.Integer({ minimum: 1 }),
      time: Type.String(),
      user: Type.String(),
      address: Type.String(),
      action: Type.String({ pattern: '^support\\.[a-z-]+$' }),
      target: Type.String(),
    }),
  ),
});

/** The last entry that was taken over, and of which of supportd's files. */
export const handedInSetting = setting<{ log: string; number: number; dropped: number }>('audit.handed-in');

const DEADLINE_MS = 10_000;

export interface HandingIn {
  readonly db: Database;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly supportd: Peer;
}

/** Once a minute. supportd may be away: what it has is still there when it comes back. */
export async function takeOver({ db, settings, clock, audit, supportd }: HandingIn): Promise<void> {
  const before = settings.get(handedInSetting) ?? { log: '', number: 0, dropped: 0 };
  const path = `/audit-entries?log=${encodeURIComponent(before.log)}&after=${before.number}`;
  const answer = await supportd.call({ method: 'GET', path, deadlineMs: DEADLINE_MS }).catch(() => null);
  if (!fits(Answer, answer)) return;
  const { log, dropped, entries } = answer as Static<typeof Answer>;
  const known = log === before.log ? before.dropped : 0;
  const lost = dropped - known;
  if (entries.length === 0 && lost <= 0 && log === before.log) return;
  // Together with how far it is: either both are written or neither is.
  db.transaction(() => {
    const supportdItself = { name: 'appliance', address: 'local', way: 'support' } as const;
    if (lost > 0)
      audit.record(supportdItself, 'support.dropped', 'entries of the support page', null, { entries: lost });
    for (const { time, user, address, action, target } of entries) {
      const at = Date.parse(time);
      const by = { name: user, address, way: 'support' } as const;
      audit.recordLater(by, Number.isNaN(at) ? clock.now() : at, action, target, null);
    }
    settings.set(handedInSetting, {
      log,
      number: entries.at(-1)?.number ?? (log === before.log ? before.number : 0),
      dropped,
    });
  });
}
