import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { freePorts } from '../../../../tests/ports.ts';
import { signed } from '../../../tests/certificates.ts';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { Peer } from '../../peers/peer.ts';

/** A real storaged on the socket where akd looks for it. */
async function storaged(t: TestContext, { directory }: Bench): Promise<ChildProcess> {
  mkdirSync(join(directory, 'run', 'storaged'), { recursive: true });
  const socket = join(directory, 'run', 'storaged', 'http.sock');
  const places = ['--data', join(directory, 'data'), '--socket', socket, '--statsd', ''];
  places.push('--tls-folder', join(directory, 'tls'));
  const running = spawn(program('storaged'), places, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  running.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  t.after(() => ended(running));
  await eventually(() => assert.match(said, /ready/, said));
  return running;
}

async function ended(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return;
  running.kill('SIGTERM');
  await once(running, 'exit');
}

const DAY_MS = 86_400_000;

const off = {
  ...{ enabled: false, networks: ['192.0.2.0/24'], seriesPerSecond: 0, seriesBurst: 0 },
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

test('an input is switched off, that is in the audit log, and a store that forgot it is told again', async (t) => {
  const b = await bench(t);
  const { client, appliance } = b;
  await client.setUp();
  assert.equal((await client.get('/api/inputs')).status, 503, 'nobody knows while the store is down');
  const first = await storaged(t, b);
  const { items } = (await client.get('/api/inputs')).body;
  assert.deepEqual(items.map(({ name }: { name: string }) => name).sort(), [
    'collectd',
    'collectd_http',
    'graphite',
    'httptrap',
    'import',
    'influx',
    'influx_socket',
    'otlp',
    'remote_write',
    'statsd',
  ]);
  const set = await client.put('/api/inputs/import', off);
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.deepEqual([set.body.enabled, set.body.networks], [false, ['192.0.2.0/24']]);
  const [entry] = (await client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual(
    [entry.action, entry.target, entry.before.enabled, entry.after.enabled],
    ['input.set', 'import', true, false],
  );

  const enabled = async () => (await client.get('/api/inputs/import')).body.enabled;
  await ended(first);
  const second = await storaged(t, b);
  assert.equal(await enabled(), false, 'the store keeps it');
  await ended(second);
  rmSync(join(b.directory, 'data', 'inputs.json'));
  await storaged(t, b);
  assert.equal(await enabled(), true);
  await eventually(async () => {
    await appliance.poller.look();
    assert.equal(await enabled(), false);
  });
});

test('an address has a limit of samples, and what is over it is counted as its', async (t) => {
  const b = await bench(t);
  const { client } = b;
  await client.setUp();
  await storaged(t, b);
  const input = { ...off, enabled: true, networks: [] };
  assert.equal((await client.get('/api/inputs/import')).body.senderSamplesPerSecond, 0);
  const set = await client.put('/api/inputs/import', { ...input, senderSamplesPerSecond: 1 });
  assert.deepEqual([set.status, set.body.senderSamplesPerSecond], [200, 1]);
  const kept = JSON.parse(readFileSync(join(b.directory, 'data', 'inputs.json'), 'utf8'));
  assert.equal(kept.inputs.import.senderSamplesPerSecond, 1);
});

test('settings that cannot be are named, and change nothing', async (t) => {
  const b = await bench(t);
  const { client, appliance } = b;
  await client.setUp();
  await storaged(t, b);
  for (const [change, path] of [
    [{ networks: ['192.0.2.0/24', 'home'] }, '/networks'],
    [{ seriesPerSecond: 5 }, '/seriesBurst'],
    [{ senderSeriesPerSecond: 5 }, '/senderSeriesBurst'],
  ] as const) {
    const answer = await client.put('/api/inputs/import', { ...off, ...change });
    assert.equal(answer.status, 400);
    assert.deepEqual(
      answer.body.errors.map((one: { path: string }) => one.path),
      [path],
    );
  }
  const masked = await client.put('/api/inputs/import', { ...off, networks: ['192.0.2.7/24'] });
  assert.match(
    masked.body.detail,
    /write 192\.0\.2\.0\/24 for the network/,
    'what only the store finds is said as well',
  );
  assert.equal((await client.put('/api/inputs/gopher', off)).status, 404);
  assert.equal((await client.get('/api/inputs/import')).body.enabled, true);
  assert.equal((await new Client(appliance).get('/api/inputs')).status, 401);
});

test('what asks for no token is kept to the own networks of a new appliance, and not of one that was set up before', async (t) => {
  const b = await bench(t);
  const { client, appliance } = b;
  await client.setUp();
  await storaged(t, b);
  const statsd = async () => (await client.get('/api/inputs/statsd')).body;
  await eventually(async () => {
    await appliance.poller.look();
    assert.deepEqual((await statsd()).networks, ['own']);
  });
  assert.ok((await statsd()).ownNetworks.includes('127.0.0.0/8'));
  assert.deepEqual((await client.get('/api/inputs/import')).body.networks, [], 'it asks for a token');
  const { name: _name, etag: _etag, listens: _listens, newSeries: _new, refused: _refused, ...rest } = await statsd();
  const { senders: _senders, ownNetworks: _own, tlsListens: _tls, ...settings } = rest;
  const wider = await client.put('/api/inputs/statsd', { ...settings, networks: ['own', '192.0.2.7'] });
  assert.equal(wider.status, 200, JSON.stringify(wider.body));
  assert.deepEqual(wider.body.networks, ['own', '192.0.2.7/32']);
  assert.deepEqual((await client.get('/api/inputs/collectd')).body.networks, ['own'], 'the others stay');

  const before = await bench(t);
  await before.client.setUp();
  await before.client.post('/api/setup/finish');
  before.appliance.db.run("DELETE FROM settings WHERE key = 'inputs.ownByDefault'");
  const later = await before.restart();
  await storaged(t, later);
  await later.appliance.poller.look();
  await later.client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.deepEqual((await later.client.get('/api/inputs/statsd')).body.networks, []);
});

/** Sends a line by TLS to who shows that certificate. */
async function said(port: number, ca: string, line: string): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, ca });
  await once(socket, 'secureConnect');
  socket.end(line);
  await once(socket, 'close');
}

