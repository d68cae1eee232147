// The polled agent, with net-snmp's snmpd, its tools and our pass_persist program as they are.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { program } from '../../../tests/cistern.ts';
import { eventually, TestClock } from '../../../tests/harness.ts';
import { allSteps } from '../../appliance.ts';
import { silentLog } from '../../base/log.ts';
import type { SnmpAccess } from '../../platform/platform.ts';
import { Database } from '../../state/database.ts';
import { Settings } from '../../state/settings.ts';
import { Agent, RowNumbers } from './agent.ts';
import { dateAndTime, objects, rowLines, scalarLines, tables } from './objects.ts';
import type { SnmpAgentInput } from './schema.ts';

const MIB = fileURLToPath(new URL('../../../mib', import.meta.url));
const ENGINE = '80001f88800102030405060708';
const community = 'our community #2';
const input: SnmpAgentInput = {
  ...{ enabled: true, community, sources: [], user: '', authProtocol: 'SHA-256', contact: '', location: '' },
};

function run(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile(
      command,
      args,
      { timeout: 20_000, env: { PATH: process.env.PATH, MIBDIRS: `${MIB}:${MIB}/base`, MIBS: 'CISTERN-MIB' } },
      (error, stdout, stderr) => (error ? reject(new Error(`${stderr}${stdout}${error.message}`)) : resolve(stdout)),
    ),
  );
}

function agentOf(t: TestContext, lines: () => string[], clock = new TestClock(Date.now())) {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const settings = new Settings(new Database(':memory:', allSteps));
  const given: SnmpAccess[] = [];
  let refuse: Error | null = null;
  const parts = {
    ...{ settings, clock, log: silentLog, engineId: ENGINE, file: join(home, 'run', 'objects') },
    platform: {
      configureSnmp: async (access: SnmpAccess) => {
        if (refuse) throw refuse;
        given.push(access);
      },
    },
    collect: async () => lines(),
  };
  const failing = (error: Error | null) => {
    refuse = error;
  };
  return { home, parts, given, failing, clock, agent: new Agent(parts) };
}

/** snmpd as execd configures it, but for the port. */
async function snmpd(t: TestContext, home: string, file: string, who: string): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  mkdirSync(join(home, 'state'));
  const base = `pass_persist .1.3.6.1.4.1.8072.9999.9999.7710.1 ${program('cistern')} snmp-agent ${file}\n`;
  writeFileSync(join(home, 'a.conf'), base);
  writeFileSync(join(home, 'b.conf'), `agentAddress udp:127.0.0.1:${port}\n${who}`, { mode: 0o600 });
  const child = spawn(
    '/usr/sbin/snmpd',
    ['-LS0-4d', '-Lo', '-f', '-c', `${home}/a.conf,${home}/b.conf`, '-I', '-smux,mteTrigger,mteTriggerConf'],
    {
      env: {
        PATH: process.env.PATH,
        MIBS: '',
        SNMPCONFPATH: join(home, 'state'),
        SNMP_PERSISTENT_DIR: join(home, 'state'),
      },
    },
  );
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  t.after(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  });
  await eventually(() => assert.match(said, /NET-SNMP version/));
  return port;
}

const poolRow = (index: number, Name: string) =>
  rowLines('Pool', index, {
    ...{
      Name,
      State: 1,
      SizeMiB: 5 * 2 ** 20,
      Size: 5 * 2 ** 40,
      AllocatedMiB: 7.9,
      Allocated: 8_283_750,
      Capacity: 38,
    },
    ...{ FreeMiB: 2 ** 40, Free: 1, Errors: 0, Scan: 2, ScanPercent: 12, Sentence: 'Héallthy.\nReally “so”.' },
  });

