// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { Firewall, FirewallTryInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getFirewall: { method: 'GET', path: '/api/firewall', access: 'administrator', summary: 'Who may reach which service, as it is loaded; and who was turned away within the last hour', answer: ok(Firewall) },
  tryFirewall: { method: 'POST', path: '/api/firewall/try', access: 'administrator', confirm: true, summary: 'Change who may reach services, for a minute unless it is confirmed', body: FirewallTryInput, answer: ok(Firewall) },
  confirmFirewall: { method: 'POST', path: '/api/firewall/confirm', access: 'administrator', confirm: true, summary: 'Keep the change of the firewall that is being tried', answer: ok(Firewall) },
  cancelFirewall: { method: 'POST', path: '/api/firewall/cancel', access: 'administrator', summary: 'Take back the change of the firewall that is being tried', answer: ok(Firewall) },
} as const satisfies Routes;
