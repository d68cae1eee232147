import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { program } from '../../../tests/cistern.ts';
import { addFactor, type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import type { Log } from '../../base/log.ts';
import { Settings } from '../../state/settings.ts';
import { FREE_GUESSES } from '../session/throttle.ts';
import { hashPassword } from '../users/index.ts';
import { LetIn } from './let-in.ts';
import { readRequest } from './request.ts';

const ONE_TIME = 'abcd-efgh-jkmn-pqrs';
const NEW = 'violet tractor umbrella';
const DAY = 24 * 3600;
const id = (n: number) => n.toString(16).padStart(32, '0');

async function atConsole(t: TestContext) {
  const on = await bench(t);
  await on.client.setUp();
  const folder = join(on.directory, 'console');
  mkdirSync(folder, { mode: 0o750 });
  const passwordHash = await hashPassword(ONE_TIME);
  const file = join(folder, 'let-in.json');
  const ask = (user: string, n = 1, at = on.clock.now()) => {
    const request = { version: 1, id: id(n), user, passwordHash, console: 'ttyS0', at: new Date(at).toISOString() };
    writeFileSync(`${file}.new`, JSON.stringify(request), { mode: 0o644 });
    renameSync(`${file}.new`, file);
  };
  return { ...on, file, ask, passwordHash };
}

const answer = ({ directory }: Bench) =>
  JSON.parse(readFileSync(join(directory, 'state', 'let-in-answer.json'), 'utf8'));
const signIn = (appliance: Bench['appliance'], password: string, more: object = {}) =>
  new Client(appliance, '192.0.2.50').post('/api/session', { user: 'ada', password, ...more });
const audited = async (client: Client, action: string) =>
  (await client.get('/api/audit-log')).body.items.filter((one: { action: string }) => one.action === action);

/** Signs in as ada with the one-time password, and replaces it. */
async function comesIn(appliance: Bench['appliance']): Promise<Client> {
  const client = new Client(appliance, '192.0.2.51');
  client.password = NEW;
  assert.equal((await client.post('/api/session', { user: 'ada', password: ONE_TIME })).body.mustChangePassword, true);
  const change = { currentPassword: ONE_TIME, newPassword: NEW };
  assert.equal((await client.post('/api/session/change-password', change)).status, 200);
  return client;
}

test('who lost password and second factor is let in by what root left at the console', async (t) => {
  const on = await atConsole(t);
  const { client, appliance, ask } = on;
  await addFactor(on);
  on.clock.advance(30);
  appliance.letIn.look();
  assert.equal((await client.get('/api/status')).status, 200, 'nothing was asked for');
  ask('ada');
  appliance.letIn.look();
  assert.deepEqual(answer(on), { version: 1, id: id(1), outcome: 'done' });
  assert.equal((await client.get('/api/status')).status, 401, 'the sessions end');
  assert.equal((await signIn(appliance, PASSWORD)).body.code, 'wrong_credentials');
  const again = await comesIn(appliance);
  assert.deepEqual((await again.get('/api/factors')).body, { items: [], recoveryCodesLeft: 0 });
  const [entry, ...more] = await audited(again, 'user.let-in');
  assert.deepEqual(more, []);
  assert.deepEqual(
    [entry.user, entry.address, entry.way, entry.target, entry.before, entry.after],
    ['console', 'ttyS0', 'console', 'ada', { disabled: false, factors: 1 }, { disabled: false, factors: 0 }],
  );
  const alerts = (await again.get('/api/alerts?state=all')).body.items;
  const [alert] = alerts.filter((one: { class: string }) => one.class === 'signin.recovered');
  assert.equal(alert.title, 'ada was let in again at the console ttyS0');
  assert.match(alert.text, /1 second factor and the recovery codes were removed/);
  assert.ok(!/muted/.test(String(alert.routedBy)), 'it is sent');
  // The same request, read again: by this process, and by the next one.
  appliance.letIn.look();
  const restarted = await on.restart();
  assert.equal((await signIn(restarted.appliance, NEW)).status, 200, 'the password of her own is not replaced');
  assert.equal((await audited(Object.assign(restarted.client, { cookies: again.cookies }), 'user.let-in')).length, 1);
});

test('without akd it waits, and is done before the next akd answers anybody', async (t) => {
  const on = await atConsole(t);
  const { client, ask } = on;
  // Another administrator, who has disabled her.
  const { password } = (await client.post('/api/users', { name: 'eve', role: 'administrator' })).body;
  const eve = new Client(on.appliance, '192.0.2.9');
  eve.password = NEW;
  await eve.post('/api/session', { user: 'eve', password });
  await eve.post('/api/session/change-password', { currentPassword: password, newPassword: NEW });
  assert.equal((await eve.put('/api/users/ada', { role: 'administrator', disabled: true })).status, 200);
  await eventually(() =>
    assert.deepEqual(
      JSON.parse(readFileSync(join(on.directory, 'state/administrators.json'), 'utf8')).map(
        ({ name }: { name: string }) => name,
      ),
      ['eve'],
    ),
  );
  const restarting = on.restart();
  ask('ada');
  const { appliance } = await restarting;
  // The first request of all.
  const first = await signIn(appliance, ONE_TIME);
  assert.deepEqual([first.status, first.body.mustChangePassword], [200, true]);
  assert.deepEqual(answer(on), { version: 1, id: id(1), outcome: 'done' });
  await comesIn(appliance);
  await eventually(() =>
    assert.equal(JSON.parse(readFileSync(join(on.directory, 'state/administrators.json'), 'utf8')).length, 2),
  );
});

test('who was shut out for guessing is not any more', async (t) => {
  const on = await atConsole(t);
  const { appliance, ask } = on;
  for (let n = 0; n < FREE_GUESSES; n++) await signIn(appliance, 'wrong');
  assert.equal((await signIn(appliance, PASSWORD)).body.code, 'locked_out');
  ask('ada');
  appliance.letIn.look();
  assert.equal((await signIn(appliance, ONE_TIME)).status, 200);
  const { appliance: after } = await on.restart();
  assert.equal((await signIn(after, ONE_TIME)).status, 200);
});

test('nobody, somebody of a provider, no administrator, and a request of long ago: nothing is changed', async (t) => {
  const on = await atConsole(t);
  const { client, appliance, ask, clock } = on;
  await client.post('/api/users', { name: 'bob', role: 'operator' });
  appliance.users.createExternal('mia', 'administrator', 'pr_1', 'cn=mia');
  const before = JSON.stringify((await client.get('/api/users')).body);
  for (const [n, [user, at, outcome, target]] of (
    [
      ['nobody', clock.now(), 'unknown', 'an unknown name'],
      ['a passw0rd in the wrong field', clock.now(), 'unknown', 'an unknown name'],
      ['mia', clock.now(), 'external', 'mia'],
      ['bob', clock.now(), 'not-administrator', 'bob'],
      ['ada', clock.now() - 7 * DAY * 1000, 'expired', 'ada'],
    ] as const
  ).entries()) {
    ask(user, n + 1, at);
    appliance.letIn.look();
    assert.deepEqual(answer(on), { version: 1, id: id(n + 1), outcome }, user);
    const [entry] = await audited(client, 'user.let-in-refused');
    assert.deepEqual([entry.target, entry.after], [target, { why: outcome }]);
  }
  assert.equal(JSON.stringify((await client.get('/api/users')).body), before);
  assert.ok(!JSON.stringify((await client.get('/api/audit-log')).body).includes('passw0rd'));
  // Refused once, it is not looked at again: who becomes an administrator later is not let in by it.
  ask('bob', 9);
  appliance.letIn.look();
  await client.put('/api/users/bob', { role: 'administrator', disabled: false });
  const { appliance: after } = await on.restart();
  assert.equal((await new Client(after).post('/api/session', { user: 'bob', password: ONE_TIME })).status, 401);
});

test('a file that root alone did not write is nothing, and never keeps akd from starting', async (t) => {
  const on = await atConsole(t);
  const { appliance, file, ask, passwordHash } = on;
  const folder = join(on.directory, 'console');
  const refused = async (what: string, pattern: RegExp) => {
    assert.throws(() => readRequest(file, ''), pattern, what);
    appliance.letIn.look();
    assert.equal((await signIn(appliance, PASSWORD)).status, 200, what);
    rmSync(file, { force: true, recursive: true });
  };
  const asked = () => ask('ada');
  asked();
  chownSync(file, 510, 510);
  await refused('of another user', /belongs to the user 510/);
  asked();
  chmodSync(file, 0o664);
  await refused('that a group may write', /can be written by others/);
  asked();
  linkSync(file, join(folder, 'another'));
  await refused('with two names', /no file of its own/);
  asked();
  renameSync(file, join(folder, 'elsewhere'));
  symlinkSync(join(folder, 'elsewhere'), file);
  await refused('by a link', /ELOOP/);
  mkdirSync(file);
  await refused('a folder', /no file of its own/);
  for (const [content, pattern] of [
    ['', /JSON/],
    ['{"version":1', /JSON/],
    ['x'.repeat(5000), /5000 bytes/],
    ['null', /no request/],
    [JSON.stringify({ version: 2 }), /no request/],
    [
      JSON.stringify({ version: 1, id: id(1), user: 'ada', passwordHash: '', console: 'tty1', at: '2026-01-01' }),
      /no request/,
    ],
    [
      JSON.stringify({ version: 1, id: id(1), user: 'a\nb', passwordHash, console: 'tty1', at: '2026-01-01' }),
      /no request/,
    ],
  ] as const) {
    writeFileSync(file, content);
    await refused(content.slice(0, 40), pattern);
  }
  asked();
  chownSync(folder, 510, 510);
  await refused('in a folder of another user', /belongs to the user 510/);
  chownSync(folder, 0, 0);
  chmodSync(folder, 0o777);
  asked();
  await refused('in a folder for everybody', /can be written by others/);
  chmodSync(folder, 0o750);
  // One of these and a start: it starts.
  writeFileSync(file, 'damaged');
  const { appliance: after } = await on.restart();
  assert.equal((await signIn(after, PASSWORD)).status, 200);
  // What 0.1.0 writes.
  writeFileSync(
    file,
    `{"version":1,"id":"${id(7)}","user":"ada","passwordHash":"${passwordHash}","console":"tty1","at":"2026-01-01T00:00:01.123456789Z"}\n`,
  );
  after.letIn.look();
  assert.equal((await signIn(after, ONE_TIME)).status, 200);
});

test('what cannot be written down is not half done, is said once, and is done when it can', async (t) => {
  const on = await atConsole(t);
  const { appliance, ask, file } = on;
  await addFactor(on);
  const said: string[] = [];
  const note = (message: string) => void said.push(message);
  const log: Log = { error: note, warn: note, info: note, debug: note };
  let full = true;
  const alerts = Object.create(appliance.alerts, {
    // The last that is written.
    raise: {
      value: (...args: Parameters<typeof appliance.alerts.raise>) => {
        if (full) throw new Error('database or disk is full');
        return appliance.alerts.raise(...args);
      },
    },
  });
  const letIn = new LetIn({
    ...{ ...appliance, log, alerts, dependents: appliance.dependentsOnUsers },
    ...{ clock: on.clock, settings: new Settings(appliance.db), requestFile: file, state: join(on.directory, 'state') },
  });
  ask('ada');
  letIn.look();
  letIn.look();
  assert.deepEqual([said.length, answer(on).outcome], [1, 'failed']);
  assert.equal(appliance.factors.has('ada'), true);
  assert.equal((await signIn(appliance, ONE_TIME)).status, 401);
  assert.equal((await on.client.get('/api/status')).status, 200, 'her session goes on');
  full = false;
  letIn.look();
  assert.equal(answer(on).outcome, 'done');
  assert.equal((await signIn(appliance, ONE_TIME)).status, 200);
});

test('the real command, and what it makes, is understood', async (t) => {
  const on = await atConsole(t);
  // As at a terminal: what is typed comes when it is asked for.
  const child = spawn(program('cistern'), ['let-in', '--console', 'tty1', '--state', on.directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill());
  let shown = '';
  child.stdout.on('data', (data) => {
    shown += data;
  });
  const see = (pattern: RegExp) =>
    eventually(() => {
      const found = pattern.exec(stripVTControlCharacters(shown));
      assert.ok(found, shown);
      return found;
    });
  // akd's own folder, as it is called on an appliance.
  symlinkSync('state', join(on.directory, 'akd'));
  await see(/Name of the administrator/);
  child.stdin.write('ada\n');
  await see(/Type yes/);
  child.stdin.write('yes\n');
  await see(/Waiting/);
  on.clock.step((Date.now() - on.clock.now()) / 1000);
  on.appliance.letIn.look();
  const [, password] = await see(/Done: "ada" is let in again[\s\S]*One-time password {2}(\S+)/);
  assert.equal((await signIn(on.appliance, password as string)).body.mustChangePassword, true);
  const ended = once(child, 'exit');
  child.stdin.write('\n');
  assert.deepEqual((await ended)[0], 0);
  assert.ok(shown.endsWith('\u001b[2J\u001b[3J\u001b[H'), 'the screen is cleared');
  assert.throws(() => readFileSync(on.file), { code: 'ENOENT' }, 'nothing is left');
});
