// Support bundles belong to supportd, which needs nothing of akd; these routes only add who may, and the record of it.

import http from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Audit } from '../../access/audit/index.ts';
import { fail } from '../../base/problems/problem.ts';
import { Places } from '../../http/gate/places.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Peer } from '../../peers/peer.ts';
import type { routes } from './routes.ts';
import type { Bundle, BundleOptions } from './schema.ts';

const DEADLINE_MS = 10_000;
/** How often a bundle that is being made is polled, so that pages can be informed. */
const WATCH_MS = 1_000;
/** Headers of supportd's answer that mean something to the browser. */
const PASSED_ON = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'content-disposition',
  'etag',
  'last-modified',
  // nginx then sends the file itself.
  'x-accel-redirect',
];

export function bundleRoutes(parts: { supportd: Peer; audit: Audit; changes: Changes }): Handlers<typeof routes> {
  const { supportd, audit, changes } = parts;
  const path = (id: string, rest = '') => `/bundles/${encodeURIComponent(id)}${rest}`;
  const get = async (id: string) =>
    (await supportd.call({ method: 'GET', path: path(id), deadlineMs: DEADLINE_MS })) as Bundle;

  /** Informs pages about its progress until it is made. Never keeps akd from ending. */
  const watch = (id: string) => {
    const timer = setInterval(async () => {
      const state = await get(id).then(
        (bundle) => bundle.state,
        () => 'failed',
      );
      changes.publish('bundles', id);
      if (state !== 'building') clearInterval(timer);
    }, WATCH_MS);
    timer.unref();
  };

  const places = new Places(8, 4, 'bundles are being downloaded');
  return {
    listBundles: async () => {
      const answer = await supportd.call({ method: 'GET', path: '/bundles', deadlineMs: DEADLINE_MS });
      return { items: (answer as { bundles: Bundle[] }).bundles };
    },
    createBundle: async ({ body, caller }) => {
      const bundle = (await supportd.call({
        method: 'POST',
        path: '/bundles',
        json: body,
        deadlineMs: DEADLINE_MS,
      })) as Bundle;
      audit.record(caller, 'bundle.create', bundle.name);
      changes.publish('bundles', bundle.id);
      watch(bundle.id);
      return bundle;
    },
    getBundle: ({ params }) => get(params.id),
    retryBundle: async ({ params, caller }) => {
      const request = { method: 'POST', path: path(params.id, '/retry'), deadlineMs: DEADLINE_MS } as const;
      const bundle = (await supportd.call(request)) as Bundle;
      audit.record(caller, 'bundle.retry', bundle.name);
      changes.publish('bundles', bundle.id);
      watch(bundle.id);
      return bundle;
    },
    getBundleOptions: async () =>
      (await supportd.call({ method: 'GET', path: '/bundle-options', deadlineMs: DEADLINE_MS })) as BundleOptions,
    deleteBundle: async ({ params, caller }) => {
      await supportd.call({ method: 'DELETE', path: path(params.id), deadlineMs: DEADLINE_MS });
      audit.record(caller, 'bundle.delete', params.id);
      changes.publish('bundles', params.id);
      return undefined;
    },
    downloadBundle: ({ params, request, reply, caller }) =>
      places.during(caller, async () => {
        const { range, 'if-range': ifRange, 'x-cistern-accel': accel } = request.headers;
        const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
          const sent = http.get(
            {
              socketPath: supportd.socketPath,
              path: path(params.id, '/content'),
              agent: false,
              timeout: DEADLINE_MS,
              headers: {
                host: supportd.name,
                ...(range && { range }),
                ...(ifRange && { 'if-range': String(ifRange) }),
                ...(accel && { 'x-cistern-accel': '1' }),
              },
            },
            resolve,
          );
          sent.on('timeout', () => sent.destroy(new Error('timed out')));
          sent.on('error', (error) => reject(supportd.unavailable(error)));
        });
        const status = response.statusCode ?? 502;
        if (status === 404 || status === 409) {
          response.resume();
          throw fail(
            status === 404 ? 'not_found' : 'conflict',
            `There is no finished bundle ${params.id} on the appliance.`,
            'The page Maintenance says what became of it.',
          );
        }
        // Also a part of it: who resumes a download is counted, and who reads all but the first byte is noticed.
        if (status === 200 || status === 206) audit.recordRepeated(caller, 'bundle.download', params.id, null);
        reply.hijack();
        const headers = PASSED_ON.flatMap((name) => {
          const value = response.headers[name];
          return value === undefined ? [] : [[name, value] as const];
        });
        reply.raw.writeHead(status, Object.fromEntries(headers));
        // The client going away, or supportd dying, ends both sides; what was sent so far can be resumed by Range.
        await pipeline(response, reply.raw).catch(() => response.destroy());
        return undefined;
      }),
  };
}
