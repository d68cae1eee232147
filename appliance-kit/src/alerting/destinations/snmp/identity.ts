// Who this appliance is in SNMPv3, for as long as its state lives.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { type Settings, setting } from '../../../state/settings.ts';
import type { SnmpIdentity } from './send.ts';

/** RFC 3411's SnmpEngineID: net-snmp's enterprise number with the first bit set, format 128 (octets, ours to choose). */
const PREFIX = '80001f8880';

const engineIdSetting = setting<string>('snmp.engine_id');
/** How often akd was started: traps of an engine are distinguished by it (RFC 3414). */
const engineBootsSetting = setting<number>('snmp.engine_boots');
export const snmpSettings = [engineIdSetting, engineBootsSetting];

export function snmpIdentity(settings: Settings, clock: Clock): SnmpIdentity {
  let engineId = settings.get(engineIdSetting);
  if (engineId === undefined) {
    engineId = PREFIX + randomBytes(8).toString('hex');
    settings.set(engineIdSetting, engineId);
  }
  const engineBoots = (settings.get(engineBootsSetting) ?? 0) + 1;
  settings.set(engineBootsSetting, engineBoots);
  const startedAt = clock.now();
  return { engineId, engineBoots, engineSeconds: () => Math.max(0, clock.now() - startedAt) / 1000 };
}
