// ssh for users of the appliance: off unless an administrator switches it on for a time.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { FactorsDomain } from '../factors/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { Access } from './access.ts';
import { keyAdder, sshRoutes } from './handlers.ts';
import { Keys } from './keys.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { settings } from './settings.ts';
import { sshKeysPart } from './settings-part.ts';
import { Visits } from './visits.ts';

export interface SshDomain {
  /** From where users may come in by ssh; null: it is off. */
  readonly sshNetworks: () => readonly string[] | null;
}

const EVERYTHING_EVERY_MS = 60_000;
const VISITS_EVERY_MS = 10_000;

export const sshDomain = domain({
  name: 'access/ssh',
  routes,
  topics: ['ssh'],
  settings,
  migrations,
  create: (parts: Kernel & AuditDomain & UsersDomain & FactorsDomain) => {
    const { changes } = parts;
    const keys = new Keys(parts);
    const access = new Access({ ...parts, keys });
    const visits = new Visits({ ...parts, keys });
    // Who may no longer sign in is out at once, and not when the poller comes by.
    const stopListening = changes.listen(({ topic }) => {
      if (topic !== 'users') return;
      // Why a key is of no use may be another reason now.
      changes.publish('ssh');
      queueMicrotask(() => void access.follow());
    });
    const routed = { ...parts, keys, access, visits };
    const add = keyAdder(routed);
    const handlers = sshRoutes(routed, add);
    const available = parts.platform.ssh !== null;
    return {
      provides: { sshNetworks: () => access.networks() } satisfies SshDomain,
      handlers,
      settingsParts: [sshKeysPart({ users: parts.users, keys, access, available, add, handlers })],
      periodic: [
        { everyMs: EVERYTHING_EVERY_MS, run: () => access.followAll() },
        {
          everyMs: VISITS_EVERY_MS,
          run: () => {
            if (access.networks() !== null) visits.on();
            return visits.read();
          },
        },
      ],
      // The end, and a second factor that is due, come by themselves.
      watch: [{ look: async () => () => access.follow() }],
      stop: stopListening,
    };
  },
});
