// What this domain answers, and who may ask.

import { ok, type Routes, stream } from '../../http/routes.ts';
import { LiveLogQuery, LiveRequestQuery, LogPage, LogQuery, RequestPage, RequestQuery } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  readLogs: { method: 'GET', path: '/api/logs', access: 'operator', summary: 'Lines of the logs, the newest first', query: LogQuery, answer: ok(LogPage) },
  followLogs: { method: 'GET', path: '/api/logs/live', access: 'operator', summary: 'Lines of the logs as they come: server-sent events, each a LogLine', query: LiveLogQuery, answer: stream({ 'text/event-stream': null }) },
  readRequests: { method: 'GET', path: '/api/web-requests', access: 'operator', summary: 'Requests that the web server answered, the newest first', query: RequestQuery, answer: ok(RequestPage) },
  followRequests: { method: 'GET', path: '/api/web-requests/live', access: 'operator', summary: 'Requests as they are answered: server-sent events, each an HttpRequest', query: LiveRequestQuery, answer: stream({ 'text/event-stream': null }) },
} as const satisfies Routes;
