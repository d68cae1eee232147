// Answers nginx's auth_request: may this request go on to storaged? (docs/ARCHITECTURE.md, "The web")

import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import { addressOf, callerOf, fromOwnPages, type KnownToken, mustBeComplete } from '../../http/gate/gate.ts';
import type { TokenRole } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import { encodedLabels } from '../tokens/index.ts';
import type { routes } from './routes.ts';

/** Prometheus lets long queries be posted as forms, and remote read is a message; they change nothing. */
const READS_BY_POST =
  /^\/api\/v1\/(query|query_batch|query_range|query_exemplars|labels|series|format_query|parse_query|read|columns|histogram\/[a-z]+)$/;
const WRITERS = /^\/api\/v1\/(write|import|collectd|trap|trap\/[^/]+)$/;
/** OpenTelemetry's exporters put the first behind the endpoint they are given; the second is where Prometheus has it. */
const OTLP = ['/v1/metrics', '/api/v1/otlp/v1/metrics'];
/** Another Prometheus scrapes the newest samples here. */
const FEDERATION = '/federate';
/** InfluxDB's: where lines are written, and what its writers ask before they write. */
const INFLUX: Readonly<Record<string, readonly string[]>> = {
  '/write': ['POST'],
  '/api/v2/write': ['POST'],
  '/query': ['GET', 'POST'],
  '/ping': ['GET', 'HEAD'],
};

/** What cannot be undone. */
const DESTROYS = /^\/admin\/tsdb\//;

const FRESH_S = 10;
const DAY_S = 86_400;

/** What the request needs, or undefined when no one may. Exported for the test that lists every case. */
export function needed(method: string, uri: string): TokenRole | undefined {
  const path = uri.split('?', 1)[0] as string;
  // nginx matched the *normalised* path and we see the raw one. Where the two could differ, no one may.
  if (/\/\/|\/\.|%2e|%2f|%5c|%00|\\/i.test(path)) return undefined;
  if (path.startsWith('/admin/')) return 'administrator';
  if (OTLP.includes(path)) return method === 'POST' ? 'writer' : undefined;
  if (path === FEDERATION) return method === 'GET' || method === 'HEAD' ? 'viewer' : undefined;
  if (Object.hasOwn(INFLUX, path)) return INFLUX[path]?.includes(method) ? 'writer' : undefined;
  if (!path.startsWith('/api/v1/')) return undefined;
  if (method === 'GET' || method === 'HEAD') return 'viewer';
  if (method === 'PUT' && /^\/api\/v1\/trap(\/|$)/.test(path) && WRITERS.test(path)) return 'writer';
  if (method !== 'POST') return undefined;
  if (READS_BY_POST.test(path)) return 'viewer';
  if (WRITERS.test(path)) return 'writer';
  return undefined;
}

export function authorizeRoutes(
  identify: (request: FastifyRequest) => Caller,
  byCertificate: (pem: string, address: string) => KnownToken | undefined,
  clock: Clock,
): Handlers<typeof routes> {
  /**
   * With a certificate it is who the certificate says, or nobody. nginx sets this header in what it asks here, empty where it
   * asks nobody for a certificate (image/common/nginx); nothing else of akd goes by it.
   */
  const who = (request: FastifyRequest): Caller => {
    const certificate = request.headers['x-cistern-certificate'];
    if (certificate === undefined || certificate === '') return identify(request);
    const address = addressOf(request);
    const nobody: Caller = { name: '', role: null, by: 'anonymous', address, way: 'token' };
    if (typeof certificate !== 'string' || request.headers.authorization !== undefined) return nobody;
    let pem: string;
    try {
      pem = decodeURIComponent(certificate);
    } catch {
      return nobody;
    }
    const token = byCertificate(pem, address);
    return token === undefined ? nobody : { ...callerOf(token, address), way: 'token' };
  };
  const text = (request: FastifyRequest, name: string) => String(request.headers[name] ?? '');
  return {
    authorize: ({ request, reply }) => {
      const caller = who(request);
      const method = text(request, 'x-original-method').toUpperCase();
      const uri = text(request, 'x-original-uri');
      mustBeComplete(caller);
      if (caller.role === null)
        throw fail('unauthenticated', 'You are not signed in.', 'Sign in, or send an API token.');
      const role = needed(method, uri);
      // `writer` may only write; every other role that may write may read as well, except that a viewer may not write.
      const allowed =
        role === 'writer'
          ? caller.role === 'writer' || atLeast(caller.role, 'operator')
          : role && atLeast(caller.role, role);
      if (!allowed)
        throw fail('forbidden', `${caller.name} is ${caller.role} and may not ${method} ${uri.slice(0, 200)}.`);
      if (caller.by === 'cookie' && method !== 'GET' && method !== 'HEAD' && !fromOwnPages(request)) {
        throw fail('out_of_origin', 'A change was asked for from a page that is not this appliance’s own.');
      }
      // As for every route of akd that destroys data; a token is what programs delete with.
      if (DESTROYS.test(uri) && caller.session !== undefined && caller.session.confirmedUntil <= clock.now()) {
        throw fail('confirmation_required', 'To delete series, give your password again.');
      }
      // nginx asks again after ten seconds. While akd does not answer, metrics go on flowing for a day, and never beyond the token's end.
      const left = caller.tokenExpiresAt === undefined ? DAY_S : (caller.tokenExpiresAt - clock.now()) / 1000;
      const stale = Math.max(0, Math.min(DAY_S, Math.floor(left)) - FRESH_S);
      const fresh = Math.max(1, Math.min(FRESH_S, Math.floor(left)));
      reply.header(
        'cache-control',
        `max-age=${fresh}, stale-while-revalidate=${Math.min(stale, FRESH_S)}, stale-if-error=${stale}`,
      );
      reply.header('x-cistern-user', encodeURIComponent(caller.name));
      // storaged enforces both; nginx sends it neither from anybody else.
      const labels = encodedLabels(caller.labels ?? {});
      if (labels !== '') reply.header('x-cistern-labels', labels);
      if (caller.selector !== undefined) reply.header('x-cistern-selector', encodeURIComponent(caller.selector));
      return undefined;
    },
  };
}
