// Logs are read by supportd, which may; these routes only add who may see them.

import http from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { Places } from '../../http/gate/places.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Peer } from '../../peers/peer.ts';
import { type LogReader, logQuery, queryText } from './reader.ts';
import type { routes } from './routes.ts';
import type { RequestPage } from './schema.ts';

/** Until the stream of a log begins. */
const DEADLINE_MS = 15_000;
/** How often it is looked whether who reads a log may still do so. */
const ALLOWED_MS = 15_000;
/** Pages, in all and of one caller. */
const [MOST, MOST_OF_ONE] = [40, 10];

export function logRoutes(
  supportd: Peer,
  logs: LogReader,
  identify: (request: FastifyRequest) => Caller,
): Handlers<typeof routes> {
  const read = (path: string) => logs.ask(path);
  const places = new Places(MOST, MOST_OF_ONE, 'pages are reading logs');

  /** Passes supportd's server-sent events on until either side ends. */
  const follow = async (path: string, caller: Caller, reply: FastifyReply, stillAllowed: () => boolean) => {
    // Before anything is waited for: those who come meanwhile are counted as well.
    const leave = places.take(caller);
    try {
      await passOn(path, reply, stillAllowed);
    } finally {
      leave();
    }
  };

  const passOn = async (path: string, reply: FastifyReply, stillAllowed: () => boolean) => {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const sent = http.get(
        { socketPath: supportd.socketPath, path, agent: false, headers: { host: 'supportd' } },
        resolve,
      );
      sent.setTimeout(DEADLINE_MS, () => sent.destroy(new Error('timed out')));
      // A log is quiet for as long as nothing happens.
      sent.on('response', () => sent.setTimeout(0));
      sent.on('error', (error) => reject(supportd.unavailable(error)));
    });
    if (response.statusCode !== 200) {
      response.destroy();
      // The same question without following it has the reason.
      await read(path.replace('/live', ''));
      throw fail('service_unavailable', 'The log cannot be followed.');
    }
    reply.hijack();
    reply.raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const timer = setInterval(() => {
      if (stillAllowed()) reply.raw.write(': still here\n\n');
      else reply.raw.end();
    }, ALLOWED_MS);
    reply.raw.on('close', () => response.destroy());
    await pipeline(response, reply.raw).catch(() => response.destroy());
    clearInterval(timer);
  };

  /** A browser whose connection broke asks again with what it had received last. */
  const goOn = ({ headers }: FastifyRequest) => {
    const last = headers['last-event-id'];
    return typeof last === 'string' && last !== '' ? { after: last } : {};
  };

  return {
    readLogs: ({ query: asked }) => logs.page(asked),
    readRequests: async ({ query: asked }) => {
      const { requests, ...rest } = (await read(`/requests${queryText(asked)}`)) as Omit<RequestPage, 'items'> & {
        requests: RequestPage['items'];
      };
      return { items: requests, ...rest };
    },
    followLogs: async ({ query: asked, caller, request, reply }) => {
      await follow(
        `/logs/live${logQuery({ ...asked, ...goOn(request) })}`,
        caller,
        reply,
        () => identify(request).role !== null,
      );
      return undefined;
    },
    followRequests: async ({ query: asked, caller, request, reply }) => {
      await follow(
        `/requests/live${queryText({ ...asked, ...goOn(request) })}`,
        caller,
        reply,
        () => identify(request).role !== null,
      );
      return undefined;
    },
  };
}
