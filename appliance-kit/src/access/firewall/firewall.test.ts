import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, Client, PASSWORD } from '../../../tests/harness.ts';
import type { Door } from '../../analytics/inputs/index.ts';
import { listensForSsh, parseFirewall } from '../../platform/execd-firewall.ts';
import { letsIn } from './firewall.ts';
import type { Firewall } from './schema.ts';
import { documentOf } from './services.ts';

const nothing = {
  doors: [],
  certificates: false,
  snmpPolled: false,
  replicationPort: null,
  sshListens: false,
  sshNetworks: null,
};
const empty = { version: 1 as const, services: [] };
const service = (body: Firewall, name: string) =>
  body.services.find((one) => one.name === name) as Firewall['services'][number];

test('the document: what is on has its ports, and keeps its networks when it is off', () => {
  const kept = {
    version: 1 as const,
    services: [
      { name: 'https', ports: [], networks: ['192.0.2.0/24'] },
      { name: 'snmp', ports: [], networks: ['198.51.100.0/24'] },
      { name: 'statsd', ports: [{ protocol: 'udp' as const, port: 8125 }], networks: ['own'] },
    ],
  };
  const doors: Door[] = [
    { name: 'graphite', protocol: 'tcp', port: 2003, networks: ['own'] },
    { name: 'graphite', protocol: 'tcp', port: 22, networks: ['own'] },
  ];
  const on = documentOf(
    kept,
    { doors, certificates: true, snmpPolled: true, replicationPort: 8022, sshListens: true, sshNetworks: null },
    ['own'],
  );
  assert.deepEqual(
    on.services.map(({ name, ports, networks }) => [name, ports.map(({ port }) => port).join(' '), networks.join(' ')]),
    [
      ['https', '80 443', '192.0.2.0/24'],
      ['certificates', '9443', ''],
      ['snmp', '161', '198.51.100.0/24'],
      ['replication', '8022', 'own'],
      ['ssh', '22', 'own'],
      // A port that another service has is not opened a second time.
      ['graphite', '2003', 'own'],
    ],
  );
  const off = documentOf(on, { ...nothing, doors: null }, []);
  assert.deepEqual(
    off.services.map(({ name, ports, networks }) => [name, ports.length, networks.join(' ')]),
    [
      ['https', 2, '192.0.2.0/24'],
      ['certificates', 0, ''],
      ['snmp', 0, '198.51.100.0/24'],
      ['replication', 0, 'own'],
      ['ssh', 0, 'own'],
      // The store is down: what its inputs listened at stays as it was.
      ['graphite', 1, 'own'],
    ],
  );
  // ssh for users of the appliance brings its own networks, and its port before anything listens there.
  const ssh = documentOf(on, { ...nothing, sshNetworks: ['203.0.113.0/24'] }, []).services[4];
  assert.deepEqual(ssh, { name: 'ssh', ports: [{ protocol: 'tcp', port: 22 }], networks: ['203.0.113.0/24'] });
  assert.deepEqual(
    documentOf(empty, nothing, ['own']).services.map(({ name, networks }) => [name, networks]),
    [
      ['https', []],
      ['certificates', []],
      ['snmp', ['own']],
      ['replication', ['own']],
      ['ssh', ['own']],
    ],
  );
});

test('whom networks let in', () => {
  const own = ['192.0.2.0/24', '2001:db8::/64'];
  for (const [networks, address, want] of [
    [[], '203.0.113.1', true],
    [['own'], '192.0.2.9', true],
    [['own'], '203.0.113.1', false],
    [['own'], '2001:db8::9', true],
    [['own'], '2001:db8:1::9', false],
    [['203.0.113.1/32'], '203.0.113.1', true],
    [['203.0.113.1/32'], '::ffff:203.0.113.1', true],
    [['203.0.113.1/32'], '127.0.0.1', true],
    [['203.0.113.1/32'], '::1', true],
    [['203.0.113.1/32'], 'local', true],
  ] as const) {
    assert.equal(letsIn(networks, own, address), want, `${networks} ${address}`);
  }
});

