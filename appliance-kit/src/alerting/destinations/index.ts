// Where alerts are sent: the destinations, and a way to send for each kind.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { SealedFields } from '../../state/sealed-fields.ts';
import type { AlertsDomain } from '../alerts/index.ts';
import { Deliveries } from './deliveries.ts';
import { Destinations, SECRETS } from './destinations.ts';
import { type DestinationParts, destinationActions, destinationRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { anywhere, elsewhere } from './reach.ts';
import { routes } from './routes.ts';
import { Senders } from './send.ts';
import { destinationsPart } from './settings-part.ts';
import { snmpIdentity, snmpSettings } from './snmp/identity.ts';
import { SnmpSender } from './snmp/send.ts';

export { authorityProblem, describeAuthority } from './authority.ts';
export type { Destinations, StoredDestination } from './destinations.ts';
export { anywhere, elsewhere, type Reach } from './reach.ts';
export { Refused } from './refused.ts';
export { Authority, type ExchangeLine, TestResult } from './schema.ts';
export { ENTERPRISE } from './snmp/oids.ts';

export interface DestinationsDomain {
  readonly destinations: Destinations;
  readonly deliveries: Deliveries;
  readonly senders: Senders;
  /** Who this appliance is in SNMPv3. */
  readonly snmpEngineId: string;
}

export const destinationsDomain = domain({
  name: 'alerting/destinations',
  routes,
  topics: ['destinations'],
  settings: snmpSettings,
  migrations,
  create: ({
    db,
    clock,
    seal,
    log,
    settings,
    changes,
    config,
    platform,
    hostName,
    audit,
    alerts,
    routing,
  }: Kernel & AuditDomain & AlertsDomain) => {
    const snmp = snmpIdentity(settings, clock);
    const sealed = new SealedFields({ seal, log, kind: 'destination', table: 'destinations', secrets: SECRETS });
    sealed.sealStored(db);
    const destinations = new Destinations(db, clock, snmp.engineId, sealed);
    // In development the receivers run beside the appliance.
    const reach = platform.simulate === undefined ? elsewhere : anywhere;
    const senders = new Senders(new SnmpSender(join(config.state, 'snmp'), snmp), reach);
    const deliveries = new Deliveries();
    const recipients = {
      enabled: () => destinations.enabled(),
      known: (id: string) => destinations.stored(id) !== undefined,
    };
    alerts.sendTo(recipients);
    routing.sendTo(recipients);
    const routed: DestinationParts = {
      ...{ db, clock, destinations, deliveries, audit, changes, hostName, reach },
      send: (destination, message, line) => senders.send(destination, message, line),
    };
    const actions = destinationActions(routed);
    return {
      provides: { destinations, deliveries, senders, snmpEngineId: snmp.engineId } satisfies DestinationsDomain,
      handlers: destinationRoutes(routed, actions),
      settingsParts: [destinationsPart({ destinations, ...actions })],
    };
  },
});
