// Every way in, once, on the booted image: password, one-time password, app, recovery code, token, certificate, directory,
// OpenID Connect, supportd's own door, and the console; then an input that is narrowed. By night alone: each of them is tried
// with all that is refused in appliance-kit/ and tests/browser/; ssh with a key is in network.test.ts.
// A passkey is not here: it wants a browser with an authenticator and a name with a trusted certificate
// (tests/browser/passkeys.test.ts).
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { selfSigned, signed } from '../../appliance-kit/tests/certificates.ts';
import { browser, CLIENT, openIdProvider } from '../../appliance-kit/tests/openid.ts';
import { READER, SUFFIX, slapd } from '../../appliance-kit/tests/slapd.ts';
import { freePort } from '../ports.ts';
import { Person } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import { alerts, query } from './ask.ts';
import { rowOf, wantedStep, withVariants } from './row.ts';
import { admin, readyMachine } from './saved.ts';
import { askOurTimeServer, HOST, timeServer } from './time-server.ts';
import { until } from './until.ts';
import { type App, addApp, firstSignIn, letInAtConsole, signIn } from './ways-in.ts';

const OWN = 'violet tractor umbrella';
const OTHER = 'seven quiet lanterns';
const PATIENCE_MS = 120_000;
/** Where packets come from that are not let in: a network of the guest's own, behind a cable of its own. */
const ELSEWHERE = '198.51.100.2';

