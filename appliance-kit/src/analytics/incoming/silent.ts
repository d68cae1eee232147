// Which hosts have stopped sending, without that anybody wrote a rule. Whether one is absent is what Hosts says of it.
import type { Host } from '../hosts/index.ts';

/** Who sent nothing for longer is gone, and not missed any more. */
const MISSED_MS = 24 * 60 * 60 * 1000;

export interface SilentHosts {
  /** Hosts that sent something within the last day, without those that are retired. */
  readonly total: number;
  /** Those of them that should have sent since, the one that is silent longest first. */
  readonly silent: readonly { readonly name: string; readonly since: string }[];
}

type Known = Pick<Host, 'name' | 'state' | 'lastAt' | 'intervalSeconds'>;

export function silentHosts(hosts: readonly Known[], now: number): SilentHosts {
  const known = hosts.filter(({ state, lastAt }) => state !== 'retired' && now - Date.parse(lastAt) <= MISSED_MS);
  const silent = known
    // Of one that sent only once it is not known how often it does.
    .filter(({ state, intervalSeconds }) => state === 'absent' && intervalSeconds !== null)
    .map(({ name, lastAt }) => ({ name, since: lastAt }))
    .sort((a, b) => a.since.localeCompare(b.since) || (a.name < b.name ? -1 : 1));
  return { total: known.length, silent };
}
