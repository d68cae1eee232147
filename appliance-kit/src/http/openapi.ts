// Writes routes down as OpenAPI 3.1. TypeBox schemas are JSON Schema already, so this only gives the
// named ones a place under components and puts a $ref where they were used.
import { Problem } from '../base/problems/schema.ts';
import type { TSchema } from '../base/schema/schema.ts';
import { editedBy } from './etags.ts';
import type { Route, Routes } from './routes.ts';

type Json = Record<string, unknown>;

const etag = {
  description: 'Its version, over what can be edited. What changes by itself does not change it',
  schema: { type: 'string' },
};
const answerTag = { description: 'Of the answer as a whole', schema: { type: 'string' } };
const ifMatch = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of what was loaded; when it is another by now, nothing is written. Left out: it is written anyway',
  schema: { type: 'string' },
};

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The ETag of an answer that the client has; while it is still the same, it is not sent again',
  schema: { type: 'string' },
};

/** What can go wrong at any route of the kind, so that a client knows which statuses to expect. */
function problemStatuses(route: Route, guarded: boolean): [string, string][] {
  const statuses: [string, string][] = [];
  if (route.body || route.query) statuses.push(['400', 'The request cannot be understood']);
  if (route.access !== 'anyone') {
    statuses.push(['401', 'Not signed in'], ['403', 'Not allowed']);
  }
  if (route.params) statuses.push(['404', 'There is no such thing']);
  if (guarded) statuses.push(['412', 'It has another ETag than If-Match names: `edit_conflict`']);
  statuses.push(['default', 'Any other problem']);
  return statuses;
}

/**
 * @param all the routes of every domain
 * @param schemas components that no route names: what an event or the result of a job holds
 */
export function openapi(version: string, all: readonly Routes[], schemas: readonly TSchema[]): Json {
  const components = new Map<string, unknown>();

  const lift = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(lift);
    if (typeof node !== 'object' || node === null) return node;
    const { $id, ...rest } = node as { $id?: string };
    const plain = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, lift(value)]));
    if ($id === undefined) return plain;
    const before = components.get($id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(plain)) {
      throw new Error(`two schemas share the name ${$id}`);
    }
    components.set($id, plain);
    return { $ref: `#/components/schemas/${$id}` };
  };

  for (const schema of schemas) lift(schema);
  const problem = {
    content: { 'application/problem+json': { schema: lift(Problem) } },
  };

  const parameters = (schema: TSchema | undefined, place: 'path' | 'query') => {
    if (schema === undefined) return [];
    const { properties, required = [] } = schema as unknown as {
      properties: Record<string, TSchema>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, property]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      schema: lift(property),
    }));
  };

  const tagged = new Set(
    all.flatMap((routes) => Object.values(routes)).flatMap(({ editable, answer }) => (editable ? [answer.schema] : [])),
  );

  const success = (route: Route) => {
    const { schema, stream } = route.answer;
    if (stream !== undefined) {
      const of = (within: TSchema | null) => ({ schema: within === null ? { type: 'string' } : lift(within) });
      return {
        description: 'As asked',
        content: Object.fromEntries(Object.entries(stream).map(([type, within]) => [type, of(within)])),
      };
    }
    if (schema === null) return { description: 'Done' };
    return {
      description: 'As asked',
      ...(tagged.has(schema) && { headers: { ETag: etag } }),
      ...(route.conditional && { headers: { ETag: answerTag } }),
      content: { 'application/json': { schema: lift(schema) } },
    };
  };

  const paths: Record<string, Json> = {};
  for (const [operationId, route] of all.flatMap((routes) => Object.entries(routes))) {
    if (!route.path.startsWith('/api/')) continue;
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = {
      operationId,
      summary: route.summary,
      description: [
        route.access === 'anyone' ? 'No identity is needed.' : `Needs: ${route.access}.`,
        ...(route.confirm ? ['Of a session, a confirmation by password within the last five minutes.'] : []),
      ].join(' '),
      tags: [path.split('/')[2]],
      parameters: [
        ...parameters(route.params, 'path'),
        ...parameters(route.query, 'query'),
        ...(editedBy(route, all) === undefined ? [] : [ifMatch]),
        ...(route.conditional ? [ifNoneMatch] : []),
      ],
      ...(route.body && {
        requestBody: { required: true, content: { 'application/json': { schema: lift(route.body) } } },
      }),
      security:
        route.access === 'anyone'
          ? []
          : route.access === 'setup'
            ? [{ setup: [] }]
            : route.access === 'session'
              ? [{ session: [] }]
              : [{ session: [] }, { token: [] }],
      responses: {
        [route.answer.status]: success(route),
        ...(route.conditional && { 304: { description: 'Nothing has changed since the answer with that ETag' } }),
        ...Object.fromEntries(
          problemStatuses(route, editedBy(route, all) !== undefined).map(([status, description]) => [
            status,
            { description, ...problem },
          ]),
        ),
      },
    };
  }

  return {
    openapi: '3.1.0',
    info: {
      title: 'Cistern',
      version,
      description: 'The management API of the Cistern appliance. Errors are RFC 9457 problem documents.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'cistern_session' },
        setup: { type: 'apiKey', in: 'cookie', name: 'cistern_setup' },
        token: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}
