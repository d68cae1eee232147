import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { networkBy } from '../../platform/network-settings.ts';
import { Settings } from '../../state/settings.ts';

import { Network } from './network.ts';

const off = { method: 'off', addresses: [], gateway: '' };
const dhcp = { ...off, method: 'dhcp' };
const port = (n: number, ipv4: object, ipv6: object = off) => ({
  ...{ name: `eno${n}`, kind: 'port', mac: `02:00:5e:10:00:0${n}`, mtu: 1500, ipv4, ipv6 },
  ...{ mode: '', members: [], fastLacp: false, parent: '', id: 0 },
});
const settings = (...interfaces: object[]) => ({
  ...{ interfaces, routes: [], dns: [], search: [], dnsFromNetwork: true },
});
const fixed = (address: string, gateway = '192.0.2.1') => ({ method: 'static', addresses: [address], gateway });

async function machine(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}

const addresses = (body: { links: { name: string; addresses: string[] }[] }) =>
  Object.fromEntries(body.links.map((one) => [one.name, one.addresses]));

test('an address is tried; whoever has the token confirms it without signing in', async (t) => {
  const on = await machine(t);
  const first = (await on.client.get('/api/network')).body;
  assert.deepEqual(first.settings.interfaces, []);
  assert.equal(first.sentence, 'It has 1 address, and the gateway 192.0.2.1.');
  assert.deepEqual(addresses(first), { eno1: ['192.0.2.10/24'], eno2: [] });
  assert.deepEqual(
    first.links.map(({ state, sentence }: Record<string, string>) => [state, sentence]),
    [
      ['up', 'It has its addresses.'],
      ['down', 'No cable, or nothing at its other end.'],
    ],
  );

  const wanted = settings(port(1, fixed('192.0.2.77/24')));
  const { status, body } = await on.client.post('/api/network/try', { ...wanted, seconds: 60 });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.trying.missing, body.trying.by], ['It is being set.', 'ada']);
  assert.deepEqual(body.trying.addresses, ['192.0.2.77']);
  const { token } = body.trying;
  const nobody = new Client(on.appliance);
  const early = await nobody.post('/api/network/confirm', { token });
  assert.deepEqual([early.status, early.body.code], [409, 'conflict']);
  on.clock.advance(3);
  const holds = (await on.client.get('/api/network')).body;
  assert.deepEqual([addresses(holds).eno1, holds.trying.missing], [['192.0.2.77/24'], '']);
  assert.equal((await on.client.post('/api/network/try', wanted)).status, 409, 'one at a time');
  assert.equal((await nobody.post('/api/network/confirm', { token: 'guessed' })).status, 409);
  assert.equal((await nobody.post('/api/network/confirm', { token })).status, 204);
  assert.equal((await nobody.post('/api/network/confirm', { token })).status, 409);
  const kept = (await on.client.get('/api/network')).body;
  assert.deepEqual(
    [kept.trying, kept.ended, kept.settings.interfaces[0].ipv4.addresses],
    [null, null, ['192.0.2.77/24']],
  );
  const { items } = (await on.client.get('/api/audit-log?limit=2')).body;
  assert.deepEqual(
    items.map((one: Record<string, string>) => [one.action, one.user]),
    [
      ['network.confirm', 'ada'],
      ['network.try', 'ada'],
    ],
  );
});

test('a change that nobody confirms is taken back, and so is an address that another machine has', async (t) => {
  const on = await machine(t);
  const wanted = settings(port(1, fixed('192.0.2.77/24')));
  const now = async () => (await on.client.get('/api/network')).body;
  const last = async () => (await on.client.get('/api/audit-log?limit=1')).body.items[0];

  await on.client.post('/api/network/try', { ...wanted, seconds: 60 });
  on.clock.advance(30);
  assert.deepEqual(addresses(await now()).eno1, ['192.0.2.77/24']);
  on.clock.advance(31);
  const back = await now();
  assert.deepEqual(
    [addresses(back).eno1, back.trying, back.ended.why],
    [['192.0.2.10/24'], null, 'Nobody confirmed it in time.'],
  );
  const entry = await last();
  assert.deepEqual(
    [entry.action, entry.user, entry.after.reason],
    ['network.take-back', 'appliance', 'Nobody confirmed it in time.'],
  );

  await on.simulation.simulate('network-duplicate', { address: '192.0.2.77/24' });
  await on.client.post('/api/network/try', wanted);
  on.clock.advance(3);
  assert.match((await now()).ended.why, /Another machine has the address 192\.0\.2\.77\/24 already/);

  await on.simulation.simulate('network-duplicate', { address: '' });
  await on.client.post('/api/network/try', wanted);
  const cancelled = await on.client.post('/api/network/cancel');
  assert.deepEqual(
    [cancelled.status, cancelled.body.trying, cancelled.body.ended.why],
    [200, null, 'Somebody took it back.'],
  );
  assert.deepEqual([(await last()).action, (await last()).user], ['network.take-back', 'ada']);
  assert.equal((await on.client.post('/api/network/cancel')).status, 409);
  on.clock.advance(86_401);
  await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal((await on.client.get('/api/network')).body.ended, null);
});

