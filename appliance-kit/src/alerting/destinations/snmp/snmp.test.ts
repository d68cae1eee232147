import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../tests/harness.ts';
import { message } from '../../../../tests/messages.ts';
import { snmptrapd } from '../../../../tests/snmptrapd.ts';
import { checkSnmp } from '../check.ts';
import type { SnmpInput } from '../schema.ts';
import { ENTERPRISE, notifications, objects } from './oids.ts';
import { type SnmpOptions, SnmpSender, variables } from './send.ts';

const ENGINE = '80001f88800102030405060708';
const AUTH = 'auth pass phrase #1';
const PRIV = "priv'pass$phrase";

function sender(t: TestContext, boots = 1, options: SnmpOptions = {}): { sender: SnmpSender; directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'snmp-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const began = Date.now();
  const identity = { engineId: ENGINE, engineBoots: boots, engineSeconds: () => (Date.now() - began) / 1000 };
  return { sender: new SnmpSender(directory, identity, options), directory };
}

const v2c = (port: number, change: Partial<SnmpInput> = {}): SnmpInput => ({
  host: '127.0.0.1',
  port,
  version: '2c',
  inform: false,
  community: 'our community #2',
  ...change,
});

const v3 = (port: number, change: Partial<SnmpInput> = {}): SnmpInput => ({
  host: '127.0.0.1',
  port,
  version: '3',
  inform: false,
  user: 'cistern',
  authProtocol: 'SHA-256',
  privProtocol: 'AES',
  authPassword: AUTH,
  privPassword: PRIV,
  ...change,
});

const authorised = 'authCommunity log "our community #2"';
const user = (protocol: string, engine = `-e 0x${ENGINE} `) =>
  `createUser ${engine}cistern ${protocol} "${AUTH}" AES "${PRIV}"\nauthUser log cistern priv`;

function assertTrap(printed: string, notification: string): void {
  const line = printed.replaceAll('\\"', '"');
  assert.ok(line.includes(`.${notification}`), line);
  for (const [oid, , value] of variables(message()))
    assert.ok(line.includes(`.${oid} = `) && line.includes(value), `${oid} ${value} in ${line}`);
}

test('v2c: traps for raise and clear arrive with the right values', async (t) => {
  const receiver = await snmptrapd(t, authorised);
  const { sender: snmp, directory } = sender(t);
  const shown: string[] = [];
  await snmp.send(v2c(receiver.port), message('raise'), (_, text) => shown.push(text));
  await snmp.send(v2c(receiver.port), message('clear'), () => {});
  await eventually(() => assert.equal(receiver.traps().length, 2, receiver.text()));
  const [raised, cleared] = receiver.traps();
  assertTrap(raised as string, notifications.cisternAlertRaised);
  assert.ok(cleared?.includes(`.${notifications.cisternAlertCleared}`), cleared);
  assert.ok(raised?.includes(`.${objects.cisternAlertSeverity} = INTEGER: 3`), raised);
  assert.ok(!shown.join().includes('our community'));
  assert.deepEqual(readdirSync(directory), [], 'nothing with a secret is left behind');
});

test('v2c: an inform is acknowledged; with the wrong community it is not, and says so', async (t) => {
  const receiver = await snmptrapd(t, authorised);
  const { sender: snmp } = sender(t, 1, { informTimeoutS: 1 });
  await snmp.send(v2c(receiver.port, { inform: true }), message(), () => {});
  await eventually(() => assert.equal(receiver.traps().length, 1, receiver.text()));
  const wrong = v2c(receiver.port, { inform: true, community: 'another' });
  await assert.rejects(
    snmp.send(wrong, message(), () => {}),
    /could not be sent to 127\.0\.0\.1/,
  );
  assert.equal(receiver.traps().length, 1);
});

for (const [authProtocol, name] of [
  ['SHA', 'SHA'],
  ['SHA-256', 'SHA-256'],
  ['SHA-512', 'SHA-512'],
] as const) {
  test(`v3 with ${name} and AES: a trap arrives, also after akd has started anew`, async (t) => {
    const receiver = await snmptrapd(t, user(name));
    await sender(t, 1).sender.send(v3(receiver.port, { authProtocol }), message(), () => {});
    await sender(t, 2).sender.send(v3(receiver.port, { authProtocol }), message('clear'), () => {});
    await eventually(() => assert.equal(receiver.traps().length, 2, receiver.text()));
    assertTrap(receiver.traps()[0] as string, notifications.cisternAlertRaised);
  });
}