if (withVariants || wantedStep)
  test('every way in, and an input that is narrowed', async (t) => {
    const { machine, api } = await readyMachine(t, 'access');
    const step = rowOf(t, () => ({ machine }));
    const said = async (body: object) => {
      const { reply } = await signIn(machine, body);
      const { code, user } = reply.json<{ code?: string; user?: { name: string; role: string } }>();
      return code ?? `${user?.name}, ${user?.role}`;
    };
    let app: App;

    await step('by name and password, and by a one-time password, once', async () => {
      assert.equal(await said({ user: admin.name, password: admin.password }), 'admin, administrator');
      const made = await api.get<{ password: string }>('POST', '/api/users', { name: 'ada', role: 'administrator' });
      await firstSignIn(machine, 'ada', made.password, OWN);
      assert.equal(await said({ user: 'ada', password: made.password }), 'wrong_credentials');
      assert.equal(await said({ user: 'ada', password: OWN }), 'ada, administrator');
    });

    await step('by password and the code of an app, and by a recovery code, each once', async () => {
      const server = await timeServer();
      try {
        await askOurTimeServer(api);
        app = await addApp((await signIn(machine, { user: 'ada', password: OWN })).person);
      } finally {
        server.close();
      }
      assert.equal(await said({ user: 'ada', password: OWN }), 'second_factor_required');
      const next = { user: 'ada', password: OWN, code: app.code(1) };
      assert.equal(await said(next), 'ada, administrator');
      assert.equal(await said(next), 'wrong_code');
      const recovery = { user: 'ada', password: OWN, code: app.recoveryCodes[0] };
      assert.equal(await said(recovery), 'ada, administrator');
      assert.equal(await said(recovery), 'wrong_code');
    });

    await step('a program by a token, and by a certificate on the port that is for them', async () => {
      const send = async (url: string, name: string, more: Parameters<typeof ask>[1]) =>
        (
          await ask(new URL('/api/v1/import', url), {
            ...{ body: { samples: [{ name, value: 7 }] }, timeoutMs: PATIENCE_MS, ...more },
          })
        ).status;
      const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'program', role: 'writer' });
      assert.equal(await send(machine.url, 'by.token', { headers: { authorization: `Bearer ${token}` } }), 200);
      assert.equal(await send(machine.url, 'by.nothing', {}), 401);

      const port = await freePort();
      const forward = { 'command-line': `hostfwd_add net0 tcp:127.0.0.1:${port}-:9443` };
      assert.equal(await machine.qmp('human-monitor-command', forward), '');
      const [certificate, another] = [selfSigned('agent'), selfSigned('agent')];
      await api.get('POST', '/api/tokens', { name: 'agent', role: 'writer', certificate: certificate.certificate });
      const url = `https://localhost:${port}`;
      // The firewall opens the port once there is somebody for it.
      await until('the port is open', 60, async () => (await send(url, 'by.certificate', { certificate })) === 200);
      for (const more of [{ certificate: another }, {}, { headers: { authorization: `Bearer ${token}` } }])
        assert.equal(await send(url, 'by.nothing', more), 401);
      for (const name of ['by.token', 'by.certificate'])
        await until(`${name} is stored`, 30, async () => (await query(api, `{"${name}"}`)).length === 1);
      assert.deepEqual(await query(api, '{"by.nothing"}'), []);
    });

    await step('by a directory, and by OpenID Connect, both of this machine', async () => {
      const directory = await slapd(t, signed([`IP:${HOST}`, 'IP:127.0.0.1']));
      const roles = [{ group: 'viewers', role: 'viewer' }];
      const ldap = {
        ...{ urls: [directory.ldaps.replace('127.0.0.1', HOST)], bindDn: READER.dn, bindPassword: READER.password },
        ...{ baseDn: `ou=people,${SUFFIX}`, userFilter: '(uid={name})', nameAttribute: 'uid' },
        ...{ subjectAttribute: 'entryUUID', groupBaseDn: `ou=groups,${SUFFIX}`, nested: 'walk' },
        ca: directory.identity.ca,
      };
      const add = (provider: object) => api.get<{ id: string }>('POST', '/api/providers', provider);
      const example = await add({ name: 'Example', kind: 'ldap', enabled: true, otherwise: null, roles, ldap });
      const bob = { user: 'bob', provider: example.id };
      assert.equal(await said({ ...bob, password: 'wrong' }), 'wrong_credentials');
      assert.equal(await said({ ...bob, password: 'bob-secret' }), 'bob, viewer');

      const provider = await openIdProvider(t, [machine.url], HOST);
      provider.who = { sub: 'sub-ann', name: 'ann', groups: ['viewers'] };
      const oidc = {
        ...{ issuer: provider.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret },
        ...{ scopes: 'openid profile groups', nameClaim: 'preferred_username', groupsClaim: 'groups' },
        ...{ pages: [machine.url], endSession: false, ca: provider.identity.ca },
      };
      const company = await add({ name: 'Company', kind: 'oidc', enabled: true, otherwise: null, roles, oidc });
      const person = new Person(machine.url, PATIENCE_MS);
      const start = `/api/providers/${company.id}/start`;
      const { url } = await person.get<{ url: string }>('POST', start, { for: 'sign-in' });
      const back = await browser(provider.identity.ca, '127.0.0.1')(url);
      const { user } = await person.get<{ user: object }>('POST', '/api/providers/finish', { query: back });
      assert.deepEqual(user, { name: 'ann', role: 'viewer' });
    });

    await step(
      'without akd: at the door of supportd, and let in at the console before akd answers anybody',
      async () => {
        const support = async (password: string, code?: string) => {
          const asked = { method: 'POST', headers: { origin: machine.url }, timeoutMs: PATIENCE_MS };
          const body = { user: 'ada', password, ...(code !== undefined && { code }) };
          const reply = await ask(new URL('/support/session', machine.url), { ...asked, body });
          return reply.json<{ code?: string; user?: string }>().code ?? 'in';
        };
        await machine.ssh('systemctl', 'stop', 'cistern-akd');
        assert.equal(await support('wrong'), 'wrong_credentials');
        assert.equal(await support(OWN), 'second_factor_required');
        assert.equal(await support(OWN, app.recoveryCodes[1]), 'in');
        const oneTime = await letInAtConsole(machine, 'ada', 'The management plane does not answer');
        const file = (
          await machine.sh('stat -c "%U:%G %a" /var/lib/cistern/console /var/lib/cistern/console/*')
        ).trim();
        assert.equal(file, 'root:cistern 750\nroot:root 644');
        await assert.rejects(
          machine.sh('setpriv --reuid cistern --regid cistern --clear-groups touch /var/lib/cistern/console/x'),
        );
        assert.equal(await support(OWN, app.recoveryCodes[2]), 'in', 'as before, until akd runs');
        await machine.ssh('systemctl', 'start', 'cistern-akd');
        const first = await until('akd answers', 120, async () => {
          const { reply } = await signIn(machine, { user: 'ada', password: oneTime });
          return reply.status < 500 && reply;
        });
        assert.equal(first.status, 200, first.text);
        assert.equal(await support(OWN, app.recoveryCodes[3]), 'wrong_credentials');
        await firstSignIn(machine, 'ada', oneTime, OTHER);
        assert.equal(await support(OTHER), 'in');
        const log = '/api/audit-log?action=user.let-in';
        const { items } = await api.get<{ items: Record<string, unknown>[] }>('GET', log);
        assert.deepEqual(
          items.map(({ user, address, way, target }) => [user, address, way, target]),
          [['console', 'ttyS0', 'console', 'ada']],
        );
        assert.equal((await alerts(api, 'all')).filter((one) => one.class === 'signin.recovered').length, 1);
      },
    );

    await step('let in at the console while akd runs; no name is told there, and nothing is left', async () => {
      const before = machine.console().length;
      await machine.type('p\n');
      const see = (pattern: RegExp) =>
        until(`${pattern}`, 60, () => pattern.test(machine.console().slice(before)), 200);
      // What nobody waited for is told of first.
      await see(/for "ada" was carried out[\s\S]*Name of the administrator/);
      await machine.type('nobody\n');
      await see(/Type yes/);
      await machine.type('yes\n');
      await see(/Nothing was changed: there is no user "nobody"/);
      await machine.type('\n');
      await see(/Enter goes back[\s\S]*bundle, to a USB disk/);
      assert.doesNotMatch(machine.console().slice(before), /admin\b|bob|ann/);
      const oneTime = await letInAtConsole(machine, 'ada', 'Done: "ada" is let in again');
      await firstSignIn(machine, 'ada', oneTime, OWN);
      assert.equal((await machine.sh('ls -A /var/lib/cistern/console')).trim(), '');
    });

    await step(
      'a certificate of an authority: the page answers with it, after a restart too, and the one before comes back',
      () => replacedCertificate(machine, api),
    );

    await step('an input that is narrowed: packets from elsewhere are dropped and counted, others are taken', () =>
      narrowed(machine, api),
    );
  });

