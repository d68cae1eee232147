import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { signed } from '../../../tests/certificates.ts';
import { bench, eventually, PASSWORD } from '../../../tests/harness.ts';
import { rsyslogd } from '../../../tests/rsyslogd.ts';
import { parsed, tlsReceiver } from '../../../tests/syslog.ts';
import { systemClock } from '../../base/clock.ts';
import { Settings } from '../../state/settings.ts';
import { GENESIS, type Stored } from '../audit/index.ts';
import { hostProblem, isOwn, lookupOthers } from './address.ts';
import { Forwarder, positionSetting, type Timing } from './forwarder.ts';
import { auditMessage } from './message.ts';

const by = { name: 'ada', address: '192.0.2.7', way: 'page' } as const;
const identity = signed(['IP:127.0.0.1']);
const timing: Timing = {
  ...{ connectMs: 2_000, writeMs: 500, closeMs: 500, lingerMs: 60, lookMs: 20 },
  retryMs: () => 20,
};

/** An appliance whose log is sent to a receiver, looked after by hand; `restart` makes another one on the same state. */
async function forwarding(t: TestContext, port: number, ca = identity.ca) {
  const on = await bench(t);
  const { audit, db } = on.appliance;
  const make = () =>
    new Forwarder({
      ...{ audit, db, settings: new Settings(db), clock: systemClock, hostName: () => 'first', timing },
      changed: () => {},
    });
  let forwarder = make();
  forwarder.set({ enabled: true, host: '127.0.0.1', port, ca });
  const timer = setInterval(() => forwarder.tick(), 10);
  t.after(async () => {
    clearInterval(timer);
    await forwarder.stop();
  });
  return {
    ...{ audit, db, on },
    record: (count: number, from = 1) => {
      for (let n = from; n < from + count; n++) audit.record(by, 'x.y', `t${n}`, { n }, { secret: 'c4n4ry' });
    },
    get forwarder() {
      return forwarder;
    },
    restart: async () => {
      await forwarder.stop();
      forwarder = make();
    },
  };
}

const targets = (messages: readonly { data: Readonly<Record<string, string>> }[]) =>
  messages.map(({ data }) => data.target);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `t${n + 1}`);
const unique = (all: readonly unknown[]) => [...new Set(all)];

test('a message is one of RFC 5424, whatever an entry holds', () => {
  const wild = 'a "quote", a ]bracket, a \\slash, größer\nand a line';
  const entry: Stored & { entry_hash: string } = {
    ...{
      id: 17,
      time: Date.UTC(2026, 0, 1),
      user: wild,
      address: wild,
      way: null,
      action: 'session.refused',
      target: wild,
    },
    ...{ before_json: JSON.stringify({ wild }), after_json: JSON.stringify('x'.repeat(10_000)), entry_hash: GENESIS },
  };
  const found = parsed(auditMessage(entry, 'a host\u00e9'));
  assert.equal(found.priority, 13 * 8 + 4);
  assert.deepEqual(
    [found.time, found.host, found.app, found.message],
    ['2026-01-01T00:00:00.000Z', 'a_host_', 'cistern', 'session.refused'],
  );
  assert.equal(found.data.user, wild.replace('\n', ' '));
  assert.deepEqual(JSON.parse(found.data.before ?? ''), { wild });
  assert.equal(found.data.hash, GENESIS);
  assert.ok(auditMessage(entry, 'x').length < 8_192);
  assert.equal(parsed(auditMessage({ ...entry, action: 'x.y' }, 'x')).priority, 13 * 8 + 5);
});

test('entries are sent as they are written, each once, and no secret is among them', async (t) => {
  const receiver = await tlsReceiver(t, identity);
  const it = await forwarding(t, receiver.port);
  it.record(3);
  await eventually(() => assert.deepEqual(targets(receiver.got), numbered(3)));
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  it.record(200, 4);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.deepEqual(targets(receiver.got), numbered(203));
  const [first] = receiver.got;
  assert.deepEqual([first?.data.user, first?.data.way, first?.data.before], ['ada', 'page', '{"n":1}']);
  assert.equal(first?.data.hash, it.audit.hashAt(Number(first?.data.id)));
  assert.ok(!JSON.stringify(receiver.got).includes('c4n4ry'));
});