test('v3: an inform is acknowledged', async (t) => {
  const receiver = await snmptrapd(t, user('SHA-512', ''));
  const { sender: snmp } = sender(t);
  await snmp.send(v3(receiver.port, { inform: true, authProtocol: 'SHA-512' }), message(), () => {});
  await eventually(() => assert.equal(receiver.traps().length, 1, receiver.text()));
});

test('v3: the wrong password does not get through', async (t) => {
  const receiver = await snmptrapd(t, user('SHA-256'));
  const { sender: snmp } = sender(t);
  await snmp.send(v3(receiver.port, { authPassword: 'another pass phrase' }), message(), () => {});
  await snmp.send(v3(receiver.port), message('clear'), () => {});
  await eventually(() => assert.equal(receiver.traps().length, 1, receiver.text()));
  assert.ok(
    receiver.traps()[0]?.includes(notifications.cisternAlertCleared),
    'the right one did, the wrong one did not',
  );
});

test('secrets are neither on the command line nor in the environment, and their file is private', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'argv-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const spy = join(home, 'spy');
  writeFileSync(
    spy,
    `#!/bin/sh\nprintf '%s\\n' "$@" > ${home}/argv\nenv > ${home}/env\nstat -c %a "$SNMPCONFPATH" "$SNMPCONFPATH/snmp.conf" > ${home}/modes\ncat "$SNMPCONFPATH/snmp.conf" > ${home}/conf\n`,
  );
  chmodSync(spy, 0o755);
  await sender(t, 1, { command: spy }).sender.send(v3(162), message(), () => {});
  const read = (name: string) => readFileSync(join(home, name), 'utf8');
  for (const place of ['argv', 'env'])
    for (const secret of [AUTH, PRIV]) assert.ok(!read(place).includes(secret), place);
  assert.equal(read('modes'), '700\n600\n');
  assert.ok(read('conf').includes(AUTH));
});

test('text from the network is one line, and fits', () => {
  const evil = message('raise', { title: `a\r\nb\u0000c${'ü'.repeat(400)}`, text: 'x'.repeat(5000) });
  for (const [, , value] of variables(evil)) {
    assert.ok(Buffer.byteLength(value) <= 255);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    assert.ok(!/[\u0000-\u001f\u007f\ufffd]/.test(value), value);
  }
});

test('settings that could break out of the configuration file are refused', () => {
  checkSnmp(v2c(162));
  checkSnmp(v3(162));
  const refused = (snmp: SnmpInput) =>
    assert.throws(() => checkSnmp(snmp), { name: 'ProblemError' }, JSON.stringify(snmp));
  for (const bad of ['a"b', 'a\nb', 'a\\b', 'a\u0000', 'ü', '']) {
    refused(v2c(162, { community: bad }));
    refused(v3(162, { authPassword: `12345678${bad}`.slice(0, bad === '' ? 7 : undefined) }));
  }
  for (const bad of ['a b', 'a#b', '"a"', 'a\nb']) refused(v3(162, { user: bad }));
  for (const bad of ['-v', 'a b', '127.0.0.1;x', 'a:b:c:zz', '']) refused(v2c(162, { host: bad }));
  checkSnmp(v2c(162, { host: 'fe80::1' }));
  checkSnmp(v2c(162, { host: 'traps.example.org' }));
  refused(v3(162, { authProtocol: undefined }));
  refused(v3(162, { privPassword: undefined }));
});

test('the MIB says the same as the code', () => {
  const mib = readFileSync(new URL('../../../../mib/CISTERN-MIB.txt', import.meta.url), 'utf8');
  const values = new Map(
    [
      ...mib.matchAll(
        /^(\w+)[ \t]+(?:MODULE-IDENTITY|OBJECT IDENTIFIER|OBJECT-TYPE|NOTIFICATION-TYPE)(?:.|\n)*?::=\s*\{\s*(\w+)\s+(\d+)\s*\}/gm,
      ),
    ].map((match) => [match[1] as string, `${match[2]} ${match[3]}`]),
  );
  const resolve = (name: string): string => {
    if (name === 'netSnmpPlaypen') return '1.3.6.1.4.1.8072.9999.9999';
    const [parent, number] = (values.get(name) ?? assert.fail(`${name} is not in the MIB`)).split(' ');
    return `${resolve(parent as string)}.${number}`;
  };
  assert.equal(resolve('cisternMIB'), ENTERPRISE);
  for (const [name, oid] of Object.entries({ ...notifications, ...objects })) assert.equal(resolve(name), oid, name);
});

test('the numbers of the first release stay', () => {
  assert.deepEqual(
    Object.values({ ...notifications, ...objects }).map((oid) => oid.slice(ENTERPRISE.length)),
    ['.0.1', '.0.2', ...Array.from({ length: 12 }, (_, at) => `.1.1.${at + 1}`)],
  );
});
