// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { Network, NetworkToken, NetworkTryInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getNetwork: { method: 'GET', path: '/api/network', access: 'administrator', summary: 'The addresses of the machine: what is set, what there is, what is being tried', answer: ok(Network) },
  tryNetwork: { method: 'POST', path: '/api/network/try', access: 'administrator', confirm: true, summary: 'Change the network, for two minutes unless it is confirmed at an address that then holds', body: NetworkTryInput, answer: ok(Network) },
  confirmNetwork: { method: 'POST', path: '/api/network/confirm', access: 'anyone', summary: 'Keep the change of the network that is being tried, by its token', body: NetworkToken, answer: nothing },
  cancelNetwork: { method: 'POST', path: '/api/network/cancel', access: 'administrator', summary: 'Take back the change of the network that is being tried', answer: ok(Network) },
} as const satisfies Routes;