test('what would cut the machine off is refused at its place', async (t) => {
  const on = await machine(t);
  for (const [body, path, says] of [
    [
      settings(port(1, fixed('192.0.2.77/24', ''))),
      '/interfaces/0/ipv4/gateway',
      /no gateway any more \(now it is 192/,
    ],
    [settings(port(1, off)), '/interfaces', /nobody could reach the page/],
    [settings(port(1, fixed('192.0.2.77/24', '198.51.100.1'))), '/interfaces/0/ipv4/gateway', /in no network of eno1/],
    [settings(port(1, dhcp), port(2, fixed('192.0.2.0/24'))), '/interfaces/1/ipv4/addresses/0', /the network itself/],
    [settings(port(3, dhcp)), '/interfaces/0/mac', /No port of this machine/],
    [{ ...settings(port(1, dhcp)), dns: ['dns'] }, '/dns/0', /no address of a DNS server/],
  ] as const) {
    const refused = await on.client.post('/api/network/try', body);
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    assert.match(refused.body.detail, says);
    assert.equal(refused.body.errors[0].path, path);
  }
  assert.equal((await on.client.get('/api/network')).body.trying, null);
  const meant = { ...settings(port(1, fixed('192.0.2.77/24', ''))), isolated: true };
  assert.equal((await on.client.post('/api/network/try', meant)).status, 200);
  on.clock.advance(3);
  const { sentence } = (await on.client.get('/api/network')).body;
  assert.equal(sentence, 'It has 1 address, and no gateway: only its own networks are reached.');
});

test('a VLAN of a port, and a bond without a cable, in words', async (t) => {
  const on = await machine(t);
  const vlan = {
    ...port(1, fixed('198.51.100.7/24', '')),
    name: 'vlan7',
    kind: 'vlan',
    mac: '',
    parent: 'eno1',
    id: 7,
  };
  const { status, body } = await on.client.post('/api/network/try', settings(port(1, dhcp), vlan));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.trying.addresses.sort(), ['192.0.2.10', '198.51.100.7']);
  on.clock.advance(3);
  assert.deepEqual(addresses((await on.client.get('/api/network')).body), {
    ...{ eno1: ['192.0.2.10/24'], eno2: [], vlan7: ['198.51.100.7/24'] },
  });
});

test('why nobody is reached is an alert: no address, one that is taken, a silent gateway, nobody to ask for names', async (t) => {
  const on = await machine(t);
  const network = new Network({
    ...on.appliance,
    platform: on.simulation,
    settings: new Settings(on.appliance.db),
  } as never);
  const active = async () => {
    await network.look();
    on.clock.advance(100);
    await network.look();
    return (await on.client.get('/api/alerts')).body.items
      .filter(({ class: of }: { class: string }) => /^(address|gateway|dns)\./.test(of))
      .map(({ title }: { title: string }) => title);
  };
  assert.deepEqual(await active(), []);
  await on.simulation.simulate('link', { name: 'eno2', carrier: true });
  assert.deepEqual(await active(), ['eno2 has no address']);
  await on.simulation.simulate('link', { name: 'eno2', carrier: false });
  await on.simulation.simulate('gateway', { silent: true });
  assert.deepEqual(await active(), ['The gateway 192.0.2.1 does not answer']);
  await on.simulation.simulate('gateway', { silent: false });
  await on.simulation.simulate('network-duplicate', { address: '192.0.2.10/24' });
  assert.deepEqual(await active(), ['Another machine has the address 192.0.2.10/24']);
  await on.simulation.simulate('network-duplicate', { address: '' });
  // What is left out stays as it is.
  const { token } = (await on.client.post('/api/network/try', { dnsFromNetwork: false })).body.trying;
  on.clock.advance(3);
  assert.equal((await on.client.post('/api/network/confirm', { token })).status, 204);
  assert.deepEqual(await active(), ['There is nobody to ask for names']);
});

test('execd is given the document with its version', async () => {
  const ran: unknown[] = [];
  const network = networkBy(async (verb, body) => {
    ran.push([verb, body]);
    return { token: 'secret' };
  });
  const document = { version: 1 as const, interfaces: [], routes: [], dns: [], search: [], dnsFromNetwork: true };
  assert.equal(await network.try({ document, seconds: 60, isolated: false }), 'secret');
  await network.takeBack('secret');
  assert.deepEqual(ran, [
    ['network.try', { document, seconds: 60, isolated: false }],
    ['network.take-back', { token: 'secret' }],
  ]);
});
