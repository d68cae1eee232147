// Two people edit the same thing at once: of everything that can be edited, the second to save is told what the first
// has changed, and loses nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { allRoutes } from '../src/appliance.ts';
import { type Answer, addFactor, type Bench, bench, eventually } from './harness.ts';

const rule = {
  ...{ name: 'Busy', expression: 'up', direction: 'above', raise: 10, clear: 8, raiseForSeconds: 0 },
  ...{ clearForSeconds: 0, repostSeconds: 0, severity: 'info', enabled: false, destinations: [] },
};
const collector = { name: 'Log', kind: 'syslog', enabled: false };
const syslog = { host: 'logs.example', port: 514, transport: 'tcp', verifyCertificate: false };
const silence = { name: 'Work', start: 1_767_225_600, end: 1_767_312_000, classes: [], severities: [], text: '' };
const worksheet = {
  name: 'Mine',
  description: '',
  shared: true,
  rangeSeconds: 60,
  end: null,
  charts: [],
  annotations: [],
};
const keep = { frequent: 2, hourly: 0, daily: 2, weekly: 0, monthly: 0 };
const schedule = { dataset: 'tank/a', recursive: false, schedule: { every: 'hour', at: '00:00' }, keep, enabled: true };
const replication = {
  ...{ dataset: 'tank/a', recursive: true, target: { kind: 'here', dataset: 'tank/copies/a' } },
  ...{ schedule: { every: 'hour', at: '00:00' }, enabled: false, intermediate: true, bytesPerSecond: 0 },
  lateAfterMinutes: 0,
};
const recording = {
  ...{ name: 'job:x:sum', group: 'web', expression: 'sum(x)', labels: {}, intervalSeconds: 10 },
  ...{ description: '', enabled: true },
};
const objective = {
  ...{ name: 'Quick', selector: 'latency', limit: 0.3, unit: 's', targetPercent: 99, periodDays: 28, population: '' },
};
const agent = { enabled: false, sources: [], user: '', authProtocol: 'SHA', contact: '', location: '' };
const kept = { rawSeconds: 86_400, minuteSeconds: 864_000, hourSeconds: 8_640_000 };
const output = {
  ...{ name: 'Copy', enabled: true, kind: 'graphite', begin: 'now', keep: [], labels: {}, lagMiB: 64 },
  graphite: { address: 'graphite.example:2003', prefix: '', quantiles: [] },
};
const digest = { enabled: false, at: '08:00', severities: ['info'] };

const provider = {
  ...{ name: 'Example', kind: 'ldap', enabled: false, roles: [], otherwise: 'viewer' },
  ldap: {
    ...{ urls: ['ldaps://ldap.example'], bindDn: '', baseDn: 'dc=example', userFilter: '(uid={name})' },
    ...{ nameAttribute: 'uid', subjectAttribute: 'entryUUID', groupBaseDn: '', nested: 'no' },
  },
};

const way = {
  ...{ enabled: false, seriesPerSecond: 100, seriesBurst: 1000 },
  ...{
    senderSeriesPerSecond: 0,
    senderSeriesBurst: 0,
    senderSamplesPerSecond: 0,
    port: null,
    picklePort: null,
    tlsPort: null,
    tlsClientCa: null,
    senderIsHost: false,
    hostNames: [],
    refusedSenders: [],
  },
};

interface Editable {
  /** The GET that declares it. */
  readonly operation: string;
  readonly list?: string;
  /** What is made, or the path of what is there. */
  readonly make?: object;
  readonly path: string;
  readonly body: object;
  /** Another value of one field, and the field as the conflict names it. */
  readonly other: object;
  readonly field: string;
  readonly remove?: true | object | string;
}

