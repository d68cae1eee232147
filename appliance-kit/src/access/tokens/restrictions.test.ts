// Tokens that may only a part: what is refused, and what nginx is told of them. That storaged keeps to it is tested there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually } from '../../../tests/harness.ts';
import { allRoutes } from '../../appliance.ts';

/** A real storaged where akd looks for it: it alone knows what it takes for a selector. */
async function storaged(t: TestContext, { directory }: Bench): Promise<void> {
  const folder = join(directory, 'run', 'storaged');
  mkdirSync(folder, { recursive: true });
  const places = ['--data', join(directory, 'data'), '--socket', join(folder, 'http.sock'), '--statsd', ''];
  const running = spawn(program('storaged'), places, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  running.stderr.on('data', (chunk) => {
    said += chunk;
  });
  t.after(async () => {
    running.kill('SIGTERM');
    await once(running, 'exit');
  });
  await eventually(() => assert.match(said, /ready/, said));
}

async function withStore(t: TestContext) {
  const on = await bench(t);
  await on.client.setUp();
  await storaged(t, on);
  const make = (body: object) => on.client.post('/api/tokens', { name: 'x', ...body });
  const authorize = (token: string, method: string, uri: string) =>
    new Client(on.appliance).get('/internal/authorize', {
      headers: { authorization: `Bearer ${token}`, 'x-original-method': method, 'x-original-uri': uri },
    });
  return { ...on, make, authorize };
}

test('forced labels and selectors that cannot be are refused in words', async (t) => {
  const { client, make } = await withStore(t);
  const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`l${at}`, 'x']));
  const cases: [object, RegExp, string][] = [
    [{ role: 'viewer', labels: { site: 'a' } }, /for tokens that only send, of the role writer/, '/labels'],
    [{ role: 'operator', labels: { site: 'a' } }, /this one is operator/, '/labels'],
    [{ role: 'writer', labels: eleven }, /these are 11, and 10 is the limit/, '/labels'],
    [{ role: 'writer', labels: { __name__: 'up' } }, /name of the metric/, '/labels/__name__'],
    [{ role: 'writer', labels: { __x: 'up' } }, /begins with __/, '/labels/__x'],
    [{ role: 'writer', labels: { le: '5' } }, /parts of a histogram/, '/labels/le'],
    [{ role: 'writer', labels: { '': 'a' } }, /must not be empty/, '/labels/'],
    [{ role: 'writer', labels: { ' a': 'a' } }, /begin or end with a space/, '/labels/ a'],
    [{ role: 'writer', labels: { 'a\nb': 'a' } }, /control characters/, '/labels/a\nb'],
    [{ role: 'writer', labels: { a: 'b\r\nX-Cistern-Selector: c' } }, /control characters/, '/labels/a'],
    [{ role: 'writer', labels: { site: '' } }, /“site” has no value/, '/labels/site'],
    [{ role: 'writer', labels: { site: '\ud800' } }, /not well-formed/, '/labels/site'],
    [{ role: 'writer', labels: { ['n'.repeat(257)]: 'a' } }, /may have 256 bytes/, `/labels/${'n'.repeat(80)}`],
    [{ role: 'writer', labels: { site: 'ä'.repeat(1025) } }, /may have 2048 bytes/, '/labels/site'],
    [{ role: 'writer', labels: { a: 'x'.repeat(2000), b: 'y'.repeat(2000) } }, /3000 is the limit/, '/labels'],
    [{ role: 'writer', selector: '{site="a"}' }, /for tokens that only read, of the role viewer/, '/selector'],
    [{ role: 'administrator', selector: '{site="a"}' }, /this one is administrator/, '/selector'],
    [{ role: 'viewer', selector: '{site=' }, /parse error/, '/selector'],
    [{ role: 'viewer', selector: '{}' }, /no matcher/, '/selector'],
    [{ role: 'viewer', selector: 'up[5m]' }, /parse error/, '/selector'],
    // JavaScript would take both; the store's regular expressions are RE2's.
    [{ role: 'viewer', selector: '{site=~"(?=a)"}' }, /Perl syntax/, '/selector'],
    [{ role: 'viewer', selector: '{site=~"(a)\\\\1"}' }, /invalid escape sequence/, '/selector'],
    [
      { role: 'viewer', selector: `{${Object.keys(eleven).map((name) => `${name}="x"`)}}` },
      /10 is the limit/,
      '/selector',
    ],
    [{ role: 'viewer', selector: '{site="a\ud800"}' }, /not well-formed/, '/selector'],
  ];
  for (const [body, words, path] of cases) {
    const answer = await make(body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(answer.body.detail, words);
    assert.equal(answer.body.errors[0].path, path);
  }
  assert.deepEqual((await client.get('/api/tokens')).body.items, []);
});

