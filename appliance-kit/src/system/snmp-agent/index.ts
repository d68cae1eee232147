// What the appliance answers when it is polled by SNMP.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import type { DestinationsDomain } from '../../alerting/destinations/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { DatasetsDomain } from '../../storage/datasets/index.ts';
import type { InventoryDomain } from '../../storage/inventory/index.ts';
import type { ServicesDomain } from '../services/index.ts';
import type { StatusDomain } from '../status/index.ts';
import { Agent, agentRoutes, agentSettings, snmpAgentPart, WRITE_EVERY_MS } from './agent.ts';
import { collect } from './collect.ts';
import { routes } from './routes.ts';

type Parts = Kernel &
  AuditDomain &
  AlertsDomain &
  DestinationsDomain &
  InventoryDomain &
  DatasetsDomain &
  ServicesDomain &
  StatusDomain;

export interface SnmpAgentDomain {
  /** Whether anybody may poll. */
  readonly snmpPolled: () => boolean;
}

export const snmpAgentDomain = domain({
  name: 'system/snmp-agent',
  routes,
  settings: agentSettings,
  create: (parts: Parts) => {
    const { settings, clock, platform, log, config, snmpEngineId, audit, changes } = parts;
    const agent = new Agent({
      ...{ settings, clock, platform, log, engineId: snmpEngineId },
      file: join(config.run, 'snmp', 'objects'),
      collect: (index) => collect({ ...parts, index }),
    });
    const handlers = agentRoutes({ agent, audit, changes });
    return {
      provides: { snmpPolled: () => agent.get().enabled } satisfies SnmpAgentDomain,
      handlers,
      settingsParts: [snmpAgentPart(agent, handlers)],
      periodic: [{ everyMs: WRITE_EVERY_MS, run: () => agent.write() }],
      stop: () => agent.stop(),
    };
  },
});