test('an sshd that listens is seen in the kernel’s table', () => {
  const head = '  sl  local_address rem_address   st tx_queue\n';
  assert.equal(listensForSsh(`${head}   0: 00000000:0016 00000000:0000 0A 0:0\n`), true);
  assert.equal(listensForSsh(`${head}   0: 0F02000A:0016 0202000A:D4A2 01 0:0\n`), false);
  assert.equal(listensForSsh(`${head}   0: 0100007F:0016 00000000:0000 0A 0:0\n`), false);
  assert.equal(listensForSsh(`${head}   0: 00000000:1F40 00000000:0000 0A 0:0\n`), false);
});

test('what execd says is read, and what cannot be is said', () => {
  const answer = {
    kept: { version: 1, services: [{ name: 'https', ports: [{ protocol: 'tcp', port: 443 }], networks: null }] },
    ...{ origin: 'kept', tried: null, own: [], differs: [], dropped: { other: 1 }, overLimit: null, senders: null },
    sendersFull: false,
  };
  assert.deepEqual(parseFirewall(answer).kept.services[0]?.networks, []);
  assert.throws(() => parseFirewall({ ...answer, dropped: 7 }), /cannot be read/);
  assert.throws(() => parseFirewall({ ...answer, overLimit: undefined }), /cannot be read/);
  assert.throws(() => parseFirewall(null), /cannot be read/);
});

test('a change is tried, and taken back unless it is confirmed; both are in the audit log', async (t) => {
  const { client, appliance, clock } = await bench(t);
  await client.setUp();
  await appliance.poller.look();
  assert.deepEqual(service((await client.get('/api/firewall')).body, 'snmp').networks, ['own']);
  const narrow = { services: [{ name: 'snmp', networks: ['198.51.100.7', '203.0.113.0/24'] }] };
  const tried = await client.post('/api/firewall/try', narrow);
  assert.equal(tried.status, 200, JSON.stringify(tried.body));
  assert.deepEqual([tried.body.trying.secondsLeft, tried.body.trying.mayConfirm], [60, true]);
  assert.deepEqual(service(tried.body, 'snmp').networks, ['198.51.100.7/32', '203.0.113.0/24']);
  assert.equal((await client.post('/api/firewall/try', narrow)).status, 409);

  clock.advance(61);
  const after = await client.get('/api/firewall');
  assert.deepEqual([after.body.trying, service(after.body, 'snmp').networks], [null, ['own']]);
  assert.equal((await client.post('/api/firewall/confirm')).status, 409);
  const [taken, entry] = (await client.get('/api/audit-log?limit=2')).body.items;
  assert.deepEqual([taken.action, taken.user], ['firewall.take-back', 'appliance']);
  assert.deepEqual(
    [entry.action, entry.before.snmp, entry.after.snmp],
    ['firewall.try', ['own'], ['198.51.100.7/32', '203.0.113.0/24']],
  );

  await client.post('/api/firewall/try', narrow);
  clock.advance(30);
  const kept = await client.post('/api/firewall/confirm');
  assert.equal(kept.status, 200, JSON.stringify(kept.body));
  clock.advance(61);
  await appliance.poller.look();
  const later = await client.get('/api/firewall');
  assert.deepEqual(
    [later.body.trying, service(later.body, 'snmp').networks],
    [null, ['198.51.100.7/32', '203.0.113.0/24']],
  );
  assert.equal((await client.get('/api/audit-log?limit=1')).body.items[0].action, 'firewall.confirm');

  await client.post('/api/firewall/try', { services: [{ name: 'snmp', networks: [] }] });
  const cancelled = await client.post('/api/firewall/cancel');
  assert.deepEqual(
    [cancelled.body.trying, service(cancelled.body, 'snmp').networks],
    [null, ['198.51.100.7/32', '203.0.113.0/24']],
  );
});

