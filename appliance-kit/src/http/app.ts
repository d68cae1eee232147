// Serves the route table: each request passes the gate, is checked against the table's schemas, handed to its
// domain's handler, and every error on the way becomes a problem document.
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { onBehalfOf } from '../base/on-behalf-of.ts';
import { logFailure } from '../base/problems/log-failure.ts';
import { asProblem, fail, type ProblemCode, ProblemError, problem } from '../base/problems/problem.ts';
import type { Problem } from '../base/problems/schema.ts';
import { fromText, mustFit } from '../base/validate.ts';
import { createEtags, type Etags, isKnown, wholeTag } from './etags.ts';
import type { Caller } from './gate/caller.ts';
import { admit, type GateParts, identify } from './gate/gate.ts';
import type { Handler } from './handlers.ts';
import type { Route, Routes } from './routes.ts';

/** Far more than any form here sends; a route can say that it takes more. */
export const LARGEST_BODY = 1024 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Fastify's own refusals, in our codes. */
function asKnownProblem(error: unknown, bodyLimit: number | undefined): Problem | undefined {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('body_too_large', `The body is larger than ${bodyLimit ?? LARGEST_BODY} bytes.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem(
        'unsupported_media_type',
        'The body is not declared as JSON.',
        'Send Content-Type: application/json.',
      );
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('malformed_json', `The body cannot be read as JSON: ${(error as Error).message}`);
  }
  if (error instanceof SyntaxError)
    return problem('malformed_json', `The body cannot be read as JSON: ${error.message}`);
  if (statusCode !== undefined && statusCode < 500) return problem('invalid_request', (error as Error).message);
  return undefined;
}

export function sendProblem(reply: FastifyReply, content: Problem): void {
  // Serialised here: a problem must be answerable whatever else is wrong.
  reply.code(content.status).type('application/problem+json').send(JSON.stringify(content));
}

/** Routes, each with the handler that its domain provides. */
export interface Served {
  readonly routes: Routes;
  readonly handlers: Readonly<Record<string, unknown>>;
}

/** What somebody who is known asked for and may not. */
export interface Refusal {
  readonly caller: Caller;
  readonly request: FastifyRequest;
  /** The path as it is declared. */
  readonly path: string;
  readonly problem: Problem;
}
/** A stranger's requests, and those that only lack the password of the last minutes, are none. */
const REFUSALS: ReadonlySet<string> = new Set<ProblemCode>(['forbidden', 'out_of_origin']);

export function createApp(parts: {
  gate: GateParts;
  served: readonly Served[];
  /** Told of each refusal. */
  refused: (refusal: Refusal) => void;
  /** Asked before each change, by the operation id of its route; throws what stands against it. */
  mayWrite: (route: string) => Promise<void>;
  /** Told of each change that succeeded, before it is answered. */
  wrote: (route: string, caller: Caller) => Promise<void>;
  log: Log;
  clock: Clock;
}): FastifyInstance {
  const { gate, served, refused, mayWrite, wrote, log, clock } = parts;
  const app = Fastify({
    logger: false,
    bodyLimit: LARGEST_BODY,
    // nginx keeps its connections to us open; a slow client is its business. This is for a peer that hangs.
    connectionTimeout: 0,
    keepAliveTimeout: 75_000,
    requestTimeout: 60_000,
    // Closing ends idle keep-alive connections and lets the busy ones finish.
    forceCloseConnections: 'idle',
    // A name is one segment; how long each may be is in its schema.
    routerOptions: { maxParamLength: 4096 },
    // Refusals from before there is a route: an address that cannot be decoded, for instance.
    frameworkErrors: (error, _request, reply) => sendProblem(reply, problem('invalid_request', error.message)),
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    if (text === '') return done(null, undefined);
    try {
      done(null, JSON.parse(text as string));
    } catch (error) {
      done(error as Error);
    }
  });

  app.decorateRequest('caller', null);

  app.setErrorHandler((error, request, reply) => {
    const known = error instanceof ProblemError ? error.problem : asKnownProblem(error, request.routeOptions.bodyLimit);
    if (known === undefined) {
      log.error('a request failed', {
        method: request.method,
        path: request.routeOptions.url ?? '-',
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
    const { caller } = request;
    if (known !== undefined && REFUSALS.has(known.code) && caller !== null && caller.name !== '') {
      try {
        refused({ caller, request, path: request.routeOptions.url ?? '-', problem: known });
      } catch (unwritten) {
        logFailure(log, 'a refusal was not recorded', unwritten, { path: request.routeOptions.url ?? '-' });
      }
    }
    sendProblem(reply, known ?? asProblem(error));
  });

  app.setNotFoundHandler((request, reply) => {
    sendProblem(reply, problem('not_found', `There is nothing at ${request.method} ${request.url.slice(0, 200)}.`));
  });

  const all = served.flatMap(({ routes, handlers }) =>
    // Each domain's types tie its handlers to its routes; here they are all alike.
    Object.entries(routes).map(([id, route]) => ({ id, route, handler: handlers[id] as Handler<Route> })),
  );
  const etags = createEtags(
    served.map(({ routes }) => routes),
    clock,
  );
  const handlerOf = (wanted: Route) => all.find(({ route }) => route === wanted)?.handler as Handler<Route>;
  const told = async (id: string, caller: Caller) => {
    try {
      await wrote(id, caller);
    } catch (error) {
      logFailure(log, 'a change was not noted', error, { path: id });
    }
  };
  for (const { id, route, handler } of all) {
    app.route({
      method: route.method,
      ...(route.maxBytes !== undefined && { bodyLimit: route.maxBytes }),
      url: route.path,
      // HEAD would be answered by running the handler, and nothing here asks for it.
      exposeHeadRoute: false,
      onRequest: async (request) => {
        request.caller = identify(gate, request);
        admit(gate, route, request, request.caller);
      },
      handler: (request, reply) => serve({ id, route, handler, handlerOf, etags, mayWrite, told }, request, reply),
    });
  }
  return app;
}

interface Serving {
  readonly id: string;
  readonly route: Route;
  readonly handler: Handler<Route>;
  readonly handlerOf: (route: Route) => Handler<Route>;
  readonly etags: Etags;
  readonly mayWrite: (id: string) => Promise<void>;
  readonly told: (id: string, caller: Caller) => Promise<void>;
}

async function serve(
  { id, route, handler, handlerOf, etags, mayWrite, told }: Serving,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (route.body === undefined && request.body != null && JSON.stringify(request.body) !== '{}') {
    throw fail('unknown_field', 'This request takes no body.');
  }
  if (route.query === undefined && Object.keys(request.query as object).length > 0) {
    throw fail(
      'unknown_field',
      `This request takes no query, but has ${Object.keys(request.query as object).join(', ')}.`,
    );
  }
  const call = {
    params: route.params && mustFit(route.params, request.params, 'path'),
    query: route.query && fromText(route.query, request.query, 'query'),
    body: route.body && mustFit(route.body, request.body, 'body'),
    caller: request.caller as Caller,
    request,
    reply,
  };
  const isWrite = route.method !== 'GET';
  if (isWrite) await mayWrite(id);
  const work = async () => handler(call as never);
  const read = async (get: Route) => handlerOf(get)({ ...call, query: {}, body: undefined } as never);
  const result = await onBehalfOf.run(call.caller.name, () =>
    etags.guarded({ route, request, caller: call.caller, read }, work),
  );
  if (isWrite) await told(id, call.caller);
  if (route.answer.stream !== undefined) return reply;
  reply.code(route.answer.status);
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  if (route.answer.schema === null) return reply.send();
  // Plain JSON: the handler's type is the schema's, and the tests hold every answer against it.
  const { body, header } = etags.mark(route, result);
  if (header !== undefined) reply.header('etag', header);
  const text = JSON.stringify(body);
  if (route.conditional) {
    const tag = wholeTag(text);
    reply.header('etag', tag);
    if (isKnown(tag, request.headers['if-none-match'])) return reply.code(304).send();
  }
  return reply.type('application/json').send(text);
}
