// Whether ssh is on. The setting is kept here; execd is given who may come in by it (`ssh.configure`), and again whenever that is
// no longer the same: a key, a user, a second factor that is due, the machine's own networks, the end.

import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { turns } from '../../base/turns.ts';
import { appliance, type Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { FirewallPlatform } from '../../platform/firewall.ts';
import { SSH_ACCOUNT, SSH_PORT, type SshAccess, type SshPlatform } from '../../platform/ssh.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import { asNetwork, networkProblem } from '../tokens/index.ts';
import type { Keys } from './keys.ts';
import type { SshAccess as Shown, SshAccessInput } from './schema.ts';
import * as stored from './settings.ts';

export const LONGEST_MS = 30 * 24 * 60 * 60 * 1000;

export interface AccessParts {
  readonly platform: { readonly ssh: SshPlatform | null; readonly firewall: Pick<FirewallPlatform, 'read'> };
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly keys: Keys;
  readonly log: Log;
  readonly audit: Audit;
  readonly changes: Changes;
}

const NOT_HERE = 'Users of the appliance cannot come in by ssh on this system.';

function refuse(path: string, message: string): never {
  throw fail('invalid_request', `ssh was not changed: ${message}.`, undefined, [{ path, message }]);
}

const shownOf = ({ until, networks }: stored.KeptAccess) => ({
  enabledUntil: until === null ? null : iso(until),
  networks: [...networks],
});

export class Access {
  readonly #parts: AccessParts;
  #own: readonly string[] = [];
  #hostKey: string | null = null;
  #problem: string | null = null;
  /** What execd was given last, and whether it took it. */
  #given: string | null = null;
  readonly #inTurn = turns();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  #kept(): stored.KeptAccess {
    return this.#parts.settings.get(stored.access) ?? stored.OFF;
  }

  /** From where users may come in; null: ssh is off. */
  networks(): readonly string[] | null {
    const { until, networks } = this.#kept();
    return until !== null && until > this.#parts.clock.now() ? networks.map(asNetwork) : null;
  }

  /** The platform's part of it, or the sentence that there is none. */
  platform(): SshPlatform {
    const { ssh } = this.#parts.platform;
    if (ssh !== null) return ssh;
    throw fail('conflict', NOT_HERE, 'The manual says how its administrator gets in instead.');
  }

  get(): Shown {
    return {
      ...shownOf(this.#kept()),
      available: this.#parts.platform.ssh !== null,
      ...{ account: SSH_ACCOUNT, port: SSH_PORT, hostKey: this.#hostKey },
      ...{ ownNetworks: [...this.#own], problem: this.#problem },
    };
  }

  #wanted(): SshAccess {
    const { until } = this.#kept();
    const networks = [...new Set(this.networks()?.flatMap((one) => (one === 'own' ? this.#own : [one])))];
    // A machine without a network has nobody to let in.
    if (until === null || networks.length === 0) return { enabled: false };
    return { enabled: true, untilMs: until, networks, keys: this.#parts.keys.usable() };
  }

  async #readOwn(): Promise<void> {
    const { platform } = this.#parts;
    if (platform.ssh !== null && this.networks()?.includes('own')) this.#own = (await platform.firewall.read()).own;
  }

  async #give(): Promise<void> {
    const { ssh } = this.#parts.platform;
    if (ssh === null) return;
    const wanted = this.#wanted();
    this.#given = JSON.stringify(wanted);
    const before = [this.#hostKey, this.#problem];
    try {
      this.#hostKey = (await ssh.configure(wanted))?.fingerprint ?? null;
      this.#problem = null;
    } catch (error) {
      this.#problem = asProblem(error).detail;
      throw error;
    } finally {
      if (before[0] !== this.#hostKey || before[1] !== this.#problem) this.#parts.changes.publish('ssh');
    }
  }

  /** Its time is over: execd has seen to it by itself. */
  #end(): void {
    const { db, clock, settings, audit, changes } = this.#parts;
    const kept = this.#kept();
    if (kept.until === null || kept.until > clock.now()) return;
    db.transaction(() => {
      const after = { ...kept, until: null };
      settings.set(stored.access, after);
      audit.record(appliance, 'ssh-access.end', 'ssh', shownOf(kept), shownOf(after));
    });
    changes.publish('ssh');
  }

  /** Whenever something may have changed: nothing is done unless it has. */
  follow(): Promise<void> {
    return this.#inTurn(async () => {
      this.#end();
      if (JSON.stringify(this.#wanted()) === this.#given) return;
      await this.#give().catch((error: unknown) =>
        logFailure(this.#parts.log, 'who may come in by ssh could not be changed', error),
      );
    });
  }

  /** Once a minute, and at the start: also what did not succeed, and the machine's own networks. */
  followAll(): Promise<void> {
    return this.#inTurn(async () => {
      this.#end();
      await this.#readOwn();
      if (this.#problem !== null || JSON.stringify(this.#wanted()) !== this.#given) await this.#give();
    });
  }

  #check({ enabledUntil, networks }: SshAccessInput): stored.KeptAccess {
    const { clock } = this.#parts;
    networks.forEach((text, at) => {
      const message = text === 'own' ? null : networkProblem(text);
      if (message !== null) refuse(`/networks/${at}`, `${text} ${message}`);
    });
    if (enabledUntil === null) return { until: null, networks };
    const until = Date.parse(enabledUntil);
    if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(enabledUntil) || Number.isNaN(until)) {
      refuse('/enabledUntil', 'the end must be a time, as 2027-01-31T00:00:00Z');
    }
    if (until <= clock.now()) refuse('/enabledUntil', 'the end is over already');
    if (until > clock.now() + LONGEST_MS) refuse('/enabledUntil', 'the end is more than 30 days away');
    if (networks.length === 0) {
      refuse('/networks', 'nobody could come in; name a network, or 0.0.0.0/0 and ::/0 for everywhere');
    }
    return { until, networks };
  }

  /** Throws when execd does not take it: switched on it is off again then, and switched off it is tried again. */
  set(input: SshAccessInput, caller: Caller): Promise<Shown> {
    return this.#inTurn(async () => {
      this.platform();
      const next = this.#check(input);
      const before = this.#kept();
      const keep = (from: stored.KeptAccess, to: stored.KeptAccess, by: Caller) =>
        this.#parts.db.transaction(() => {
          this.#parts.settings.set(stored.access, to);
          const what = to.until === null ? 'off' : `on until ${iso(to.until)}`;
          this.#parts.audit.record(by, 'ssh-access.set', what, shownOf(from), shownOf(to));
        });
      // Kept before: should akd end in between, execd is given it at the next start.
      keep(before, next, caller);
      try {
        await this.#readOwn();
        if (next.until !== null && !this.#wanted().enabled) {
          refuse('/networks', 'this machine is in no network now, so own stands for none; name a network');
        }
        await this.#give();
      } catch (error) {
        if (next.until !== null) {
          keep(next, before, appliance);
          this.#problem = null;
          this.#given = null; // whatever execd has made of it, it is given again what holds
        }
        throw error;
      } finally {
        this.#parts.changes.publish('ssh');
      }
      return this.get();
    });
  }
}