test('nobody closes the page for himself, and what cannot be is named', async (t) => {
  const { client: first, appliance } = await bench(t);
  await first.setUp();
  const client = new Client(appliance, '203.0.113.9');
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  client.password = PASSWORD;
  const locked = await client.post('/api/firewall/try', { services: [{ name: 'https', networks: ['192.0.2.0/24'] }] });
  assert.equal(locked.status, 400);
  assert.match(locked.body.detail, /would close the page for you\. You come from 203\.0\.113\.9/);
  assert.deepEqual(locked.body.errors[0].path, '/services/0/networks');
  for (const [services, path] of [
    [[{ name: 'statsd', networks: [] }], '/services/0/name'],
    [[{ name: 'snmp', networks: ['own', 'home'] }], '/services/0/networks/1'],
  ] as const) {
    const answer = await client.post('/api/firewall/try', { services });
    assert.deepEqual([answer.status, answer.body.errors?.[0]?.path], [400, path], JSON.stringify(answer.body));
  }
  assert.equal((await client.get('/api/firewall')).body.trying, null);
  const open = await client.post('/api/firewall/try', {
    services: [{ name: 'https', networks: ['192.0.2.0/24', '203.0.113.0/24'] }],
  });
  assert.equal(open.status, 200, JSON.stringify(open.body));
  const stranger = new Client(appliance);
  for (const path of ['try', 'confirm', 'cancel']) {
    assert.equal((await stranger.post(`/api/firewall/${path}`, { services: [] })).status, 401);
  }
  assert.equal((await stranger.get('/api/firewall')).status, 401);
});

test('what is switched on is opened, and closed again', async (t) => {
  const { client, appliance, simulation } = await bench(t);
  await client.setUp();
  const ports = async (name: string) =>
    service((await client.get('/api/firewall')).body, name)?.ports.map(({ port }) => port);
  await appliance.poller.look();
  assert.deepEqual(await ports('ssh'), []);
  await simulation.simulate('firewall-ssh', { on: true });
  await appliance.poller.look();
  assert.deepEqual(await ports('ssh'), [22]);
  await simulation.simulate('firewall-ssh', { on: false });
  await appliance.poller.look();
  assert.deepEqual(await ports('ssh'), []);
});

test('rules that somebody else has changed are an alert, and who was turned away is shown', async (t) => {
  const { client, appliance, clock, simulation } = await bench(t);
  await client.setUp();
  await simulation.simulate('firewall-ssh', { on: true });
  await appliance.poller.look();
  await simulation.simulate('firewall-drop', { address: '198.51.100.9', protocol: 'tcp', port: 22, packets: 7 });
  await simulation.simulate('firewall-differs', { rule: 'input: tcp dport [23] accept' });
  const { body } = await client.get('/api/firewall');
  assert.deepEqual(body.differs, ['This rule was not made here: input: tcp dport [23] accept']);
  const ssh = service(body, 'ssh');
  assert.deepEqual([ssh.dropped, ssh.senders[0]?.address, ssh.senders[0]?.packets], [7, '198.51.100.9', 7]);
  await appliance.poller.look();
  const alerts = async () =>
    (await client.get('/api/alerts?state=active')).body.items.filter(
      (one: { class: string }) => one.class === 'firewall.differs',
    );
  assert.match((await alerts())[0].text, /tcp dport \[23\] accept/);
  const input = { services: [{ name: 'ssh', networks: ['own', '198.51.100.0/24'] }] };
  const { body: letIn } = await client.post('/api/firewall/try', input);
  assert.deepEqual(service(letIn, 'ssh').senders, [], 'who is let in is not turned away');
  clock.advance(6 * 60);
  await appliance.poller.look();
  assert.deepEqual(await alerts(), []);
});
