// The addresses of the booted image, changed from outside as a person does it: what cuts the connection comes back by itself, what is
// confirmed at its new address stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePorts } from '../ports.ts';
import { Person } from '../stack/api.ts';
import { killedServices } from './clean.ts';
import { rowOf, wantsVariant } from './row.ts';
import { admin, readyMachine } from './saved.ts';
import { until } from './until.ts';

interface Interface {
  name: string;
  kind: string;
  mac: string;
  mtu: number;
  parent: string;
  id: number;
}
interface Settings {
  interfaces: Interface[];
  routes: { to: string; via: string }[];
  dns: string[];
  search: string[];
  dnsFromNetwork: boolean;
}
interface Network {
  settings: Settings;
  sentence: string;
  links: { name: string; kind: string; mac: string; mtu: number; state: string; addresses: string[] }[];
  gateways: { address: string; answers: boolean | null }[];
  dns: string[];
  trying: { token: string; secondsLeft: number; missing: string; addresses: string[] } | null;
  ended: { at: string; why: string } | null;
}

/** QEMU's network: its gateway, its DNS server, the address that its DHCP server gives, and another one. */
const [GATEWAY, DNS, GIVEN, OTHER] = ['10.0.2.2', '10.0.2.3', '10.0.2.15', '10.0.2.77'];
const none = { addresses: [], gateway: '' };
const off = { ...none, method: 'off' };