test('a receiver that is killed and comes back has every entry, in order; so has one over a restart', async (t) => {
  const receiver = await tlsReceiver(t, identity);
  const it = await forwarding(t, receiver.port);
  it.record(20);
  await eventually(() => assert.ok(receiver.got.length > 0));
  await receiver.kill();
  it.record(20, 21);
  await eventually(() => assert.match(it.forwarder.error ?? '', /ECONNREFUSED|ended|closed|ECONNRESET/));
  await it.restart();
  const again = await tlsReceiver(t, identity, receiver.port);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.equal(it.forwarder.error, null);
  assert.deepEqual(unique(targets([...receiver.got, ...again.got])), numbered(40));
  // What was confirmed before is not sent again after a restart.
  await it.restart();
  const before = again.got.length;
  it.record(1, 41);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.deepEqual(targets(again.got.slice(before)), ['t41']);
});

test('what a receiver that stopped reading was sent is not taken as received, and is sent again', async (t) => {
  const receiver = await tlsReceiver(t, identity);
  const it = await forwarding(t, receiver.port);
  receiver.stopReading();
  it.record(5);
  await eventually(() => assert.match(it.forwarder.error ?? '', /did not end the connection/));
  assert.equal(it.forwarder.waiting(), 5);
  // More than the buffers hold.
  for (let n = 6; n <= 1_500; n++) it.audit.record(by, 'x.y', `t${n}`, null, { text: 'x'.repeat(20_000) });
  await eventually(() => assert.match(it.forwarder.error ?? '', /did not end the connection|read nothing/));
  assert.deepEqual(targets(receiver.got), []);
  await receiver.kill();
  const again = await tlsReceiver(t, identity, receiver.port);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.deepEqual(unique(targets(again.got)), numbered(1_500));
});

test('a certificate that is not trusted, or of another name, is refused before anything is sent', async (t) => {
  for (const wrong of [signed(['IP:127.0.0.1']), { ...signed(['DNS:other.example']), same: true }]) {
    const receiver = await tlsReceiver(t, wrong);
    const it = await forwarding(t, receiver.port, 'same' in wrong ? wrong.ca : identity.ca);
    it.record(1);
    await eventually(() => assert.match(it.forwarder.error ?? '', /signature|self.signed|verify|altnames|issuer/i));
    assert.deepEqual(receiver.got, []);
    assert.equal(it.forwarder.waiting(), 1);
  }
});

test('what was dropped before it could be sent is counted, and the rest follows', async (t) => {
  const first = await tlsReceiver(t, identity);
  await first.kill();
  const it = await forwarding(t, first.port);
  it.record(100);
  it.audit.drop(0, 30, 500);
  const receiver = await tlsReceiver(t, identity, first.port);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.deepEqual(targets(receiver.got), numbered(100).slice(70));
  assert.equal(new Settings(it.db).get(positionSetting)?.missed, 70);
});

test('rsyslog takes every entry', async (t) => {
  const receiver = await rsyslogd(t, 18_514, identity);
  const it = await forwarding(t, receiver.port);
  it.record(120);
  await eventually(() => assert.equal(it.forwarder.waiting(), 0));
  assert.equal(it.forwarder.error, null);
  await receiver.stop();
  const messages = receiver.messages().map((one) => parsed(one));
  assert.deepEqual(targets(messages), numbered(120));
});

