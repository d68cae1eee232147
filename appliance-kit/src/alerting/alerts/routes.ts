// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, byName, ok, type Routes, stream } from '../../http/routes.ts';
import { AcknowledgeInput, Alert, AlertExportQuery, AlertKind, AlertQuery, ClassRoute } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listAlerts: { method: 'GET', path: '/api/alerts', access: 'viewer', summary: 'Alerts, newest first', query: AlertQuery, answer: ok(list(Alert)) },
  exportAlerts: { method: 'GET', path: '/api/alert-export', access: 'viewer', summary: 'The log of alerts as a file', query: AlertExportQuery, answer: stream('text/csv', 'application/json') },
  getAlert: { method: 'GET', path: '/api/alerts/:id', access: 'viewer', summary: 'One alert', params: byId, answer: ok(Alert) },
  acknowledgeAlert: { method: 'POST', path: '/api/alerts/:id/acknowledge', access: 'operator', summary: 'Acknowledge that it is being worked on: it is not repeated and not escalated', params: byId, body: AcknowledgeInput, answer: ok(Alert) },
  withdrawAcknowledgement: { method: 'POST', path: '/api/alerts/:id/withdraw-acknowledgement', access: 'operator', summary: 'Withdraw an acknowledgement', params: byId, answer: ok(Alert) },
  listAlertClasses: { method: 'GET', path: '/api/alert-classes', access: 'viewer', summary: 'Every kind of alert that can be raised, and where it goes', answer: ok(list(AlertKind)) },
  getAlertClass: { method: 'GET', path: '/api/alert-classes/:name', access: 'viewer', summary: 'One kind of alert, and where it goes', params: byName, answer: ok(AlertKind), editable: ClassRoute },
  routeAlertClass: { method: 'PUT', path: '/api/alert-classes/:name', access: 'operator', summary: 'Decide where alerts of a class go', params: byName, body: ClassRoute, answer: ok(AlertKind) },
} as const satisfies Routes;