type Vm = Awaited<ReturnType<typeof readyMachine>>['machine'];

async function replacedCertificate(machine: Vm, api: Person): Promise<void> {
  const shown = async () => {
    const { hostname, port } = new URL(machine.url);
    const socket = connect({ host: hostname, port: Number(port), servername: 'localhost', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const onConsole = async () => (await machine.sh('cat /run/cistern-fingerprint')).trim();
  const before = await shown();
  const { ca, certificate, key } = signed(['DNS:cistern.example']);
  const body = { certificate: `${ca}${certificate}`, key, accept: ['name'] };
  await api.get('POST', '/api/certificate/install', body);
  const installed = new X509Certificate(certificate).fingerprint256;
  assert.equal(await shown(), installed);
  assert.equal(await onConsole(), installed);
  assert.equal((await machine.sh('stat -c "%U:%G %a" /var/lib/cistern/tls/page.pem')).trim(), 'root:www-data 640');
  await machine.ssh('systemctl', 'restart', 'nginx', 'cistern-execd');
  await until('the page answers again', 60, async () => (await shown().catch(() => null)) === installed);
  await until('execd answers again', 60, async () => {
    const { current } = await api
      .get<{ current: { fingerprint: string } }>('GET', '/api/certificate')
      .catch(() => ({ current: null }));
    return current?.fingerprint === installed;
  });
  await api.get('POST', '/api/certificate/restore');
  assert.equal(await shown(), before);
  assert.equal(await onConsole(), before);
}

async function narrowed(machine: Vm, api: Person): Promise<void> {
  // A network of its own, on the same machine: QEMU's own network has one address only.
  const [near, far] = ['198.51.100.1', ELSEWHERE];
  await machine.sh(
    [
      'set -e; mkdir -p /run/systemd/network',
      "printf '[Match]\\nName=near\\n[Link]\\nUnmanaged=yes\\n' >/run/systemd/network/10-near.network; networkctl reload",
      'ip netns add elsewhere; ip link add near type veth peer name far netns elsewhere',
      `ip addr add ${near}/24 dev near; ip link set near up`,
      `ip -n elsewhere addr add ${far}/24 dev far; ip -n elsewhere link set far up`,
    ].join('\n'),
  );
  const send = (name: string) =>
    machine.sh(`ip netns exec elsewhere bash -c 'printf "${name}:1|c\\n" >/dev/udp/${near}/8125'`);
  interface Statsd {
    [field: string]: unknown;
    networks: string[];
  }
  const { networks: before, ...statsd } = await api.get<Statsd>('GET', '/api/inputs/statsd');
  const fields = ['enabled', 'seriesPerSecond', 'seriesBurst', 'senderSeriesPerSecond', 'senderSeriesBurst'];
  const later = ['senderSamplesPerSecond', 'port', 'picklePort', 'tlsPort', 'tlsClientCa'];
  const all = [...fields, ...later, 'senderIsHost', 'hostNames', 'refusedSenders'];
  const keep = Object.fromEntries(all.map((name) => [name, statsd[name]]));
  const networks = (list: string[]) => api.get('PUT', '/api/inputs/statsd', { ...keep, networks: list });
  const stored = async (name: string) => (await query(api, `{__name__=~"${name}"}`)).length > 0;

  await networks([...before, '198.51.100.0/24']);
  await until('packets from there are taken', 60, async () => {
    await send('from.there');
    return stored('from.there');
  });
  await networks(['10.0.2.0/24']);
  type Firewall = { services: { name: string; senders: { address: string; packets?: number }[] }[] };
  await until('they are dropped and counted', 60, async () => {
    await send('from.elsewhere');
    const { services } = await api.get<Firewall>('GET', '/api/firewall');
    return services.some(({ name, senders }) => name === 'statsd' && senders.some(({ address }) => address === far));
  });
  const socket = createSocket('udp4');
  try {
    await until('packets from its own network are taken', 60, async () => {
      socket.send('from.own:1|c', machine.ports.statsd, '127.0.0.1');
      return stored('from.own');
    });
  } finally {
    socket.close();
  }
  assert.equal(await stored('from.elsewhere'), false);
  await machine.sh('ip netns delete elsewhere; ip link delete near 2>/dev/null || true');
}
