// Who this appliance is in SNMPv3, for as long as its state lives.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import type { Settings } from '../../../state/settings.ts';
import type { SnmpIdentity } from './send.ts';

/** RFC 3411's SnmpEngineID: net-snmp's enterprise number with the first bit set, format 128 (octets, ours to choose). */
const PREFIX = '80001f8880';

export function snmpIdentity(settings: Settings, clock: Clock): SnmpIdentity {
  let engineId = settings.get<string>('snmp.engine_id');
  if (engineId === undefined) {
    engineId = PREFIX + randomBytes(8).toString('hex');
    settings.set('snmp.engine_id', engineId);
  }
  const engineBoots = (settings.get<number>('snmp.engine_boots') ?? 0) + 1;
  settings.set('snmp.engine_boots', engineBoots);
  const startedAt = clock.now();
  return { engineId, engineBoots, engineSeconds: () => Math.max(0, clock.now() - startedAt) / 1000 };
}
