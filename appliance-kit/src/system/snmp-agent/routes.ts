// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { SnmpAgent, SnmpAgentInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getSnmpAgent: { method: 'GET', path: '/api/snmp-agent', access: 'viewer', summary: 'Who may poll this appliance by SNMP', answer: ok(SnmpAgent), editable: SnmpAgentInput },
  setSnmpAgent: { method: 'PUT', path: '/api/snmp-agent', access: 'administrator', confirm: true, summary: 'Decide who may poll this appliance by SNMP', body: SnmpAgentInput, answer: ok(SnmpAgent) },
} as const satisfies Routes;
