import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { message } from '../../../tests/messages.ts';
import type { StoredDestination } from './destinations.ts';
import { anywhere, elsewhere, mustBeReachable } from './reach.ts';
import { Senders } from './send.ts';
import type { SnmpSender } from './snmp/send.ts';

test('which addresses are refused', () => {
  const refused: Record<string, string[]> = {
    'is this appliance itself': [
      ...[
        '127.0.0.1',
        '127.9.9.9',
        '0.0.0.0',
        '::1',
        '::',
        '[::1]',
        '::ffff:127.0.0.1',
        '::ffff:7f00:1',
        '::127.0.0.1',
      ],
      ...['localhost', 'LOCALHOST.', 'x.localhost'],
      ...Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)),
    ],
    'is a link-local address': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.0.1', 'febf::1'],
  };
  for (const [why, addresses] of Object.entries(refused))
    for (const address of addresses) {
      const said = elsewhere.problem(address);
      // This machine may have a link-local address of its own.
      assert.ok(said === why || /^(fe80|169\.254)/.test(address), `${address}: ${said}`);
      assert.notEqual(said, null, address);
    }
  for (const address of [
    '192.0.2.1',
    '10.0.2.2',
    '2001:db8::1',
    '::ffff:192.0.2.1',
    'mail.example.org',
    'fec0::1',
    '128.0.0.1',
  ])
    assert.equal(elsewhere.problem(address), null, address);
});

const webhook = (url: string): StoredDestination => ({
  ...{ id: 'd1', name: 'd', kind: 'webhook', enabled: true },
  webhook: { preset: 'json', url, verifyCertificate: true },
});

test('a destination with such an address is refused with the field; a name only when something is sent', async (t) => {
  assert.throws(() => mustBeReachable(webhook('http://169.254.169.254/latest'), elsewhere), {
    message: /\/webhook\/url is a link-local address/,
  });
  assert.throws(() => mustBeReachable(webhook('http://0x7f.1/'), elsewhere), { message: /this appliance itself/ });
  mustBeReachable(webhook('http://hooks.example.org/'), elsewhere);
  mustBeReachable(webhook('http://127.0.0.1/'), anywhere);

  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.end();
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  const send = (reach: typeof elsewhere) =>
    new Senders(undefined as unknown as SnmpSender, reach).send(webhook(`http://localhost:${port}/`), message());
  await assert.rejects(send(elsewhere), {
    message: /localhost, at .*, is this appliance itself: nothing is sent there/,
  });
  assert.equal(asked, 0);
  await send(anywhere);
  assert.equal(asked, 1);
});

test('a socket that looks a name up itself gets no such address either', async () => {
  const [error] = await new Promise<unknown[]>((done) =>
    elsewhere.lookup('localhost', { all: true }, (...all) => done(all)),
  );
  assert.match((error as Error).message, /this appliance itself/);
  const all = await new Promise<unknown[]>((done) =>
    anywhere.lookup('localhost', { all: true }, (...given) => done(given)),
  );
  assert.equal(all[0], null);
});