test('a token is not given a selector while nobody can check it', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const answer = await client.post('/api/tokens', { name: 'x', role: 'viewer', selector: '{site="a"}' });
  assert.equal(answer.status, 503);
  assert.match(answer.body.detail, /storaged does not answer/);
  assert.equal((await client.post('/api/tokens', { name: 'x', role: 'writer', labels: { site: 'a' } })).status, 201);
});

test('nginx is told what a token is limited to, in headers that nothing in it can break', async (t) => {
  const { make, authorize } = await withStore(t);
  const labels = { site: 'berlin', 'a b&c=d': 'ä, %0d"' };
  const writer = (await make({ role: 'writer', labels })).body;
  assert.deepEqual(writer.labels, labels);
  const sends = await authorize(writer.token, 'POST', '/api/v1/write');
  assert.equal(sends.status, 204);
  assert.equal(sends.headers['x-cistern-labels'], 'site=berlin&a%20b%26c%3Dd=%C3%A4%2C%20%250d%22');
  assert.equal(sends.headers['x-cistern-selector'], undefined);
  assert.equal((await authorize(writer.token, 'GET', '/api/v1/query')).status, 403);

  const selector = '{site=~"berlin|paris",env!="tést"}';
  const viewer = (await make({ role: 'viewer', selector })).body;
  assert.equal(viewer.selector, selector);
  const reads = await authorize(viewer.token, 'GET', '/api/v1/query?query=up');
  assert.equal(reads.status, 204);
  assert.equal(decodeURIComponent(String(reads.headers['x-cistern-selector'])), selector);
  assert.match(String(reads.headers['x-cistern-selector']), /^[\x21-\x7e]+$/);
  assert.equal(reads.headers['x-cistern-labels'], undefined);
  assert.equal((await authorize(viewer.token, 'POST', '/api/v1/write')).status, 403);

  const plain = (await make({ role: 'viewer' })).body;
  assert.equal(plain.selector, null);
  const all = await authorize(plain.token, 'GET', '/api/v1/query');
  assert.equal(all.headers['x-cistern-selector'], undefined);
  assert.equal(all.headers['x-cistern-labels'], undefined);
});

test('nginx is told how long an answer is good for: ten seconds, a day while akd is away, never beyond the end', async (t) => {
  const { clock, make, authorize } = await withStore(t);
  const { token } = (await make({ role: 'viewer', expiresInDays: 1 })).body;
  const said = async () => String((await authorize(token, 'GET', '/api/v1/query')).headers['cache-control']);
  assert.equal(await said(), 'max-age=10, stale-while-revalidate=10, stale-if-error=86390');
  clock.advance(86_400 - 15);
  assert.equal(await said(), 'max-age=10, stale-while-revalidate=5, stale-if-error=5');
  clock.advance(12);
  assert.equal(await said(), 'max-age=3, stale-while-revalidate=0, stale-if-error=0');
  clock.advance(3);
  const gone = await authorize(token, 'GET', '/api/v1/query');
  assert.deepEqual([gone.status, gone.headers['cache-control']], [401, undefined]);
});

