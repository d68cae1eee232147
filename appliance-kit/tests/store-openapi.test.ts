// docs/api/store.openapi.json against a real storaged: every example of it is asked, and every answer, of success or error, has
// to fit its schema. Every route that the sources of storaged register by its whole path has to be in it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Compile } from 'typebox/schema';
import { program } from './cistern.ts';
import { eventually } from './harness.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly required: boolean;
  readonly example?: string | string[];
}
type Content = Record<string, { readonly schema: object; readonly example?: unknown }>;
interface Response {
  readonly $ref?: string;
  readonly content?: Content;
}
interface Operation {
  readonly summary: string;
  readonly 'x-access': string;
  readonly parameters?: Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Record<string, Response>;
}

const document = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../docs/api/store.openapi.json'), 'utf8'));
const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
  ([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route, method: method.toUpperCase(), operation })),
);

let storaged: ChildProcess;
let folder: string;
let socket: string;
let said = '';
const now = Math.floor(Date.now() / 1000);

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

function ask(method: string, target: string, body?: string, type?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({
      socketPath: socket,
      method,
      path: target,
      headers: { ...(type !== undefined && { 'content-type': type }) },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      const answer = () => ({
        status: response.statusCode ?? 0,
        type: String(response.headers['content-type'] ?? '').split(';')[0] as string,
        text,
      });
      response.on('data', (chunk) => {
        text += chunk;
        // A stream does not end by itself: its beginning is enough.
        if (/event-stream|ndjson/.test(String(response.headers['content-type']))) request.destroy();
      });
      response.on('end', () => resolve(answer()));
      response.on('close', () => resolve(answer()));
    });
    request.end(body);
  });
}

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'store-openapi-'));
  socket = path.join(folder, 'http.sock');
  storaged = spawn(
    program('storaged'),
    ['--data', path.join(folder, 'data'), '--socket', socket, '--statsd', '127.0.0.1:0', '--graphite', ''],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  storaged.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await eventually(async () => {
    assert.equal(storaged.exitCode, null, said);
    const answer = await ask('GET', '/healthz').catch(() => null);
    assert.equal(answer?.status, 200);
  });
  const samples = [10, 5, 1].flatMap((ago) => [
    { name: 'up', labels: { host: 'a' }, time: now - ago, value: 1 },
    { name: 'latency', time: now - ago, histogram: { bins: { '0.12': 4, '3.1': 1 } } },
  ]);
  const { status, text } = await ask('POST', '/api/v1/import', JSON.stringify({ samples }), 'application/json');
  assert.equal(status, 200, text);
});

after(async () => {
  if (storaged.exitCode === null) {
    const ended = once(storaged, 'exit');
    storaged.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

const filled = (example: string) => example.replace('@start', String(now - 60)).replace('@end', String(now));

function form(parameters: readonly Parameter[]): string {
  const fields = new URLSearchParams();
  for (const { name, example } of parameters.filter((one) => one.in === 'query' && one.example !== undefined)) {
    for (const value of [example].flat()) fields.append(name, filled(value as string));
  }
  return fields.toString();
}

/** Holds an answer against what the document says of this status. */
function fits(what: string, operation: Operation, { status, type, text }: Answer): void {
  let response = operation.responses[String(status)];
  assert.ok(
    response !== undefined,
    `${what} answered ${status}, which the document does not know: ${text.slice(0, 200)}`,
  );
  if (response.$ref !== undefined) response = document.components.responses[response.$ref.split('/').at(-1) as string];
  const content = response?.content?.[type];
  if (response?.content === undefined) return void assert.equal(text, '', what);
  assert.ok(content !== undefined, `${what} answered ${type}, which the document does not know: ${text.slice(0, 200)}`);
  if (!/json$/.test(type) || /ndjson/.test(type)) return;
  const validator = Compile({ ...content.schema, components: document.components } as never);
  const value = JSON.parse(text);
  const [valid, errors] = validator.Errors(value) as unknown as [boolean, { instancePath: string; message: string }[]];
  assert.ok(valid, `${what}: ${JSON.stringify(errors.slice(0, 3))} in ${text.slice(0, 300)}`);
}

test('every route with an example answers as the document says', async () => {
  let asked = 0;
  for (const { route, method, operation } of operations) {
    const parameters = operation.parameters ?? [];
    if (parameters.some(({ required, example }) => required && example === undefined)) continue;
    let target = route;
    for (const { name, example } of parameters.filter((one) => one.in === 'path')) {
      target = target.replace(`{${name}}`, encodeURIComponent(example as string));
    }
    const content = operation.requestBody?.content ?? {};
    const json = content['application/json'];
    const what = `${method} ${route}`;
    if (json?.example !== undefined) {
      fits(what, operation, await ask(method, target, JSON.stringify(json.example), 'application/json'));
    } else if (content['application/x-www-form-urlencoded'] !== undefined) {
      const get = document.paths[route].get as Operation;
      fits(what, operation, await ask(method, target, form(get.parameters ?? []), 'application/x-www-form-urlencoded'));
    } else if (operation.requestBody === undefined) {
      fits(what, operation, await ask(method, `${target}?${form(parameters)}`));
    } else continue;
    asked++;
  }
  assert.ok(asked > 40, `only ${asked} routes were asked`);
});

test('queries that make no sense are refused as the document says', async () => {
  for (const { route, method, operation } of operations.filter((one) => one.method === 'GET')) {
    const required = (operation.parameters ?? []).filter((one) => one.required && one.in === 'query');
    if (required.length === 0) continue;
    const answer = await ask(method, route);
    assert.equal(answer.status, 400, `${method} ${route} without ${required.map(({ name }) => name)}: ${answer.text}`);
    fits(`${method} ${route} without its parameters`, operation, answer);
  }
});

test('bodies that make no sense are refused as the document says', async () => {
  for (const { route, method, operation } of operations.filter((one) => one.operation.requestBody !== undefined)) {
    if (operation.requestBody?.content['application/json'] === undefined || route.endsWith('/v1/metrics')) continue;
    const answer = await ask(method, route.replace('{check}', 'shop'), '{"a":', 'application/json');
    assert.equal(answer.status, 400, `${method} ${route}: ${answer.text}`);
    fits(`${method} ${route} with half of a JSON`, operation, answer);
  }
});

test('every route that the sources of storaged register is in the document', () => {
  const services = path.join(import.meta.dirname, '../../services');
  const folders = '{store/api,ingest,cmd/storaged}/**/*.go';
  const sources = globSync(folders, { cwd: services, exclude: (name) => name.endsWith('_test.go') });
  const registered = sources.flatMap((file) => {
    const text = readFileSync(path.join(services, file), 'utf8');
    const whole = [...text.matchAll(/"(GET|POST|PUT|DELETE) (\/[^"]+)"/g)];
    const table = [...text.matchAll(/\{"(\/api\/v1\/[^"]+)", (?:true|false), a\./g)];
    return [...whole.map(([, method, route]) => [method, route]), ...table.map(([, route]) => ['GET', route])];
  });
  const undocumented = registered
    .map(([method, route]) => `${method} ${route}`)
    // Profiles are for this machine only, and end in a slash where there is no more to the route.
    .filter((one) => !one.includes('/debug/') && !one.endsWith('/'))
    .filter((one) => !operations.some(({ method, route }) => `${method} ${route}` === one));
  assert.ok(registered.length > 25, `only ${registered.length} routes were found in the sources`);
  assert.deepEqual(undocumented, []);
});
