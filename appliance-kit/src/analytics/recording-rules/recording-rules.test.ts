// The rules of the management service on a real store.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually } from '../../../tests/harness.ts';
import { recordingRuleWatch } from './watch.ts';

const input = {
  ...{ name: 'job:up:sum', group: 'web', expression: 'sum by (job) (up)', labels: { site: 'north' } },
  ...{ intervalSeconds: 1, description: 'How many are up', enabled: true },
};

interface Store {
  readonly stop: () => Promise<void>;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: string }>;
}

async function storaged(t: TestContext, { directory }: Bench): Promise<Store> {
  const folder = join(directory, 'run', 'storaged');
  mkdirSync(folder, { recursive: true });
  const socketPath = join(folder, 'http.sock');
  const config = join(directory, 'storaged.toml');
  writeFileSync(config, "[rules]\ndelay = '0s'\n");
  const data = join(directory, 'telemetry');
  const flags = ['--config', config, '--data', data, '--socket', socketPath, '--statsd', ''];
  const process: ChildProcess = spawn(program('storaged'), flags, { stdio: ['ignore', 'ignore', 'inherit'] });
  const stop = async () => {
    if (process.exitCode !== null || process.signalCode !== null) return;
    process.kill('SIGTERM');
    await once(process, 'exit');
  };
  t.after(stop);
  const ask: Store['ask'] = (method, path, body) =>
    new Promise((resolve, reject) => {
      const request = http.request({
        ...{ socketPath, method, path },
        headers: {
          'content-type': 'application/json',
          ...(path.endsWith('import') && { 'x-forwarded-for': '192.0.2.1' }),
        },
      });
      request.on('error', reject);
      request.on('response', async (response) => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(await response.toArray()).toString('utf8') });
      });
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  await eventually(async () => assert.equal((await ask('GET', '/healthz')).status, 200));
  return { stop, ask };
}

const up = (store: Store) =>
  store.ask('POST', '/api/v1/import', { samples: [{ name: 'up', labels: { job: 'a' }, value: 1 }] });

test('a rule is made, recorded, changed and removed; the store has the same over restarts of both', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  let store = await storaged(t, b);
  await up(store);
  const made = await b.client.post('/api/recording-rules', input);
  assert.equal(made.status, 201);
  const { id } = made.body;
  const recorded = await eventually(async () => {
    const { body } = await b.client.get(`/api/recording-rules/${id}`);
    assert.equal(body.state.samples, 1);
    return body;
  });
  assert.deepEqual([recorded.state.error, recorded.state.failures, recorded.fill], [null, 0, null]);
  assert.equal(Date.parse(recorded.state.recordedAt) % 1000, 0);
  const query = await store.ask('GET', '/api/v1/query?query=job:up:sum');
  assert.match(query.body, /"site":"north"/);
  const groups = (await b.client.get('/api/v1/rules?type=record')).body.data.groups;
  assert.deepEqual(
    groups.map((group: { name: string; interval: number; rules: { type: string; health: string }[] }) => [
      group.name,
      group.interval,
      group.rules.map(({ type, health }) => [type, health]),
    ]),
    [['web', 1, [['recording', 'ok']]]],
  );
  assert.deepEqual((await b.client.get('/api/v1/rules?type=alert')).body.data.groups, []);

  await store.stop();
  // What is known stays; what changes needs the store.
  const away = await b.client.get('/api/recording-rules');
  assert.deepEqual([away.body.items[0].name, away.body.items[0].state], [input.name, null]);
  assert.equal((await b.client.put(`/api/recording-rules/${id}`, input)).body.code, 'service_unavailable');
  store = await storaged(t, b);
  await eventually(async () => {
    assert.ok((await b.client.get(`/api/recording-rules/${id}`)).body.state.evaluations > 0);
  });
  // A store that has lost its rules is handed them again.
  await store.ask('PUT', '/admin/recording-rules', { rules: [] });
  await b.appliance.poller.look();
  assert.notEqual((await b.client.get(`/api/recording-rules/${id}`)).body.state, null);

  const changed = await b.client.put(`/api/recording-rules/${id}`, { ...input, intervalSeconds: 2 });
  assert.equal(changed.body.intervalSeconds, 2);
  assert.equal((await b.client.delete(`/api/recording-rules/${id}`)).status, 204);
  assert.equal((await b.client.get(`/api/recording-rules/${id}`)).status, 404);
  assert.equal((await store.ask('GET', '/admin/recording-rules')).body.trim(), '{"rules":[]}');
});

test('what cannot be a rule is refused with the field and the words; viewers only look', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  const store = await storaged(t, b);
  const wrong = async (change: object, path: string, words: RegExp) => {
    const { status, body } = await b.client.post('/api/recording-rules', { ...input, ...change });
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.errors[0].path, path);
    assert.match(body.errors[0].message, words);
  };
  await wrong({ name: 'cistern_x' }, '/name', /the appliance's own/);
  await wrong({ name: 'a b' }, '/name', /cannot be a metric's name/);
  await wrong({ expression: 'sum(' }, '/expression', /parse error/);
  await wrong({ expression: 'job:up:sum + 1', labels: {} }, '/expression', /reads its own result/);
  assert.deepEqual((await b.client.get('/api/recording-rules')).body.items, []);
  const preview = async (change: object) =>
    (await b.client.post('/api/recording-rules/preview', { ...input, ...change })).body;
  await up(store);
  const fine = await eventually(async () => {
    const one = await preview({});
    assert.equal(one.total, 1);
    return one;
  });
  assert.deepEqual([fine.faults, fine.warnings, fine.series[0].value], [[], [], 1]);
  const bad = await preview({ expression: 'sum(' });
  assert.deepEqual([bad.faults[0].field, bad.faults[0].at], ['expression', { line: 1, column: 5 }]);
  assert.match((await preview({ name: 'up', expression: 'vector(1)' })).warnings[0], /named up are sent/);

  const { token } = (await b.client.post('/api/tokens', { name: 'v', role: 'viewer' })).body;
  const viewer = new Client(b.appliance);
  const options = { headers: { authorization: `Bearer ${token}` } };
  assert.equal((await viewer.get('/api/recording-rules', options)).status, 200);
  assert.equal((await viewer.post('/api/recording-rules', input, options)).status, 403);
});

