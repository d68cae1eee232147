// Reports hosts that are absent, where somebody has switched that on.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import type { Watch } from '../../poller/poller.ts';
import type { Database } from '../../state/database.ts';
import { hostSilent } from './alerts.ts';
import type { Hosts } from './hosts.ts';
import type { Host } from './schema.ts';

/** Who was here for less time has come and gone, as a container does. */
const STAYED_MS = 3_600_000;

type Known = Pick<Host, 'name' | 'state' | 'firstAt' | 'lastAt' | 'intervalSeconds'>;

/** Of one that was heard of once it is not known how often it sends. */
export const missed = (hosts: readonly Known[]) =>
  hosts.flatMap(({ name, state, firstAt, lastAt, intervalSeconds }) =>
    state === 'absent' && intervalSeconds !== null && Date.parse(lastAt) - Date.parse(firstAt) >= STAYED_MS
      ? [{ args: { host: name, since: lastAt, intervalSeconds } }]
      : [],
  );

export function hostWatch(
  parts: {
    readonly hosts: Pick<Hosts, 'look' | 'error'> & { all(): readonly Known[] };
    readonly db: Pick<Database, 'transaction'>;
    readonly routing: Pick<AlertsDomain['routing'], 'isWanted'>;
  } & Pick<AlertsDomain, 'conditions'>,
): Watch {
  const { hosts, db, conditions, routing } = parts;
  return {
    look: async () => {
      await hosts.look();
      return () => {
        // Without an answer of the store nothing is known: nothing is raised, and nothing is cleared.
        if (hosts.error !== null) return;
        const present = routing.isWanted(hostSilent.class) ? missed(hosts.all()) : [];
        // Of many that fall silent at once each would else be written to the disk for itself.
        db.transaction(() => conditions.report(hostSilent, present));
      };
    },
  };
}
