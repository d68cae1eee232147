// Who may reach the appliance from the network.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import type { InputsDomain } from '../../analytics/inputs/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { setting } from '../../state/settings.ts';
import type { ReplicationDomain } from '../../storage/replication/index.ts';
import type { SnmpAgentDomain } from '../../system/snmp-agent/index.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { SetupDomain } from '../setup/index.ts';
import type { SshDomain } from '../ssh/index.ts';
import type { TokensDomain } from '../tokens/index.ts';
import { alertClasses, firewallDiffers } from './alerts.ts';
import { Firewall } from './firewall.ts';
import { routes } from './routes.ts';
import { firewallPart } from './settings-part.ts';

/** How often what is loaded is compared: that starts a program. */
const COMPARE_EVERY_MS = 60_000;

/** A document of this appliance's has been kept once: were it lost, nothing would be opened that was not. */
const guarded = setting<boolean>('firewall.guarded');

type Parts = Kernel &
  AuditDomain &
  AlertsDomain &
  SetupDomain &
  TokensDomain &
  InputsDomain &
  ReplicationDomain &
  SnmpAgentDomain &
  SshDomain;

export const firewallDomain = domain({
  name: 'access/firewall',
  routes,
  alertClasses,
  topics: ['firewall'],
  settings: [guarded],
  create: (parts: Parts) => {
    const { conditions, settings, setup, onInputsChanged, onReplicationPort } = parts;
    // Decided before the first set-up can end.
    const wasSetUp = setup.completed();
    const firewall = new Firewall({
      ...parts,
      wasOpen: () => wasSetUp && settings.get(guarded) === undefined,
      kept: () => settings.get(guarded) === true || settings.set(guarded, true),
    });
    onInputsChanged(() => firewall.follow());
    onReplicationPort(() => firewall.follow());
    /** What was on when the rules were last made to follow. */
    let followed = '';
    return {
      handlers: {
        getFirewall: () => firewall.get(),
        tryFirewall: ({ body, caller }) => firewall.try(body, caller),
        confirmFirewall: ({ caller }) => firewall.confirm(caller),
        cancelFirewall: ({ caller }) => firewall.cancel(caller),
      },
      settingsParts: [firewallPart(firewall)],
      periodic: [{ everyMs: COMPARE_EVERY_MS, run: () => firewall.follow() }],
      watch: [
        {
          // No program is started as long as nothing was switched on or off.
          look: async () => {
            const now = JSON.stringify(await firewall.facts());
            return async () => {
              if (now !== followed) await firewall.follow();
              followed = now;
              const differs = firewall.differs();
              conditions.report(firewallDiffers, differs === null ? [] : [{ args: { differs } }]);
            };
          },
        },
      ],
    };
  },
});
