// The ways in that go through nginx: each reaches the store with a writer's token, and is refused without one.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect as connectPlain } from 'node:net';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { administrator, type Person, setUp } from '../stack/api.ts';
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

test('what a token is limited to holds through nginx, whatever the client says of it', async () => {
  const make = async (more: object) =>
    (await api.get<{ token: string }>('POST', '/api/tokens', { name: 'limited', ...more })).token;
  const writers = {
    berlin: await make({ role: 'writer', labels: { site: 'berlin' } }),
    paris: await make({ role: 'writer', labels: { site: 'paris', 'a b': 'ä&=' } }),
  };
  const all = await make({ role: 'viewer' });
  const berlin = await make({ role: 'viewer', selector: '{site="berlin"}' });
  /** Whatever a client might try to be taken for somebody else. */
  const lies = {
    'X-Cistern-Labels': 'site=rome',
    'X-Cistern-Selector': '%7Bsite%3D~%22.%2A%22%7D',
    'X-Cistern-User': 'admin',
    X_Cistern_Selector: '%7Bsite%3D~%22.%2A%22%7D',
  };
  const say = (path: string, token: string, more: object = {}) =>
    ask(new URL(path, stack.url), { headers: { ...lies, authorization: `Bearer ${token}` }, ...more });
  for (const [site, token] of Object.entries(writers)) {
    // By a location within another one, and by those beside it.
    for (const [path, body] of [
      ['/api/v1/import', { samples: [{ name: 'limited', value: 7, labels: { site: 'rome', by: 'import' } }] }],
      ['/api/v1/trap/shop', { limited: { _type: 'n', _value: 7, _tags: ['site:rome', 'by:trap'] } }],
      ['/write?db=d', `limited,site=rome,by=influx value=7`],
      ['/api/v2/write?bucket=d', `limited,by=influx2 value=7`],
      [
        '/v1/metrics',
        { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'limited', gauge: { dataPoints: [point] } }] }] }] },
      ],
    ] as const) {
      const reply = await say(path, token, { method: 'POST', body });
      assert.ok(reply.status < 300, `${site} ${path}: ${reply.status} ${reply.text}`);
    }
  }
  // As long as akd lets it be, with the longest name that it may have.
  const value = 'ä'.repeat(480);
  const long = { name: '🜃'.repeat(50), role: 'writer', labels: { site: 'berlin', note: value } };
  const longest = await api.get<{ token: string }>('POST', '/api/tokens', long);
  for (let n = 0; n < 2; n++) {
    const samples = [{ name: 'limited', value: 7, labels: { note: 'mine', by: 'longest' } }];
    const reply = await say('/api/v1/import', longest.token, { method: 'POST', body: { samples } });
    assert.equal(reply.status, 200, `${n === 0 ? 'asked' : 'remembered'}: ${reply.text}`);
  }
  const sites = (reply: { json<T>(): T }) => reply.json<{ data: string[] }>().data;
  await until('all of it is there', async () => {
    const found = await say('/api/v1/series?match[]={__name__=~"limited.*"}', all);
    return found.json<{ data: unknown[] }>().data.length === 11 || undefined;
  });
  assert.deepEqual(sites(await say('/api/v1/label/site/values', all)), ['berlin', 'paris'], 'nobody is rome');
  assert.deepEqual(sites(await say('/api/v1/label/a%20b/values', all)), ['ä&=']);
  assert.deepEqual(sites(await say('/api/v1/label/note/values', all)), [value]);

  const everything = encodeURIComponent('{__name__=~".+"} or {site="paris"}');
  const now = Math.floor(Date.now() / 1000);
  for (const path of [
    '/api/v1/label/site/values',
    '/api/v1/series?match[]={site=~".%2B"}&match[]={site="paris"}',
    `/api/v1/query?query=${everything}`,
    `/api/v1/query_range?query=${everything}&start=${now - 60}&end=${now}&step=10`,
    '/federate?match[]={site=~".%2B"}&match[]={site="paris"}',
  ]) {
    const reply = await say(path, berlin);
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    assert.match(reply.text, /berlin/, path);
    assert.doesNotMatch(reply.text, /paris|cistern_/, path);
    assert.match((await say(path, all)).text, /paris/, path);
  }
  // The rest of the store, what others decide about, and the management API.
  for (const path of ['/api/v1/metrics', '/api/v1/status/tsdb', '/api/v1/status/storage', '/api/v1/sizes?label=site']) {
    const reply = await say(path, berlin);
    assert.equal(reply.status, 403, path);
    assert.match(reply.text, /cannot be limited to those/);
  }
  for (const path of ['/api/v1/rules', '/api/v1/alerts', '/api/status', '/api/thresholds', '/api/openapi.json']) {
    assert.equal((await say(path, berlin)).status, 403, path);
  }
  assert.equal((await say('/-/healthy', berlin)).status, 200);
});

