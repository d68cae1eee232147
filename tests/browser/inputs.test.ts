// The ways in that go through nginx: each reaches the store with a writer's token, and is refused without one.
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { type Person, setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { withStack } from './browser.ts';

let stack: Stack;
let api: Person;
let token = '';
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  ({ token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' }));
});
after(() => stack?.stop());

const point = { asInt: '7', timeUnixNano: String(BigInt(Date.now()) * 1_000_000n) };
const otlp = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeMetrics: [{ metrics: [{ name: 'otlp.depth', gauge: { dataPoints: [point] } }] }],
    },
  ],
};

for (const [name, path, method, body, query] of [
  ['OpenTelemetry', '/v1/metrics', 'POST', otlp, '{"otlp.depth",job="shop"}'],
  ['OpenTelemetry at the path of Prometheus', '/api/v1/otlp/v1/metrics', 'POST', otlp, '{"otlp.depth",job="shop"}'],
  ['JSON as HTTPTrap', '/api/v1/trap/shop', 'PUT', { depth: { queue: 7 } }, '{"depth.queue",check="shop"}'],
  [
    'collectd',
    '/api/v1/collectd',
    'POST',
    [{ values: [7], dstypes: ['gauge'], dsnames: ['value'], host: 'a', plugin: 'load', type: 'load' }],
    '{"collectd.load.load",host="a"}',
  ],
  ['import', '/api/v1/import', 'POST', { samples: [{ name: 'imported', value: 7 }] }, 'imported'],
] as const) {
  test(`${name} comes in through nginx with a token, and only with one`, async () => {
    const send = (headers: Record<string, string>) => ask(new URL(path, stack.url), { method, headers, body });
    assert.equal((await send({})).status, 401);
    assert.equal((await send({ authorization: 'Bearer none' })).status, 401);
    const reply = await send({ authorization: `Bearer ${token}` });
    assert.equal(reply.status, 200, reply.text);
    await until('it is found', async () => {
      const found = await api.get<{ data: { result: { value: [number, string] }[] } }>(
        'GET',
        `/api/v1/query?query=${encodeURIComponent(query)}`,
      );
      return found.data.result[0]?.value[1] === '7' || undefined;
    });
  });
}

test('what the clients of Prometheus ask beside queries is answered by the part that knows it', async () => {
  const { token: reader } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'reader', role: 'viewer' });
  const get = (path: string, authorization?: string) =>
    ask(new URL(path, stack.url), { headers: authorization ? { authorization: `Bearer ${authorization}` } : {} });
  for (const path of ['/-/healthy', '/-/ready']) assert.equal((await get(path)).status, 200, path);
  for (const [path, expected] of [
    ['/federate?match[]=imported', 'imported{instance=""} 7 '],
    ['/api/v1/rules', '{"status":"success","data":{"groups":[]}}'],
    ['/api/v1/alerts', '{"status":"success","data":{"alerts":[]}}'],
    ['/api/v1/parse_query?query=up', '"type":"vectorSelector"'],
    ['/api/v1/status/flags', '"web.enable-otlp-receiver":"true"'],
    ['/api/v1/status/config', 'promote_resource_attributes'],
  ] as const) {
    assert.equal((await get(path)).status, 401, path);
    assert.equal((await get(path, token)).status, 403, `${path} with a token that may only write`);
    const reply = await get(path, reader);
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    assert.ok(reply.text.includes(expected), `${path}: ${reply.text}`);
  }
});

test('InfluxDB’s line protocol comes in through nginx, with its clients’ form of a token', async () => {
  const send = (path: string, body: string, authorization?: string) =>
    ask(new URL(path, stack.url), {
      method: body === '' ? 'GET' : 'POST',
      headers: authorization === undefined ? {} : { authorization },
      ...(body !== '' && { body }),
    });
  const basic = `Basic ${Buffer.from(`anyone:${token}`).toString('base64')}`;
  for (const path of ['/write?db=shop', '/api/v2/write?org=o&bucket=shop', '/ping', '/query?q=SHOW+DATABASES']) {
    const body = path.includes('write') ? 'influx,host=a depth=7i' : '';
    assert.equal((await send(path, body)).status, 401, path);
    assert.equal((await send(path, body, 'Token none')).status, 401, path);
    const status = path.startsWith('/query') ? 200 : 204;
    assert.equal((await send(path, body, `Token ${token}`)).status, status, path);
    assert.equal((await send(path, body, basic)).status, status, path);
  }
  await until('it is found', async () => {
    const found = await api.get<{ data: { result: { value: [number, string] }[] } }>(
      'GET',
      `/api/v1/query?query=${encodeURIComponent('influx_depth{host="a",db="shop"}')}`,
    );
    return found.data.result[0]?.value[1] === '7' || undefined;
  });
});

test('nginx refuses a token that was withdrawn, has expired, or comes from elsewhere', async () => {
  const make = (more: object) =>
    api.get<{ id: string; token: string }>('POST', '/api/tokens', { name: 'short', role: 'viewer', ...more });
  const status = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await ask(new URL('/api/v1/labels', stack.url), { headers })).status;
  };
  const [foreign, withdrawn, expired] = [await make({ networks: ['192.0.2.0/24'] }), await make({}), await make({})];
  assert.equal(await status(foreign.token), 401);
  for (const { token } of [withdrawn, expired]) assert.equal(await status(token), 200);
  await api.get('DELETE', `/api/tokens/${withdrawn.id}`);
  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec('PRAGMA busy_timeout = 5000');
  db.prepare('UPDATE tokens SET expires_at = 1 WHERE id = ?').run(expired.id);
  db.close();
  // For ten seconds nginx goes by the answer that it has.
  for (const { token } of [withdrawn, expired]) {
    await until('it is refused', async () => (await status(token)) === 401 || undefined, 20);
  }
});