test('net-snmp’s own tools read it: by name, with the right types, as a table', async (t) => {
  const at = Date.UTC(2026, 10, 21, 19, 5, 3, 400);
  const made = agentOf(t, () => [
    ...scalarLines('System', { LastUpdate: at, Version: '0.1', UpTime: 83.5, Condition: 3, Sentence: '' }),
    ...scalarLines('Pools', { LastUpdate: at }),
    ...poolRow(12, 'tank'),
    ...poolRow(3, 'system'),
    ...scalarLines('Alerts', { LastUpdate: at, Critical: 0, Warning: 1, Info: 0 }),
    ...rowLines('ActiveAlert', 7, { Id: 'al-1', Class: 'x', Severity: 2, Raised: at, Acknowledged: false }),
  ]);
  await made.agent.set(input);
  const port = await snmpd(t, made.home, made.parts.file, `rocommunity "${community}" default\n`);
  const ask = (tool: string, ...args: string[]) => run(tool, ['-v2c', '-c', community, ...args]);
  const where = `127.0.0.1:${port}`;
  assert.equal(
    await ask('snmpget', '-Oq', where, 'CISTERN-MIB::cisternSystemLastUpdate.0'),
    'CISTERN-MIB::cisternSystemLastUpdate.0 2026-11-21,19:5:3.4,+0:0\n',
  );
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternSystemUpTime.0'), /Timeticks: \(8350\) 0:01:23\.50/);
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternSystemCondition.0'), /INTEGER: warning\(3\)/);
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternPoolSize.12'), /Counter64: 5497558138880$/m);
  // 5 TiB are 5 · 2^20 MiB; more than 32 bits hold is the most that they hold.
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternPoolSizeMiB.12'), /Gauge32: 5242880$/m);
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternPoolFreeMiB.12'), /Gauge32: 4294967295$/m);
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternActiveAlertAcknowledged.7'), /false\(2\)/);
  const table = await ask('snmptable', '-Cf', '|', '-Ci', where, 'CISTERN-MIB::cisternPoolTable');
  assert.match(table, /^3\|system\|online\|5242880\|5497558138880\|7\|8283750\|/m);
  assert.match(table, /^12\|tank\|online\|.*\|scrub\|12\|Héallthy\. Really “so”\.$/m);
  const walked = await ask('snmpwalk', '-Oq', where, 'CISTERN-MIB::cisternMIB');
  assert.equal(walked.trim().split('\n').length, 5 + 1 + 2 * 13 + 4 + 5, walked);
  await assert.rejects(
    run('snmpwalk', ['-v2c', '-c', 'another', '-r', '0', '-t', '1', where, 'CISTERN-MIB::cisternMIB']),
    /Timeout/,
  );
  await assert.rejects(ask('snmpset', where, 'CISTERN-MIB::cisternPoolName.12', 's', 'x'), /noAccess|notWritable/);
  // Nobody vouches for it any more: akd has ended, and after a while also when it was killed.
  await made.agent.stop();
  assert.match(await ask('snmpget', where, 'CISTERN-MIB::cisternPoolName.12'), /No Such/);
  const old = agentOf(t, () => poolRow(1, 'tank'), new TestClock(Date.now() - 31_000));
  await old.agent.set(input);
  const late = await snmpd(t, old.home, old.parts.file, `rocommunity "${community}" default\n`);
  assert.match(await ask('snmpget', `127.0.0.1:${late}`, 'CISTERN-MIB::cisternPoolName.1'), /No Such/);
});