test('an address that is too long is refused in words, whoever has it', async () => {
  const reply = await ask(new URL(`/api/v1/query?query=${'x'.repeat(20_000)}`, stack.url), {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(reply.status, 414, reply.text);
  assert.equal(reply.json<{ code: string }>().code, 'uri_too_long');
  assert.match(String(reply.headers['content-type']), /^application\/problem\+json/);
});

test('strangers with unfinished requests leave room for those who have signed in', async () => {
  const { hostname, port } = new URL(stack.url);
  /** A request whose body does not come. */
  const hold = (localAddress: string, header = '') =>
    new Promise<{ socket: TLSSocket; said: Promise<string> }>((resolve, reject) => {
      const plain = connectPlain({ host: hostname, port: Number(port), localAddress });
      plain.on('error', reject);
      const socket = connect({ socket: plain, rejectUnauthorized: false }, () => {
        socket.write(
          `POST /api/session HTTP/1.1\r\nHost: ${hostname}\r\n${header}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
        );
        resolve({ socket, said });
      });
      const said = new Promise<string>((found) => socket.once('data', (data) => found(data.toString('latin1'))));
      socket.on('error', reject);
    });
  const signIn = await ask(new URL('/api/session', stack.url), {
    ...{ method: 'POST', body: { user: administrator.name, password: administrator.password } },
    headers: { origin: stack.url },
  });
  const own = /__Host-cistern_session=([^;.]+)\.(\d+)\.([^;]+)/.exec(String(signIn.headers['set-cookie']));
  assert.ok(own, `the session is signed for nginx: ${signIn.headers['set-cookie']}`);
  const [, secret, end, signature] = own as unknown as [string, string, string, string];
  // Nothing of this was given out by akd as it stands here.
  const guises = [
    '',
    'Cookie: __Host-cistern_session=made-up\r\n',
    `Cookie: __Host-cistern_session=${secret}\r\n`,
    `Cookie: __Host-cistern_session=${secret}.${Number(end) + 1}.${signature}\r\n`,
    `Cookie: __Host-cistern_session=${'A'.repeat(43)}.${end}.${signature}\r\n`,
    `Cookie: __Host-cistern_session=${secret}.${end}.${createHash('md5').update(`${secret} ${end} `).digest('base64url')}\r\n`,
    'Authorization: Bearer made-up\r\n',
  ];
  const held: { socket: TLSSocket; said: Promise<string> }[] = [];
  try {
    for (let n = 0; n < 256; n++) held.push(await hold(n % 2 ? '127.0.0.2' : '127.0.0.4', guises[n % guises.length]));
    // Those that came last were answered at once.
    for (const guise of guises) {
      await until(`a stranger finds no place: ${guise}`, async () => {
        const one = await hold('127.0.0.3', guise);
        held.push(one);
        const said = await Promise.race([one.said, sleep(200)]);
        return typeof said === 'string' && / 429 [\s\S]*"too_many"/.test(said);
      });
    }
    const reply = await api.ask('GET', '/api/status');
    assert.equal(reply.status, 200, reply.text);
    const sent = await ask(new URL('/v1/metrics', stack.url), {
      ...{ method: 'POST', body: otlp, headers: { authorization: `Bearer ${token}` } },
    });
    assert.equal(sent.status, 200, sent.text);
  } finally {
    for (const { socket } of held) socket.destroy();
  }
});