const editables: readonly Editable[] = [
  {
    operation: 'getThreshold',
    list: '/api/thresholds',
    make: rule,
    path: '/api/thresholds/ID',
    body: rule,
    other: { raise: 20 },
    field: 'raise',
    remove: true,
  },
  {
    operation: 'getDestination',
    list: '/api/destinations',
    make: { ...collector, syslog },
    path: '/api/destinations/ID',
    body: { ...collector, syslog },
    other: { syslog: { ...syslog, port: 515 } },
    field: 'syslog',
    remove: true,
  },
  {
    operation: 'getSilence',
    list: '/api/silences',
    make: silence,
    path: '/api/silences/ID',
    body: silence,
    other: { end: 1_767_315_600 },
    field: 'end',
  },
  {
    operation: 'getAlertClass',
    list: '/api/alert-classes',
    path: '/api/alert-classes/pool.degraded',
    body: { muted: false, destinations: [], escalation: null },
    other: { muted: true },
    field: 'muted',
  },
  {
    operation: 'getProvider',
    list: '/api/providers',
    make: provider,
    path: '/api/providers/ID',
    body: provider,
    other: { name: 'Other' },
    field: 'name',
    remove: true,
  },
  { operation: 'getDigest', path: '/api/alert-digest', body: digest, other: { at: '09:00' }, field: 'at' },
  {
    operation: 'getRetention',
    path: '/api/retention',
    body: kept,
    other: { hourSeconds: 9_000_000 },
    field: 'hourSeconds',
  },
  {
    operation: 'getWorksheet',
    list: '/api/worksheets',
    make: worksheet,
    path: '/api/worksheets/ID',
    body: worksheet,
    other: { description: 'Ours' },
    field: 'description',
    remove: true,
  },
  {
    operation: 'getOutput',
    list: '/api/outputs',
    make: output,
    path: '/api/outputs/ID',
    body: output,
    other: { lagMiB: 128 },
    field: 'lagMiB',
    remove: true,
  },
  {
    operation: 'getRecordingRule',
    list: '/api/recording-rules',
    make: recording,
    path: '/api/recording-rules/ID',
    body: recording,
    other: { intervalSeconds: 30 },
    field: 'intervalSeconds',
    remove: true,
  },
  {
    operation: 'getObjective',
    list: '/api/objectives',
    make: objective,
    path: '/api/objectives/ID',
    body: objective,
    other: { limit: 0.5 },
    field: 'limit',
    remove: true,
  },
  {
    operation: 'getApplicationNaming',
    path: '/api/application-naming',
    body: { rules: [] },
    other: { rules: [{ durations: '{application}.time', failures: '' }] },
    field: 'rules',
  },
  {
    operation: 'getDataset',
    path: '/api/datasets/tank%2Fa',
    body: {},
    other: { set: { atime: 'on' } },
    field: 'atime',
    remove: { confirm: 'tank/a', recursive: true },
  },
  {
    operation: 'getPool',
    list: '/api/pools',
    path: '/api/pools/tank',
    body: {},
    other: { comment: 'rack 3' },
    field: 'comment',
  },
  {
    operation: 'getScrubSchedule',
    path: '/api/pools/tank/scrub-schedule',
    body: { enabled: true, schedule: { every: 'week', at: '02:00' } },
    other: { enabled: false },
    field: 'enabled',
  },
  {
    operation: 'getSnapshotSchedule',
    list: '/api/snapshot-schedules',
    make: schedule,
    path: '/api/snapshot-schedules/ID',
    body: schedule,
    other: { enabled: false },
    field: 'enabled',
    remove: true,
  },
  {
    operation: 'getReplication',
    list: '/api/replications',
    make: replication,
    path: '/api/replications/ID',
    body: replication,
    other: { lateAfterMinutes: 60 },
    field: 'lateAfterMinutes',
    remove: true,
  },
  {
    operation: 'getUser',
    list: '/api/users',
    path: '/api/users/bob',
    body: { role: 'viewer', disabled: false },
    other: { disabled: true },
    field: 'disabled',
    remove: true,
  },
  {
    operation: 'getToken',
    list: '/api/tokens',
    make: { name: 'grafana', role: 'viewer' },
    path: '/api/tokens/ID',
    body: { name: 'grafana', owner: 'ada', networks: [], expiresAt: '2027-01-01T00:00:00.000Z' },
    other: { networks: ['192.0.2.0/24'] },
    field: 'networks',
    remove: true,
  },
  {
    operation: 'getSessionLifetime',
    path: '/api/session-lifetime',
    body: { idleMinutes: 60, longestHours: 24 },
    other: { idleMinutes: 90 },
    field: 'idleMinutes',
  },
  {
    operation: 'getInput',
    list: '/api/inputs',
    path: '/api/inputs/graphite',
    body: { ...way, networks: [] },
    other: { networks: ['192.0.2.0/24'] },
    field: 'networks',
  },
  {
    operation: 'getMetricMeaning',
    path: '/api/metric-meanings/checkout',
    body: { unit: 'seconds', description: 'until it is paid', limit: null },
    other: { limit: 0.25 },
    field: 'limit',
  },
  {
    operation: 'getAuditRetention',
    path: '/api/audit-retention',
    body: { days: 400, entries: 100_000 },
    other: { days: 365 },
    field: 'days',
  },
  {
    operation: 'getAuditForwarding',
    path: '/api/audit-forwarding',
    body: { enabled: false, host: 'logs.example', port: 6514 },
    other: { port: 6515 },
    field: 'port',
  },
  {
    operation: 'getSecondFactorPolicy',
    path: '/api/second-factor-policy',
    body: { requiredFrom: null },
    other: { requiredFrom: '2027-01-01T00:00:00.000Z' },
    field: 'requiredFrom',
  },
  {
    operation: 'getHost',
    path: '/api/hosts/web1',
    body: { note: '', ownLabels: {} },
    other: { note: 'Below the stairs' },
    field: 'note',
  },
  { operation: 'getSnmpAgent', path: '/api/snmp-agent', body: agent, other: { contact: 'ada' }, field: 'contact' },
  {
    ...{ operation: 'getTuning', path: '/api/tuning', body: { values: {} } },
    ...{ other: { values: { 'writes-per-disk': 4 } }, field: 'values' },
  },
  {
    ...{ operation: 'getTime', path: '/api/time', body: { servers: [], fromNetwork: true } },
    ...{ other: { fromNetwork: false }, field: 'fromNetwork' },
  },
  {
    ...{ operation: 'getSshAccess', path: '/api/ssh-access', body: { enabledUntil: null, networks: ['own'] } },
    ...{ other: { networks: ['192.0.2.0/24'] }, field: 'networks' },
  },
];

