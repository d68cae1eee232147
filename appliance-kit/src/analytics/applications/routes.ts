// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import {
  ApplicationDetail,
  ApplicationList,
  ApplicationName,
  ApplicationQuery,
  ApplicationRules,
  ApplicationRulesInput,
  ApplicationsQuery,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listApplications: { method: 'GET', path: '/api/applications', access: 'viewer', summary: 'The applications that follow a convention: operations a second, failures, durations', query: ApplicationsQuery, answer: ok(ApplicationList) },
  getApplication: { method: 'GET', path: '/api/applications/:name', access: 'viewer', summary: 'One application with its operations and its hosts', params: ApplicationName, query: ApplicationQuery, answer: ok(ApplicationDetail) },
  getApplicationNaming: { method: 'GET', path: '/api/application-naming', access: 'viewer', summary: 'The rules by which names without labels are applications', answer: ok(ApplicationRules), editable: ApplicationRulesInput },
  setApplicationNaming: { method: 'PUT', path: '/api/application-naming', access: 'operator', summary: 'Say which part of a name is the application', body: ApplicationRulesInput, answer: ok(ApplicationRules) },
} as const satisfies Routes;