test('who may poll is checked, kept without being shown, and given to the platform', async (t) => {
  const { agent, given, parts, failing } = agentOf(t, () => []);
  assert.deepEqual([agent.get().enabled, agent.get().communitySet, given.length], [false, false, 0]);
  const shown = await agent.set({
    ...{
      ...input,
      user: 'poller',
      authPassword: 'auth pass 1',
      privPassword: 'priv pass 1',
      sources: ['192.0.2.0/24'],
    },
  });
  assert.ok(shown.communitySet && shown.authPasswordSet && shown.privPasswordSet && shown.updatedAt !== null);
  assert.ok(!/pass 1|community #/.test(JSON.stringify(shown)));
  const user = { name: 'poller', authProtocol: 'SHA-256', authPassword: 'auth pass 1', privPassword: 'priv pass 1' };
  const access = { engineId: ENGINE, contact: '', location: '', community, sources: ['192.0.2.0/24'], user };
  assert.deepEqual(given.at(-1), access);
  // What is left out stays, what is empty goes.
  const { community: _, ...without } = input;
  await agent.set({ ...without, user: 'poller' });
  assert.deepEqual(given.at(-1), { ...access, sources: [] });
  await agent.set({ ...without, community: '', user: 'poller' });
  assert.deepEqual(given.at(-1), { engineId: ENGINE, contact: '', location: '', user });
  await assert.rejects(agent.set({ ...without, community: '', user: '' }), /community is missing/);
  for (const bad of [
    { community: 'a"b' },
    { sources: ['everywhere'] },
    { sources: ['192.0.2.0/33'] },
    { location: 'a # b' },
    { user: 'a b', authPassword: '12345678', privPassword: '12345678' },
    { user: 'x', authPassword: 'short', privPassword: '12345678' },
  ])
    await assert.rejects(agent.set({ ...input, ...bad }), { name: 'ProblemError' }, JSON.stringify(bad));
  // snmpd could not be given it: what was decided before stays, and is given again.
  const before = agent.get();
  failing(new Error('execd is away'));
  await assert.rejects(agent.set({ ...input, contact: 'somebody' }), /execd is away/);
  assert.equal(agent.get().contact, before.contact);
  const again = new Agent(parts);
  failing(null);
  const count = given.length;
  await again.write();
  assert.equal(given.length, count + 1);
  // Off: nobody is told anything, and no file is left.
  await again.set({ ...without, enabled: false });
  assert.deepEqual(given.at(-1), { engineId: ENGINE, contact: '', location: '' });
  assert.throws(() => readFileSync(parts.file), /ENOENT/);
});

test('a row’s number stays with its name, over restarts too, and is given to nothing else', () => {
  const settings = new Settings(new Database(':memory:', allSteps));
  const numbers = new RowNumbers(settings);
  assert.deepEqual(
    ['a', 'b', 'constructor', 'a'].map((name) => numbers.index('Pool', name)),
    [1, 2, 3, 1],
  );
  assert.equal(numbers.index('Disk', 'b'), 1);
  numbers.keep();
  const again = new RowNumbers(settings);
  assert.deepEqual(
    ['c', 'b', 'constructor'].map((name) => again.index('Pool', name)),
    [4, 2, 3],
  );
  for (let n = 0; n < 20_001; n++) again.index('ActiveAlert', `al-${n}`);
  again.keep();
  again.index('ActiveAlert', 'al-7');
  again.keep();
  assert.equal(again.index('ActiveAlert', 'al-7'), 8);
  assert.equal(again.index('ActiveAlert', 'al-8'), 20_002, 'a name that was forgotten has another number');
});

test('dates are octets, texts are one line that fits', () => {
  assert.equal(dateAndTime(Date.UTC(2026, 0, 2, 3, 4, 5, 678)), '07 EA 01 02 03 04 05 06 2B 00 00');
  const [line = ''] = scalarLines('System', { Sentence: `${'ü'.repeat(400)}\nNONE` });
  assert.ok(Buffer.byteLength(line.slice(line.indexOf('string ') + 7)) <= 255 && !line.includes('\n'));
});

test('the MIB says the same as the code, and the numbers of the first release stay', () => {
  const mib = readFileSync(join(MIB, 'CISTERN-MIB.txt'), 'utf8');
  const found = [...mib.matchAll(/^(\w+) OBJECT-TYPE\n((?:(?! {4}::=).*\n)*) {4}::= \{ (\w+) (\d+) \}/gm)].flatMap(
    ([, name, body = '', parent, number]) => {
      const syntax = /^ {4}SYNTAX {6}(.*)/.exec(body)?.[1];
      return body.includes('MAX-ACCESS  read-only') ? [{ name, syntax, parent, number }] : [];
    },
  );
  const kinds: Record<string, string> = {
    ...{ SnmpAdminString: 'text', Gauge32: 'gauge', CounterBasedGauge64: 'counter64', Counter64: 'counter64' },
    ...{ DateAndTime: 'time', TimeTicks: 'ticks', TruthValue: 'truth' },
  };
  const parents: Record<string, string> = {};
  for (const [, name, number] of mib.matchAll(/^(cistern\w+) +OBJECT IDENTIFIER ::= \{ cisternObjects (\d+) \}/gm))
    parents[name as string] = `1.${number}`;
  for (const [name, { group, table }] of Object.entries(tables))
    parents[`cistern${name}Entry`] = `1.${group}.${table}.1`;
  const said = found.map(({ name, syntax, parent, number }) => ({
    name,
    oid: `1.3.6.1.4.1.8072.9999.9999.7710.${parents[parent as string]}.${number}`,
    kind: syntax?.startsWith('INTEGER {') ? 'enum' : kinds[syntax as string],
  }));
  assert.ok(said.length > 60);
  const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
    (a.name ?? '') < (b.name ?? '') ? -1 : 1;
  assert.deepEqual(said.sort(byName), objects().sort(byName));
  const frozen = readFileSync(new URL('oids.txt', import.meta.url), 'utf8');
  assert.equal(
    objects()
      .map(({ name, oid, kind }) => `${name} ${oid.slice('1.3.6.1.4.1.8072.9999.9999.7710.'.length)} ${kind}\n`)
      .sort()
      .join(''),
    frozen,
  );
});