test('this appliance itself, and what is link-local, is no receiver', async (t) => {
  for (const own of [
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '::',
    '0.0.0.0',
    '169.254.169.254',
    'fe80::1%eth0',
    '::ffff:127.0.0.1',
    '::ffff:169.254.1.1',
  ]) {
    assert.ok(isOwn(own), own);
    assert.match(hostProblem(own) ?? '', /host name|another machine/, own);
  }
  for (const wrong of ['localhost', 'a.localhost', '127.1', '2130706433', '0x7f000001', 'a b', '-x', 'a/b']) {
    assert.notEqual(hostProblem(wrong), null, wrong);
  }
  for (const right of ['logs.example.org', '192.0.2.9', '2001:db8::1', '10.0.0.1', '1.example']) {
    assert.equal(hostProblem(right), null, right);
  }
  const looked = await new Promise((resolve) => lookupOthers('localhost', { all: true }, (error) => resolve(error)));
  assert.match(String(looked), /localhost is .*: this appliance itself/);

  const on = await bench(t);
  await on.client.setUp();
  const put = (change: object) =>
    on.client.put('/api/audit-forwarding', { enabled: true, host: 'logs.example', port: 6514, ...change });
  for (const [change, path] of [
    [{ host: '127.0.0.1' }, '/host'],
    [{ host: '' }, '/host'],
    [{ ca: 'x' }, '/ca'],
    [{ ca: `${identity.ca}${identity.key}` }, '/ca'],
  ] as const) {
    const { body } = await put(change);
    assert.deepEqual([body.code, body.errors?.[0].path], ['invalid_request', path], JSON.stringify(change));
  }
});

test('the settings: with the password, recorded, and what is recorded meanwhile is sent on from the first change', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  on.clock.advance(600);
  const wanted = { enabled: true, host: '192.0.2.9', port: 6514, ca: identity.ca };
  on.client.password = null;
  assert.equal((await on.client.put('/api/audit-forwarding', wanted)).body.code, 'confirmation_required');
  on.client.password = PASSWORD;
  const { body } = await on.client.put('/api/audit-forwarding', wanted);
  assert.match(body.authority.subject, /Example CA/);
  assert.deepEqual([body.waiting, body.receivedUntil, body.missed], [1, null, 0]);
  await on.client.put('/api/audit-forwarding', { enabled: false, host: '192.0.2.9', port: 6514 });
  on.appliance.audit.record(by, 'x.y', 'while it was off');
  const after = (await on.client.put('/api/audit-forwarding', { enabled: true, host: '192.0.2.9', port: 6514 })).body;
  assert.equal(after.waiting, 4, 'nothing is left out by switching it off and on');
  assert.match(after.authority.subject, /Example CA/, 'as stored');
  const { items } = (await on.client.get('/api/audit-log?action=audit-forwarding.set')).body;
  assert.deepEqual(
    items.map(({ target }: { target: string }) => target),
    ['192.0.2.9:6514', 'off', '192.0.2.9:6514'],
  );
});

test('the test says what happened, in words', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  // The name is that of this machine, which is refused where it is resolved.
  const settings = { enabled: false, host: 'cistern-no-such-host.invalid', port: 6514 };
  const { body } = await on.client.post('/api/audit-forwarding/test', settings);
  assert.equal(body.ok, false);
  assert.match(body.problem.detail, /did not take the test entry: .*(ENOTFOUND|EAI_AGAIN)/);
  assert.match(body.exchange[0].text, /^Connecting to cistern-no-such-host/);
});

test('after five minutes without a confirmation there is an alert, which goes by itself', async (t) => {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  const { poller } = on.appliance;
  const { token } = (await on.client.post('/api/tokens', { name: 'robot', role: 'administrator' })).body;
  const headers = { authorization: `Bearer ${token}` };
  const alerts = async () => {
    await poller.look();
    const { items } = (await on.client.get('/api/alerts', { headers })).body;
    return items.filter((one: { class: string }) => one.class === 'audit.unforwarded');
  };
  // Nothing answers there, and nobody asks: .invalid has no addresses.
  const settings = { enabled: true, host: 'cistern-no-such-host.invalid', port: 6514 };
  assert.equal((await on.client.put('/api/audit-forwarding', settings, { headers })).status, 200);
  await eventually(async () => {
    const { body } = await on.client.get('/api/audit-forwarding', { headers });
    assert.match(body.error ?? '', /ENOTFOUND|EAI_AGAIN/);
  }, 20_000);
  assert.deepEqual(await alerts(), []);
  on.clock.advance(301);
  const [alert] = await alerts();
  assert.match(alert.text, /cistern-no-such-host\.invalid:6514 has confirmed nothing for more than five minutes/);
  await on.client.put('/api/audit-forwarding', { ...settings, enabled: false }, { headers });
  assert.deepEqual(await alerts(), []);
});
