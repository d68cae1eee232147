import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bench } from '../../tests/harness.ts';
import { describeApi } from '../appliance.ts';
import { LARGEST_BODY } from './app.ts';

const rule = {
  name: 'Load',
  expression: 'load',
  direction: 'above',
  raise: 5,
  clear: 4,
  raiseForSeconds: 0,
  clearForSeconds: 0,
  repostSeconds: 0,
  severity: 'warning',
  enabled: true,
  destinations: [],
};

test('bad input: a problem with a stable code, and nothing done', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const post = (raw: string, headers = {}) => client.post('/api/thresholds', undefined, { raw, headers });
  const cases: [string, string, number][] = [
    ['{', 'malformed_json', 400],
    ['{"name":"a"} trailing', 'malformed_json', 400],
    ['\u0000', 'malformed_json', 400],
    ['', 'invalid_request', 400],
    ['null', 'invalid_request', 400],
    ['[]', 'invalid_request', 400],
    ['"text"', 'invalid_request', 400],
    [JSON.stringify({ ...rule, raise: '5' }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, severity: 'dire' }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, raiseForSeconds: -1 }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, raiseForSeconds: 1.5 }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, name: 'two\nlines' }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, clear: 6 }), 'invalid_request', 400],
    [JSON.stringify({ ...rule, colour: 'red' }), 'unknown_field', 400],
    [JSON.stringify(rule).replace('{', '{"__proto__":{"enabled":true},'), 'unknown_field', 400],
    [JSON.stringify({ ...rule, name: 'x'.repeat(LARGEST_BODY) }), 'body_too_large', 413],
  ];
  for (const [raw, code, status] of cases) {
    const answer = await post(raw);
    assert.equal(answer.body.code, code, raw.slice(0, 80));
    assert.equal(answer.status, status);
  }
  assert.equal((await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status, 415);
  assert.equal((await client.get('/api/thresholds')).body.items.length, 0);
  assert.equal((await client.post('/api/thresholds', rule)).status, 201, 'and what is right still goes');
});

test('what is wrong is named by its path', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const { name: _, ...nameless } = rule;
  const { body } = await client.post('/api/thresholds', { ...nameless, severity: 'dire', colour: 'red' });
  assert.equal(body.code, 'invalid_request');
  const paths = body.errors.map((error: { path: string }) => error.path).sort();
  assert.deepEqual(paths, ['/colour', '/name', '/severity']);
});

test('queries: numbers are read, anything else is refused', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  assert.equal((await client.get('/api/audit-log?limit=1')).body.items.length, 1);
  for (const query of ['limit=x', 'limit=0', 'limit=1.5', 'limit=100000']) {
    assert.equal((await client.get(`/api/audit-log?${query}`)).body.code, 'invalid_request', query);
  }
  assert.equal((await client.get('/api/audit-log?colour=red')).body.code, 'unknown_field');
  assert.equal((await client.get('/api/status?colour=red')).body.code, 'unknown_field');
  assert.equal((await client.post('/api/setup/finish', { colour: 'red' })).body.code, 'unknown_field');
});

test('what is not there is a problem too', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  for (const path of ['/api/nothing', '/api/pools/nothing', '/api/alerts/nothing', '/api/jobs/nothing', '/api/%ff']) {
    const answer = await client.get(path);
    assert.ok([400, 404].includes(answer.status), path);
  }
  for (const path of ['/api/thresholds/x', '/api/destinations/x', '/api/tokens/x']) {
    assert.equal((await client.delete(path)).body.code, 'not_found', path);
  }
});

test('the description that is published is the one in the repository', async (t) => {
  const { client } = await bench(t);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const file = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  assert.deepEqual(JSON.parse(JSON.stringify(describeApi(version))), file, 'run `npm run openapi -w appliance-kit`');
  const { body } = await client.get('/api/openapi.json');
  assert.deepEqual(body.paths, file.paths);
  const operations = Object.values(file.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    (path) => Object.values(path).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(operations).size, operations.length);
});

test('every change is in the audit log: who, from where, before and after; secrets masked', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const { body: made } = await client.post('/api/thresholds', rule);
  await client.put(`/api/thresholds/${made.id}`, { ...rule, raise: 7 });
  await client.post('/api/tokens', { name: 'agent', role: 'writer' });
  const { items } = (await client.get('/api/audit-log')).body;
  const [token, update, create, user] = items;
  assert.equal(token.action, 'token.create');
  assert.equal(token.after.token, '********');
  assert.equal(update.action, 'threshold.update');
  assert.equal(update.before.raise, 5);
  assert.equal(update.after.raise, 7);
  assert.equal(create.before, null);
  assert.deepEqual([create.user, create.address], ['ada', '192.0.2.7']);
  assert.equal(user.action, 'user.create');
  assert.ok(!JSON.stringify(items).includes('correct horse'));
});