test('a rule file: what can be a rule is taken, all else is named', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  await storaged(t, b);
  await b.client.post('/api/recording-rules', { ...input, name: 'there', labels: {} });
  const text = `groups:
- name: web
  interval: 30s
  rules:
  - {record: "job:up:avg", expr: "avg by (job) (up)", labels: {team: web}}
  - {record: there, expr: up}
  - {alert: Down, expr: "up == 0"}
  - {record: wrong, expr: "sum("}
`;
  const { status, body } = await b.client.post('/api/recording-rules/import', { text });
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(
    body.items.map((one: { name: string; intervalSeconds: number; labels: object }) => [
      one.name,
      one.intervalSeconds,
      one.labels,
    ]),
    [['job:up:avg', 30, { team: 'web' }]],
  );
  assert.deepEqual(
    body.notTaken.map(({ line, what }: { line: number; what: string }) => [line, what]),
    [
      [7, 'the alert rule Down'],
      [8, 'the rule wrong'],
      [null, 'the rule there'],
    ],
  );
  const refused = await b.client.post('/api/recording-rules/import', { text: 'no: rules' });
  assert.equal(refused.status, 400);
  assert.match(refused.body.detail, /no rule file/);
});

test('a rule that fails is an alert, and one when it works again; the past is filled', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  const store = await storaged(t, b);
  await up(store);
  // Sent by somebody else under the name of the result.
  await store.ask('POST', '/api/v1/import', { samples: [{ name: 'taken', value: 1 }] });
  const { id } = (await b.client.post('/api/recording-rules', { ...input, name: 'taken' })).body;
  await eventually(async () => {
    assert.match((await b.client.get(`/api/recording-rules/${id}`)).body.state.error ?? '', /taken are sent/);
  });
  await b.appliance.poller.look();
  b.clock.advance(200);
  await b.appliance.poller.look();
  const active = async () =>
    (await b.client.get('/api/alerts?state=active')).body.items
      .map((one: { class: string }) => one.class)
      .filter((name: string) => name.startsWith('recording.'));
  assert.deepEqual(await active(), ['recording.failing']);
  await b.client.put(`/api/recording-rules/${id}`, { ...input, name: 'free' });
  await eventually(async () => {
    await b.appliance.poller.look();
    assert.deepEqual(await active(), []);
  });

  const from = new Date(Date.now() - 600_000).toISOString();
  assert.equal((await b.client.post(`/api/recording-rules/${id}/fill`, { from })).status, 202);
  await eventually(async () => {
    const { fill } = (await b.client.get(`/api/recording-rules/${id}`)).body;
    assert.deepEqual([fill.state, fill.percent, fill.error], ['done', 100, null]);
  });
  const late = await b.client.post(`/api/recording-rules/${id}/fill`, { from: '2001-01-01T00:00:00Z' });
  assert.equal(late.body.code, 'conflict');
  assert.match(late.body.detail, /kept for 400 days/);
  assert.equal((await b.client.post(`/api/recording-rules/${id}/fill`, { from: 'yesterday' })).status, 400);
  assert.equal((await b.client.post(`/api/recording-rules/${id}/cancel-fill`)).body.code, 'conflict');
});

test('results that the store refuses are an alert', async () => {
  const state = {
    ...{ evaluatedAt: '2026-01-01T00:00:00Z', moment: 1, durationSeconds: 0, samples: 9, histograms: 0, error: '' },
    ...{ errorSince: '', evaluations: 1, failures: 0, missed: 0 },
    refused: { reason: 'series_limit', detail: 'there are 100 series already, which is the limit', samples: 3 },
  };
  const rule = { id: 'rr-1', ...input, fixed: false, state, fill: null };
  const rules = [
    rule,
    { ...rule, id: 'rr-2', enabled: false },
    { ...rule, id: 'rr-3', state: { ...state, refused: null } },
  ];
  const reported = new Map<string, unknown[]>();
  const watch = recordingRuleWatch({
    recordingRules: {
      reconcile: async () => rules,
      refused: () => [{ ruleId: 'rr-4', ruleName: 'gone', error: 'unknown function' }],
    },
    conditions: {
      report: (kind, present) =>
        void reported.set(
          kind.class,
          present.map(({ args }) => args),
        ),
    },
  });
  (await watch.look())();
  const { detail, samples } = state.refused;
  assert.deepEqual(reported.get('recording.refused'), [{ ruleId: 'rr-1', ruleName: input.name, samples, detail }]);
  assert.deepEqual(reported.get('recording.failing'), [
    { ruleId: 'rr-4', ruleName: 'gone', error: 'unknown function' },
  ]);
});
