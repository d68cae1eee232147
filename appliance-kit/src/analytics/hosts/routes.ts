// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import {
  Host,
  HostCharts,
  HostInput,
  HostList,
  HostName,
  HostQuery,
  HostsChange,
  HostsChosen,
  HostsLabels,
  HostsRule,
  HostsSilence,
  HostValueQuery,
  HostValues,
  HostView,
  HostViewInput,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listHosts: { method: 'GET', path: '/api/hosts', access: 'viewer', summary: 'The machines that metrics come from, or those that have changed since a version', query: HostQuery, answer: ok(HostList) },
  listHostValues: { method: 'GET', path: '/api/host-values', access: 'viewer', summary: 'A value for each host: of a metric, or how long work waits; and who is unlike its peers', query: HostValueQuery, answer: ok(HostValues) },
  getHost: { method: 'GET', path: '/api/hosts/:name', access: 'viewer', summary: 'One host', params: HostName, answer: ok(Host), editable: HostInput },
  updateHost: { method: 'PUT', path: '/api/hosts/:name', access: 'operator', summary: 'Change the note and the labels that were given to a host', params: HostName, body: HostInput, answer: ok(Host) },
  listHostCharts: { method: 'GET', path: '/api/hosts/:name/charts', access: 'viewer', summary: 'Charts of what a host sends, as a worksheet takes them', params: HostName, answer: ok(HostCharts) },
  silenceHosts: { method: 'POST', path: '/api/hosts/silence', access: 'operator', summary: 'Hold back the alerts of hosts for a time', body: HostsSilence, answer: ok(HostsChange) },
  retireHosts: { method: 'POST', path: '/api/hosts/retire', access: 'operator', summary: 'Mark silent hosts as gone for good; one that is heard of again is back', body: HostsChosen, answer: ok(HostsChange) },
  restoreHosts: { method: 'POST', path: '/api/hosts/restore', access: 'operator', summary: 'Take retired hosts back', body: HostsChosen, answer: ok(HostsChange) },
  labelHosts: { method: 'POST', path: '/api/hosts/label', access: 'operator', summary: 'Give labels to hosts, and take labels away that were given', body: HostsLabels, answer: ok(HostsChange) },
  watchHosts: { method: 'POST', path: '/api/hosts/watch', access: 'operator', summary: 'Make a rule over a metric of hosts', body: HostsRule, answer: ok(HostsChange) },
  listHostViews: { method: 'GET', path: '/api/host-views', access: 'viewer', summary: 'Saved views of the hosts: one’s own and the shared ones', answer: ok(list(HostView)) },
  createHostView: { method: 'POST', path: '/api/host-views', access: 'viewer', summary: 'Save a view', body: HostViewInput, answer: created(HostView) },
  deleteHostView: { method: 'DELETE', path: '/api/host-views/:id', access: 'viewer', summary: 'Delete a view of one’s own', params: byId, answer: nothing },
} as const satisfies Routes;