test('a token with a selector reaches nothing of the management API', async (t) => {
  const { appliance, make } = await withStore(t);
  const { token } = (await make({ role: 'viewer', selector: '{site="berlin"}' })).body;
  const program = new Client(appliance);
  for (const [id, route] of allRoutes.flatMap((routes) => Object.entries(routes))) {
    if (route.access === 'nginx' || route.access === 'simulation') continue;
    const path = route.path.replace(/:\w+/g, 'x');
    const headers = { authorization: `Bearer ${token}` };
    const answer = await program.request(route.method, path, route.body && {}, { headers });
    assert.equal(answer.status, 403, `${id}: ${answer.status}`);
    assert.match(answer.body.detail, /may only read the series of its selector/, id);
  }
});

test('limits are changed, taken away only when that is said, and noted', async (t) => {
  const { client, make, authorize } = await withStore(t);
  const made = (await make({ role: 'viewer', selector: '{site="berlin"}' })).body;
  const of = async () => (await authorize(made.token, 'GET', '/api/v1/labels')).headers['x-cistern-selector'];
  const { name, owner, networks, expiresAt } = made;
  const change = (more: object) =>
    client.put(`/api/tokens/${made.id}`, { ...{ name, owner, networks, expiresAt }, ...more });
  assert.equal((await change({})).body.selector, '{site="berlin"}');
  assert.match((await change({ selector: '{' })).body.detail, /parse error/);
  assert.match((await change({ labels: { site: 'a' } })).body.detail, /of the role writer/);
  assert.equal(decodeURIComponent(String(await of())), '{site="berlin"}');
  assert.equal((await change({ selector: '{site="paris"}' })).body.selector, '{site="paris"}');
  assert.equal(decodeURIComponent(String(await of())), '{site="paris"}');
  assert.equal((await change({ selector: null })).body.selector, null);
  assert.equal(await of(), undefined);
  const [last, before] = (await client.get('/api/audit-log')).body.items;
  assert.deepEqual([last.before.selector, last.after.selector], ['{site="paris"}', null]);
  assert.equal(before.after.selector, '{site="paris"}');
});

test('nginx sets the headers of limited tokens wherever it asks storaged', () => {
  const file = (name: string) =>
    readFileSync(join(import.meta.dirname, '../../../../image/common/nginx', name), 'utf8');
  const whole = (name: string): string =>
    file(name).replace(/^ *include (cistern-[a-z]+\.conf);$/gm, (_, other: string) => whole(other));
  const text = whole('cistern.conf.in');
  let passes = 0;
  /** What each open block sets; a block without any has those of the one around it. */
  const blocks: string[][] = [];
  const check = (block: string[]) => {
    const own = block.filter((line) => line.startsWith('proxy_set_header'));
    const outer = blocks.findLast((lines) => lines.some((line) => line.startsWith('proxy_set_header'))) ?? [];
    const set = own.length > 0 ? own : outer;
    const where = block[0];
    for (const name of ['User', 'Labels', 'Selector']) {
      const variable = `$cistern_${name.toLowerCase()}`;
      const of = set.filter((line) => line.startsWith(`proxy_set_header X-Cistern-${name} `));
      assert.equal(of.length, 1, `${where} does not set X-Cistern-${name}`);
      const asked = block.includes('auth_request /internal/authorize;');
      assert.equal(of[0], `proxy_set_header X-Cistern-${name} ${asked ? variable : '""'};`, where);
      if (!asked) continue;
      const from = `auth_request_set ${variable} $upstream_http_x_cistern_${name.toLowerCase()};`;
      assert.ok([block, ...blocks].flat().includes(from), `${where}: ${variable} is not what akd answered`);
    }
    passes++;
  };
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line.startsWith('#')) continue;
    if (line.endsWith('{')) blocks.push([line]);
    else if (line === '}') {
      const ended = blocks.pop() as string[];
      if (ended.includes('proxy_pass http://storaged;')) check(ended);
    } else blocks.at(-1)?.push(line);
  }
  assert.equal(passes, text.split('proxy_pass http://storaged;').length - 1);
});