test('the addresses of the machine', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'addresses');
  watch.expect(...killedServices, /^execd: .*msg="a change of the network is taken back"/);
  const step = rowOf(t, () => ({ machine }));
  const network = (from = api) => from.get<Network>('GET', '/api/network');

  /** The page at the other address, which nobody has signed in to. */
  const [port = 0] = await freePorts(1);
  const forward = `hostfwd_add net0 tcp:127.0.0.1:${port}-${OTHER}:443`;
  const said = await machine.qmp('human-monitor-command', { 'command-line': forward });
  assert.equal(said, '');
  const there = new Person(`https://127.0.0.1:${port}`, 20_000);

  let first: Network;
  let cable: Interface;
  const fixed = (address: string, gateway: string) => ({
    ...cable,
    ipv4: { method: 'static', addresses: [address], gateway },
    ipv6: { ...none, method: 'auto' },
  });
  const attempt = (from: Person, interfaces: object[], seconds = 60, more: object = {}) =>
    from.get<Network>('POST', '/api/network/try', { ...first.settings, ...more, interfaces, seconds });
  /** Confirmed as the link in the page does, as soon as all is there. */
  const keep = (from: Person, token: string) =>
    until('it is kept', 55, async () => (await from.ask('POST', '/api/network/confirm', { token })).status === 204);
  const back = (from: Person, seconds: number) =>
    until('it is taken back', seconds, async () => {
      const now = await network(from);
      return now.trying === null && now.ended !== null && now;
    });
  const files = async () =>
    (await machine.sh('ls /run/systemd/network')).split('\n').filter((one) => /cistern/.test(one));

  await step('a machine of which nothing was set', async () => {
    first = await until('the gateway was asked', 30, async () => {
      const now = await network();
      return now.gateways[0]?.answers === true && now;
    });
    t.diagnostic(JSON.stringify(first));
    const [link] = first.links.filter(({ kind }) => kind === 'port');
    assert.ok(link);
    assert.deepEqual([link.state, link.mtu], ['up', 1500]);
    assert.ok(link.addresses.includes(`${GIVEN}/24`), link.addresses.join());
    assert.equal(first.gateways[0]?.address, GATEWAY);
    assert.ok(first.dns.includes(DNS), first.dns.join());
    assert.deepEqual([first.settings.interfaces, first.trying, first.ended], [[], null, null]);
    assert.deepEqual(await files(), []);
    assert.match(await machine.sh('systemctl is-active cistern-network'), /^active/);
    const { name, mac } = link;
    cable = {
      ...{ name, kind: 'port', mac, mtu: 1500, mode: '', members: [], fastLacp: false, parent: '', id: 0 },
    } as Interface;
  });

  await step('what would cut it off is refused', async () => {
    for (const [interfaces, says] of [
      [[{ ...cable, ipv4: off, ipv6: off }], /nobody could reach the page/],
      [[fixed(`${OTHER}/24`, '')], /no gateway any more \(now it is 10\.0\.2\.2\)/],
      [[{ ...fixed(`${OTHER}/24`, GATEWAY), mac: '52:54:00:99:99:99' }], /No port of this machine/],
    ] as const) {
      const body = { ...first.settings, interfaces, seconds: 60 };
      const refused = await api.ask('POST', '/api/network/try', body);
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, says);
    }
    assert.deepEqual(await files(), []);
  });

  await step('a wrong address: nobody reaches it, and in time the page works as before', async () => {
    const began = Date.now();
    const tried = await attempt(api, [fixed('198.51.100.7/24', '198.51.100.1')]);
    assert.deepEqual(tried.trying?.addresses.includes('198.51.100.7'), true);
    const quick = new Person(machine.url, 3_000);
    await until('it is gone', 40, () =>
      quick.ask('GET', '/api/setup').then(
        () => false,
        () => true,
      ),
    );
    const after = await back(api, 90);
    t.diagnostic(`the page worked again ${((Date.now() - began) / 1000).toFixed(0)} s after a try of 60`);
    assert.equal(after.ended?.why, 'Nobody confirmed it in time.');
    assert.ok(after.links.some(({ addresses }) => addresses.includes(`${GIVEN}/24`)));
    assert.deepEqual(await files(), []);
    const { items } = await api.get<{ items: { action: string; user: string }[] }>('GET', '/api/audit-log?limit=1');
    assert.deepEqual([items[0]?.action, items[0]?.user], ['network.take-back', 'appliance']);
  });

  await step('its own address is changed, and confirmed where it then is', async () => {
    const { trying } = await attempt(api, [fixed(`${OTHER}/24`, GATEWAY)], 120, { dns: [DNS], dnsFromNetwork: false });
    await keep(there, trying?.token ?? '');
    await there.get('POST', '/api/session', { user: admin.name, password: admin.password });
    const now = await network(there);
    t.diagnostic(JSON.stringify(now));
    const has = now.links.find(({ name }) => name === cable.name)?.addresses ?? [];
    assert.deepEqual(
      has.filter((one) => !one.includes(':')),
      [`${OTHER}/24`],
    );
    assert.deepEqual([now.trying, now.ended, now.dns, now.gateways[0]?.address], [null, null, [DNS], GATEWAY]);
    // Its resolver and its clock are asked by the way that is set now.
    assert.equal((await there.ask('GET', '/api/time')).status, 200);
  });

  await step('a VLAN is made, and is gone when it is removed', async () => {
    const vlan = {
      ...{ ...cable, name: 'vlan7', kind: 'vlan', mac: '', parent: cable.name, id: 7, mtu: 1400 },
      ...{ ipv4: { method: 'static', addresses: ['198.51.100.7/24'], gateway: '' }, ipv6: off },
    };
    const own = fixed(`${OTHER}/24`, GATEWAY);
    const routes = [{ to: '203.0.113.0/24', via: '198.51.100.1' }];
    const made = await attempt(there, [own, vlan], 60, { routes });
    await keep(there, made.trying?.token ?? '');
    const now = await network(there);
    const link = now.links.find(({ name }) => name === 'vlan7');
    assert.deepEqual([link?.kind, link?.mtu, link?.addresses], ['vlan', 1400, ['198.51.100.7/24']]);
    const gone = await attempt(there, [own], 60);
    await keep(there, gone.trying?.token ?? '');
    assert.equal(
      (await network(there)).links.some(({ name }) => name === 'vlan7'),
      false,
    );
  });

  await step('execd is killed while another address is tried: the one that is kept holds again', async () => {
    await attempt(there, [], 600);
    await until(
      'the address that DHCP gives holds',
      60,
      async () => (await api.ask('GET', '/api/setup')).status === 200,
    );
    await machine.waitForSsh(60);
    await machine.sh('systemctl kill -s KILL cistern-execd').catch(() => undefined);
    const after = await back(there, 60);
    assert.match(after.ended?.why ?? '', /started again before anybody/);
    assert.ok(after.links.some(({ addresses }) => addresses.includes(`${OTHER}/24`)));
  });

  for (const [name, end] of [
    ['a reset', () => machine.qmp('system_reset')],
    ['a reboot', () => api.ask('POST', '/api/machine/reboot')],
  ] as const) {
    const title = `${name} while another address is tried: it starts with the one that is kept`;
    if (!wantsVariant(title)) continue;
    await step(title, async () => {
      await attempt(there, [], 600);
      await until('what DHCP gives holds', 60, async () => (await api.ask('GET', '/api/setup')).status === 200);
      // The journal is in it until the end of an orderly one.
      watch.expect(/^systemd: Failed unmounting var-log\.mount/);
      await end();
      const after = await back(there, 240);
      assert.match(after.ended?.why ?? '', /started again before anybody/);
      assert.ok(after.links.some(({ addresses }) => addresses.includes(`${OTHER}/24`)));
    });
  }

  const silent = 'a gateway that is not there is an alert, until it is another one';
  if (wantsVariant(silent))
    await step(silent, async () => {
      const wrong = await attempt(there, [fixed(`${OTHER}/24`, '10.0.2.99')], 60);
      await keep(there, wrong.trying?.token ?? '');
      const active = async () =>
        (await there.get<{ items: { title: string }[] }>('GET', '/api/alerts')).items.map(({ title }) => title);
      await until(
        'it is told',
        400,
        async () => (await active()).includes('The gateway 10.0.2.99 does not answer'),
        5000,
      );
      const right = await attempt(there, [fixed(`${OTHER}/24`, GATEWAY)], 60);
      await keep(there, right.trying?.token ?? '');
      await until(
        'it is over',
        200,
        async () => !(await active()).some((title) => title.startsWith('The gateway')),
        5000,
      );
    });

  let isBack = false;
  const asBefore = async () => {
    const { trying } = await attempt(there, [], 60, { dns: [], dnsFromNetwork: true });
    await keep(api, trying?.token ?? '');
    assert.deepEqual((await network()).settings.interfaces, []);
    await machine.waitForSsh(60);
    assert.deepEqual(await files(), []);
    isBack = true;
  };
  await step('as the network says again', asBefore);
  // Also when one step was chosen: whoever looks at the machine afterwards comes by the address that DHCP gives.
  if (!isBack) await asBefore();
});