test('an input listens for TLS, by a certificate that clients are given; another one is made when it is asked for', async (t) => {
  const b = await bench(t);
  const { client } = b;
  await client.setUp();
  await storaged(t, b);
  const certificate = async () => (await client.get('/api/input-certificate')).body;
  assert.deepEqual(await certificate(), {
    ...{ pem: null, sha256: null, names: [], validFrom: null, validTo: null, own: true, because: null, problem: null },
  });
  assert.equal((await client.post('/api/input-certificate/replace')).status, 409, 'there is none');
  const [port, other] = (await freePorts(2)) as [number, number];
  const open = { ...off, enabled: true, networks: [], picklePort: 0 };
  const set = await client.put('/api/inputs/graphite', { ...open, port: other, tlsPort: port });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.equal(set.body.listens.length, 2);
  assert.equal(set.body.tlsListens, set.body.listens[1]);
  assert.match(set.body.tlsListens, new RegExp(`:${port}$`));
  const first = await certificate();
  const shown = new X509Certificate(first.pem);
  assert.equal(shown.fingerprint256.replaceAll(':', '').toLowerCase(), first.sha256);
  assert.ok(first.names.includes('127.0.0.1'));
  assert.deepEqual([first.own, first.because, first.problem], [true, null, null]);
  assert.ok(Date.parse(first.validTo) - Date.parse(first.validFrom) > 3600 * DAY_MS);
  assert.doesNotMatch(JSON.stringify(first), /PRIVATE/);
  await said(port, first.pem, `by.tls 7 ${Math.floor(Date.now() / 1000)}\n`);
  await eventually(async () => assert.equal((await client.get('/api/inputs/graphite')).body.newSeries, 1));

  const renewed = await client.post('/api/input-certificate/replace');
  assert.equal(renewed.status, 200, JSON.stringify(renewed.body));
  assert.notEqual(renewed.body.sha256, first.sha256);
  assert.match(renewed.body.because, /somebody asked/);
  await assert.rejects(said(port, first.pem, ''), 'who trusts the old one does not connect');
  const [entry] = (await client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual(
    [entry.action, entry.before.sha256, entry.after.sha256],
    ['input.replace-certificate', first.sha256, renewed.body.sha256],
  );

  for (const [change, words] of [
    [{ tlsClientCa: 'x' }, /has no certificate in it/],
    [{ tlsClientCa: renewed.body.pem }, /is not a CA's/],
    [{ tlsPort: 9443 }, /belongs to programs with a certificate/],
    [{ port: 0, tlsPort: null }, /give it a port for TLS/],
  ] as const) {
    const answer = await client.put('/api/inputs/graphite', { ...open, port: other, tlsPort: port, ...change });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.match(answer.body.detail, words);
  }
  const { ca } = signed(['DNS:sender']);
  const strict = await client.put('/api/inputs/graphite', { ...open, port: 0, tlsPort: port, tlsClientCa: ca });
  assert.equal(strict.status, 200, JSON.stringify(strict.body));
  assert.deepEqual([strict.body.listens.length, strict.body.tlsClientCa], [1, ca]);
  await said(port, renewed.body.pem, 'x 1 1\n').catch(() => {});
  await eventually(async () => {
    const { refused, senders } = (await client.get('/api/inputs/graphite')).body;
    assert.ok(refused.tls_client_certificate >= 1);
    assert.equal(senders[0].address, '127.0.0.1');
  });
});

test('a month before the certificate of the inputs ends there is an alert', async (t) => {
  const b = await bench(t, { start: true });
  const { client, clock } = b;
  await client.setUp();
  await storaged(t, b);
  const [port, other] = (await freePorts(2)) as [number, number];
  const open = { ...off, enabled: true, networks: [], picklePort: 0, port: other, tlsPort: port };
  assert.equal((await client.put('/api/inputs/graphite', open)).status, 200);
  const { validTo } = (await client.get('/api/input-certificate')).body;
  const alerts = async (on: Bench) =>
    (await on.client.get('/api/alerts?state=active')).body.items
      .filter((one: { class: string }) => one.class === 'input.expiring')
      .map(({ severity, title }: { severity: string; title: string }) => `${severity}: ${title}`);
  clock.advance((Date.parse(validTo) - clock.now()) / 1000 - 9.5 * 86_400);
  const later = await b.restart(); // it is looked for hourly, and at the start
  await later.client.post('/api/session', { user: 'ada', password: PASSWORD });
  await eventually(async () =>
    assert.deepEqual(await alerts(later), ['warning: The certificate of the inputs’ TLS ports expires in 9 days']),
  );
});

/** Sends a packet from one of this machine's own addresses. */
async function sent(from: string, port: number, line: string): Promise<void> {
  const socket = createSocket('udp4');
  socket.bind(0, from);
  await once(socket, 'listening');
  await new Promise((resolve) => socket.send(line, port, '127.0.0.1', resolve));
  socket.close();
}

test('a new sender is named, refused, and taken again', async (t) => {
  const b = await bench(t);
  const { client } = b;
  await client.setUp();
  await storaged(t, b);
  const port = (await freePorts(1))[0] as number;
  const open = { ...off, enabled: true, networks: [] };
  assert.equal((await client.put('/api/inputs/statsd', { ...open, port })).status, 200);
  const statsd = async () => (await client.get('/api/inputs/statsd')).body;
  const names = async () => {
    const query = encodeURIComponent('{__name__="a"}');
    const path = `/api/v1/query?query=${query}`;
    const peer = new Peer('storaged', join(b.directory, 'run', 'storaged', 'http.sock'));
    const { data } = (await peer.call({ method: 'GET', path, deadlineMs: 5_000 })) as {
      data: { result: { metric: { host?: string } }[] };
    };
    return data.result.map(({ metric }) => metric.host ?? null).sort();
  };
  for (const from of ['127.0.0.1', '127.0.0.2']) await sent(from, port, 'a:1|c');
  await eventually(async () => assert.deepEqual(await names(), [null]));

  const act = (verb: string, body: object) => client.post(`/api/inputs/statsd/${verb}`, body);
  const named = await act('name-sender', { address: '127.0.0.2', hostName: 'web1' });
  assert.equal(named.status, 200, JSON.stringify(named.body));
  assert.deepEqual(named.body.hostNames, [{ address: '127.0.0.2', name: 'web1' }]);
  for (const from of ['127.0.0.1', '127.0.0.2']) await sent(from, port, 'a:1|c');
  await eventually(async () => assert.deepEqual(await names(), [null, 'web1']));
  assert.deepEqual((await act('name-sender', { address: '127.0.0.2', hostName: null })).body.hostNames, []);

  const refused = await act('refuse-sender', { address: '127.0.0.1' });
  assert.deepEqual([refused.status, refused.body.refusedSenders], [200, ['127.0.0.1']]);
  await sent('127.0.0.1', port, 'b:1|c');
  await eventually(async () => assert.equal((await statsd()).refused.sender_refused, 1));
  const back = await act('withdraw-refusal', { address: '127.0.0.1' });
  assert.deepEqual([back.status, back.body.refusedSenders], [200, []]);
  assert.equal((await act('withdraw-refusal', { address: '127.0.0.1' })).status, 404);
  assert.equal((await act('refuse-sender', { address: '192.0.2.0/24' })).status, 400);
  assert.match(
    (await act('name-sender', { address: 'web1', hostName: 'x' })).body.detail,
    /web1 is neither an address/,
  );
  const other = await client.post('/api/inputs/otlp/name-sender', { address: '192.0.2.7', hostName: 'x' });
  assert.match(other.body.detail, /names its host itself/);

  const entries = (await client.get('/api/audit-log?limit=4')).body.items;
  assert.deepEqual(
    entries.map(({ action, target }: { action: string; target: string }) => `${action} ${target}`),
    [
      'input.withdraw-refusal 127.0.0.1 by statsd',
      'input.refuse-sender 127.0.0.1 by statsd',
      'input.name-sender 127.0.0.2 by statsd',
      'input.name-sender 127.0.0.2 by statsd',
    ],
  );
});