/** A pool with a dataset, and a stand-in for what of storaged can be edited. */
async function ready(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  const disks = [1, 2, 3, 4].map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`);
  const { body } = await on.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true });
  await eventually(async () => assert.equal((await on.client.get(`/api/jobs/${body.id}`)).body.state, 'done'));
  for (const name of ['tank/a', 'tank/copies']) {
    assert.equal((await on.client.post('/api/datasets', { name, kind: 'filesystem', properties: {} })).status, 201);
  }
  assert.equal((await on.client.post('/api/users', { name: 'bob', role: 'viewer' })).status, 201);
  await addFactor(on);
  let retention = kept;
  let meanings: object[] = [];
  let ways: { revision: string; inputs: { graphite?: object } } = { revision: '', inputs: {} };
  const store = createServer(async (request, response) => {
    if (request.url === '/admin/inputs') {
      if (request.method === 'PUT') ways = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8'));
      const since = { listens: [], newSeries: Date.now(), refused: {}, senders: [] };
      const graphite = { ...(ways.inputs.graphite ?? { ...way, networks: [] }), ...since };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ revision: ways.revision, inputs: { graphite } }));
      return;
    }
    if (request.url?.startsWith('/admin/outputs')) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ revision: '', status: [], valid: true }));
      return;
    }
    if (request.url === '/admin/meanings') {
      if (request.method === 'PUT') {
        const wanted = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8')).metrics as {
          unit?: string;
        }[];
        meanings = wanted.filter(({ unit }) => unit !== undefined);
      }
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ metrics: meanings }));
      return;
    }
    if (request.url === '/admin/recording-rules') {
      response.setHeader('content-type', 'application/json');
      response.end('{"rules":[]}');
      return;
    }
    if (request.url === '/api/v1/hosts') {
      const web1 = { name: 'web1', by: ['host'], series: 1, inputs: [], labels: {}, intervalSeconds: 10 };
      const times = { firstTime: 1, lastTime: Date.now() / 1000, heardTime: Date.now() / 1000 };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          version: '1-1',
          full: true,
          now: Date.now() / 1000,
          hosts: [{ ...web1, ...times }],
          gone: [],
        }),
      );
      return;
    }
    if (request.method === 'PUT') retention = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8'));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...retention, stored: { rawBytes: Date.now(), rollupBytes: 0, oldest: null } }));
  });
  mkdirSync(join(on.directory, 'run', 'storaged'), { recursive: true });
  store.listen(join(on.directory, 'run', 'storaged', 'http.sock'));
  await once(store, 'listening');
  t.after(() => store.close());
  await on.appliance.hosts.look();
  return on;
}

/** Makes it if it has to be made; its path. */
async function made({ client }: Bench, { list, make, path }: Editable): Promise<string> {
  if (make === undefined) return path;
  const { status, body, headers } = await client.post(list as string, make);
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(headers.etag, `"${body.etag}"`, 'what was made answers its ETag');
  return path.replace('ID', body.id);
}

const put = ({ client }: Bench, path: string, body: object, etag?: string): Promise<Answer> =>
  client.put(path, body, etag === undefined ? {} : { headers: { 'if-match': etag } });
const remove = ({ client }: Bench, path: string, body: unknown, etag?: string): Promise<Answer> =>
  client.request('DELETE', path, body, etag === undefined ? {} : { headers: { 'if-match': etag } });

test('everything that a PUT changes has an ETag, and is in the table of these tests', () => {
  const routes = allRoutes.flatMap((one) => Object.entries(one)).filter(([, { path }]) => path.startsWith('/api/'));
  for (const [id, { path }] of routes.filter(([, { method }]) => method === 'PUT')) {
    const found = routes.find(([, one]) => one.method === 'GET' && one.path === path && one.editable !== undefined);
    assert.ok(found, `${id}: no GET of ${path} declares what is editable`);
    assert.ok(
      editables.some(({ operation }) => operation === found[0]),
      `${found[0]} is not tested`,
    );
  }
});

for (const one of editables) {
  test(`two edit at once: ${one.operation.slice(3)}`, async (t) => {
    const on = await ready(t);
    const { client } = on;
    const path = await made(on, one);
    const first = await client.get(path);
    const loaded = first.headers.etag as string;
    assert.equal(loaded, `"${first.body.etag}"`);
    // What is there already is edited as it was loaded.
    const body =
      one.make !== undefined
        ? one.body
        : Object.fromEntries(Object.keys(one.body).map((name) => [name, first.body[name]]));
    // What changes by itself is no edit.
    on.clock.advance(7);
    assert.equal((await client.get(path)).headers.etag, loaded);
    if (one.list !== undefined) {
      const { items } = (await client.get(one.list)).body;
      assert.equal(
        items.filter(({ etag }: { etag: string }) => `"${etag}"` === loaded).length >= 1,
        true,
        'in its list',
      );
      assert.ok(items.every(({ etag }: { etag: unknown }) => typeof etag === 'string'));
    }

    const mine = await put(on, path, { ...body, ...one.other }, loaded);
    assert.equal(mine.status, 200, JSON.stringify(mine.body));
    const now = (await client.get(path)).headers.etag as string;
    assert.notEqual(now, loaded);
    assert.equal(mine.headers.etag, now, 'a change answers the new ETag');

    const theirs = await put(on, path, body, loaded);
    assert.deepEqual([theirs.status, theirs.body.code], [412, 'edit_conflict']);
    assert.match(theirs.body.detail, new RegExp(`^“${one.field}” was changed after it was loaded.* by ada at `));
    assert.deepEqual(
      theirs.body.errors.map((error: { path: string }) => error.path),
      [`/${one.field}`],
    );
    assert.match(theirs.body.action, /Reload, compare, save again/);
    assert.equal((await client.get(path)).headers.etag, now, 'nothing was written');

    if (one.remove !== undefined) {
      const confirmation = one.remove === true ? undefined : one.remove;
      assert.equal((await remove(on, path, confirmation, loaded)).body.code, 'edit_conflict');
      assert.equal((await client.get(path)).status, 200);
      // A proxy that compresses marks it as weak.
      assert.equal((await remove(on, path, confirmation, `W/${now}`)).status, 204);
      assert.equal((await put(on, path, body, now)).status, 404);
    } else {
      assert.equal((await put(on, path, body)).status, 200, 'without If-Match a script writes as before');
    }
  });
}

test('of two who save in the same moment one is told; without quotes, and any, are taken too', async (t) => {
  const on = await ready(t);
  const { body } = await on.client.post('/api/thresholds', rule);
  const path = `/api/thresholds/${body.id}`;
  const both = await Promise.all([20, 30].map((raise) => put(on, path, { ...rule, raise }, body.etag)));
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
  assert.equal((await put(on, path, rule, '*')).status, 200);
  // An ETag of another version has another set of fields: it is known that it changed, and not what.
  const { body: refused } = await put(on, path, rule, '"of-another-version"');
  assert.match(refused.detail, /^It was changed after it was loaded/);
  assert.deepEqual(refused.errors ?? [], []);
});
