// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, byName, ok, type Routes, stream } from '../../http/routes.ts';
import { Silence } from '../silences/index.ts';
import {
  AlertGroup,
  AlertGroupQuery,
  AlertSummary,
  AlertTimes,
  GroupAlerts,
  GroupAlertsQuery,
  SilenceGroupInput,
} from './groups-schema.ts';
import { AcknowledgeInput, Alert, AlertExportQuery, AlertKind, AlertQuery, ClassRoute } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listAlerts: { method: 'GET', path: '/api/alerts', access: 'viewer', summary: 'Alerts, newest first', query: AlertQuery, conditional: true, answer: ok(list(Alert)) },
  exportAlerts: { method: 'GET', path: '/api/alert-export', access: 'viewer', summary: 'The log of alerts as a file', query: AlertExportQuery, answer: stream({ 'text/csv': null, 'application/json': list(Alert) }) },
  getAlert: { method: 'GET', path: '/api/alerts/:id', access: 'viewer', summary: 'One alert', params: byId, answer: ok(Alert) },
  acknowledgeAlert: { method: 'POST', path: '/api/alerts/:id/acknowledge', access: 'operator', summary: 'Acknowledge that it is being worked on: it is not repeated and not escalated', params: byId, body: AcknowledgeInput, answer: ok(Alert) },
  withdrawAcknowledgement: { method: 'POST', path: '/api/alerts/:id/withdraw-acknowledgement', access: 'operator', summary: 'Withdraw an acknowledgement', params: byId, answer: ok(Alert) },
  getAlertSummary: { method: 'GET', path: '/api/alert-summary', access: 'viewer', summary: 'How many alerts are active, and the worst of them', conditional: true, answer: ok(AlertSummary) },
  listAlertTimes: { method: 'GET', path: '/api/alert-times', access: 'viewer', summary: 'How long alerts took to be sent, acknowledged and cleared, by month and class', answer: ok(list(AlertTimes)) },
  listAlertGroups: { method: 'GET', path: '/api/alert-groups', access: 'viewer', summary: 'Alerts that were raised together as one, newest first', query: AlertGroupQuery, conditional: true, answer: ok(list(AlertGroup)) },
  getAlertGroup: { method: 'GET', path: '/api/alert-groups/:id', access: 'viewer', summary: 'One group of alerts', params: byId, conditional: true, answer: ok(AlertGroup) },
  listAlertsOfGroup: { method: 'GET', path: '/api/alert-groups/:id/alerts', access: 'viewer', summary: 'The alerts of a group: active ones, the worst of these first', params: byId, query: GroupAlertsQuery, conditional: true, answer: ok(GroupAlerts) },
  acknowledgeAlertGroup: { method: 'POST', path: '/api/alert-groups/:id/acknowledge', access: 'operator', summary: 'Acknowledge all active alerts of a group that nobody has acknowledged', params: byId, body: AcknowledgeInput, answer: ok(AlertGroup) },
  withdrawGroupAcknowledgement: { method: 'POST', path: '/api/alert-groups/:id/withdraw-acknowledgement', access: 'operator', summary: 'Withdraw the acknowledgements of the active alerts of a group', params: byId, answer: ok(AlertGroup) },
  silenceAlertGroup: { method: 'POST', path: '/api/alert-groups/:id/silence', access: 'operator', summary: 'Suppress what the rule or class of a group raises from now on, until a time', params: byId, body: SilenceGroupInput, answer: ok(Silence) },
  listAlertClasses: { method: 'GET', path: '/api/alert-classes', access: 'viewer', summary: 'Every kind of alert that can be raised, and where it goes', answer: ok(list(AlertKind)) },
  getAlertClass: { method: 'GET', path: '/api/alert-classes/:name', access: 'viewer', summary: 'One kind of alert, and where it goes', params: byName, answer: ok(AlertKind), editable: ClassRoute },
  routeAlertClass: { method: 'PUT', path: '/api/alert-classes/:name', access: 'operator', summary: 'Decide where alerts of a class go', params: byName, body: ClassRoute, answer: ok(AlertKind) },
} as const satisfies Routes;
