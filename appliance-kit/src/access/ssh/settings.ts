// Until when users may come in by ssh, and from where; how far what they did has been taken over.
import { setting } from '../../state/settings.ts';

export interface KeptAccess {
  /** Milliseconds since the epoch; null: it is off. */
  readonly until: number | null;
  /** Addresses and networks; `own`: those that the machine has an address in. */
  readonly networks: readonly string[];
}
export const OFF: KeptAccess = { until: null, networks: ['own'] };

export const access = setting<KeptAccess>('ssh.access');
/** Where in the journal the last entry was, and when. */
export const visited = setting<{ cursor: string; since: string }>('ssh.visited');
export const settings = [access, visited];
