import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { type Mailbox, smtp } from '../../../tests/smtp.ts';
import { snmptrapd } from '../../../tests/snmptrapd.ts';
import { diskAiling } from '../../storage/disks/alerts.ts';
import { poolDegraded } from '../../storage/pools/alerts.ts';
import { applianceStarted } from '../../system/version/alerts.ts';
import { thresholdExceeded } from '../thresholds/alerts.ts';
import { backOff } from './outbox.ts';

const command = program('cistern');

const email = (port: number, change: object = {}) => ({
  name: 'Mail',
  kind: 'email',
  enabled: true,
  email: {
    host: '127.0.0.1',
    port,
    security: 'none',
    verifyCertificate: false,
    from: 'cistern@example.org',
    to: ['ops@example.org'],
  },
  ...change,
});

/** Something that happens, once for each name. */
function happen({ appliance }: Bench, name: string): string | null {
  return appliance.alerts.raise({ kind: applianceStarted, args: { hostName: name, version: '1', bootId: name } });
}

const quick = { many: 5, quietMs: 150, maxMs: 2_000, afterMs: 400 };

const subjects = (mailbox: Mailbox) =>
  mailbox.letters.map(({ content }) => /^Subject: .*: (\S+) has started$/im.exec(content)?.[1] ?? content);

const start = (t: Parameters<typeof bench>[0], options = {}) => bench(t, { cistern: command, start: true, ...options });

async function signedIn(on: Bench): Promise<Client> {
  const client = new Client(on.appliance);
  assert.equal((await client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
  return client;
}

const deliveries = async (client: Client, id: string | null) => (await client.get(`/api/alerts/${id}`)).body.deliveries;

test('an alert reaches every destination once, in order; a new destination gets only what comes after it', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const first = await smtp(t);
  await on.client.post('/api/destinations', email(first.port));
  happen(on, 'one');
  const second = await smtp(t);
  await on.client.post('/api/destinations', email(second.port, { name: 'Second' }));
  happen(on, 'two');
  const last = happen(on, 'three');
  await eventually(() => assert.deepEqual(subjects(first), ['one', 'two', 'three']));
  await eventually(() => assert.deepEqual(subjects(second), ['two', 'three']));
  await eventually(async () => {
    const states = (await deliveries(on.client, last)).map((one: { state: string; attempts: number }) => [
      one.state,
      one.attempts,
    ]);
    assert.deepEqual(states, [
      ['delivered', 1],
      ['delivered', 1],
    ]);
  });
  const { health } = (await on.client.get('/api/destinations')).body.items[0];
  assert.deepEqual([health.state, health.waiting, health.lastError], ['ok', 0, null]);
});

test('a destination that is down gets its messages when it is back; meanwhile it is red and the others are sent theirs', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  let words: string | null = 'disk full';
  const broken = await smtp(t, { refuse: () => words });
  const well = await smtp(t);
  const { body: made } = await on.client.post('/api/destinations', email(broken.port, { name: 'Broken' }));
  await on.client.post('/api/destinations', email(well.port, { name: 'Well' }));
  const id = happen(on, 'one');
  happen(on, 'two');
  await eventually(async () => {
    const one = (await on.client.get('/api/destinations')).body.items[0];
    assert.equal(one.health.state, 'failing');
    assert.match(one.health.lastError, /451 disk full/);
    assert.equal(one.health.waiting, 2);
  });
  await eventually(() => assert.deepEqual(subjects(well), ['one', 'two']));
  await on.appliance.poller.look();
  assert.deepEqual((await on.client.get('/api/alerts')).body.items, [], 'not before it has lasted a minute');
  on.clock.advance(60);
  await on.appliance.poller.look();
  const [alert] = (await on.client.get('/api/alerts')).body.items;
  assert.equal(alert.class, 'delivery.failing');
  assert.match(alert.text, /“Broken” does not take alerts: .*451 disk full.* 2 are waiting/);
  assert.deepEqual(
    alert.deliveries.map((one: { destinationName: string }) => one.destinationName),
    ['Well'],
  );
  words = null;
  await eventually(() => assert.deepEqual(subjects(broken), ['one', 'two']));
  await eventually(async () => {
    const mine = (await deliveries(on.client, id)).find(
      (one: { destinationId: string }) => one.destinationId === made.id,
    );
    assert.equal(mine.state, 'delivered');
    assert.ok(mine.attempts > 1);
  });
  await on.appliance.poller.look();
  assert.deepEqual((await on.client.get('/api/alerts')).body.items, []);
});

test('a message that a destination refuses for good is given up when it takes others, which is an alert', async (t) => {
  const on = await start(t, { retryAfterMs: () => 20 });
  await on.client.setUp();
  const mailbox = await smtp(t, {
    refuse: (content) => (/^Subject: .*poison/m.test(content) ? '554 5.7.1 This looks like spam' : null),
  });
  await on.client.post('/api/destinations', email(mailbox.port));
  const id = happen(on, 'poison');
  await eventually(async () => assert.ok((await deliveries(on.client, id))[0].attempts > 6));
  assert.equal((await deliveries(on.client, id))[0].state, 'waiting', 'nothing came after it: it may be the receiver');
  happen(on, 'two');
  await eventually(() => assert.equal(subjects(mailbox)[0], 'two'));
  await eventually(async () => {
    const [one] = await deliveries(on.client, id);
    assert.equal(one.state, 'failed');
    assert.match(one.lastError, /554 5.7.1 This looks like spam/);
  });
  // The mail that tells of it names the alert in its text alone.
  await eventually(() => assert.match(mailbox.letters[1]?.content ?? '', /^X-Cistern-Class: delivery.refused/m));
  const { items } = (await on.client.get('/api/alerts?state=all')).body;
  const refusal = items.find((one: { class: string }) => one.class === 'delivery.refused');
  assert.match(refusal.text, /“Mail” did not accept “poison has started”.* 554 5.7.1 This looks like spam\.$/);
  // The mailbox has the mail before the outbox knows that it has.
  await eventually(async () => {
    const { health } = (await on.client.get('/api/destinations')).body.items[0];
    assert.deepEqual([health.state, health.waiting], ['ok', 0]);
  });
  happen(on, 'three');
  await eventually(() => assert.equal(subjects(mailbox).at(-1), 'three'));
});

test('a destination that refuses everything keeps everything waiting, in order, and each says why', async (t) => {
  const on = await start(t, { retryAfterMs: () => 20, bursts: { ...quick, many: 6 } });
  await on.client.setUp();
  let words: string | null = '554 5.7.1 The mailbox is closed';
  const mailbox = await smtp(t, { refuse: () => words });
  await on.client.post('/api/destinations', email(mailbox.port));
  const ids = ['one', 'two', 'three', 'four', 'five', 'six'].map((name) => happen(on, name));
  // It was tried whether it takes any of those behind the first.
  await eventually(async () => assert.ok((await deliveries(on.client, ids[3] as string))[0].attempts > 1));
  for (const id of ids) {
    const [one] = await deliveries(on.client, id);
    assert.equal(one.state, 'waiting');
    await eventually(async () =>
      assert.match(
        (await deliveries(on.client, id))[0].lastError,
        one.attempts === 0 ? /^It waits behind an earlier one: .*mailbox is closed/ : /mailbox is closed/,
      ),
    );
  }
  assert.equal((await deliveries(on.client, ids[5] as string))[0].attempts, 0, 'not all of them, each time');
  words = null;
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one', 'two', 'three', 'four', 'five', 'six']));
});

test('a receiver that falls over one message gets the others; one that is too busy gets all', async (t) => {
  const on = await start(t, { retryAfterMs: () => 20 });
  await on.client.setUp();
  const taken: string[] = [];
  let status = 503;
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { title } = JSON.parse(body).alert;
      if (title.startsWith('poison')) return response.writeHead(status).end();
      taken.push(title);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
  const webhook = { preset: 'json', url, verifyCertificate: false };
  const made = await on.client.post('/api/destinations', { name: 'Hook', kind: 'webhook', enabled: true, webhook });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const id = happen(on, 'poison');
  happen(on, 'two');
  await eventually(async () => assert.ok((await deliveries(on.client, id))[0].attempts > 10));
  assert.deepEqual(taken, []);
  status = 500;
  await eventually(() => assert.equal(taken[0], 'two has started'));
  await eventually(async () => assert.equal((await deliveries(on.client, id))[0].state, 'failed'));
});

test('what waits is sent as soon as a network cable is back, and not when its turn would be after a long outage', async (t) => {
  const waits: number[] = [];
  // The first retries come soon, later ones not within this test.
  const on = await start(t, {
    retryAfterMs: (failures: number) => (waits.push(failures) && failures < 3 ? 20 : 600_000),
  });
  await on.client.setUp();
  const look = async () => {
    on.clock.advance(10);
    await on.appliance.poller.look();
  };
  await look();
  let words: string | null = 'no route to host';
  const mailbox = await smtp(t, { refuse: () => words });
  await on.client.post('/api/destinations', email(mailbox.port));
  await on.simulation.simulate('link', { name: 'eno1', carrier: false });
  await look();
  happen(on, 'one');
  await eventually(() => assert.deepEqual(waits, [1, 2, 3]));
  await look();
  await on.simulation.simulate('link', { name: 'eno1', carrier: true });
  await look();
  // The address takes a while longer than the carrier.
  await eventually(() => assert.deepEqual(waits.slice(0, 5), [1, 2, 3, 1, 2], 'tried at once, and soon again'));
  words = null;
  await on.simulation.simulate('link', { name: 'eno1', carrier: false });
  await look();
  await on.simulation.simulate('link', { name: 'eno1', carrier: true });
  await look();
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one']));
});

test('over a restart nothing is lost and nothing comes twice', async (t) => {
  const before = await start(t);
  await before.client.setUp();
  let words: string | null = null;
  const mailbox = await smtp(t, { refuse: () => words });
  await before.client.post('/api/destinations', email(mailbox.port));
  happen(before, 'one');
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one']));
  words = 'not now';
  happen(before, 'two');
  happen(before, 'three');
  await eventually(async () => {
    assert.equal((await before.client.get('/api/destinations')).body.items[0].health.state, 'failing');
  });
  const after = await before.restart();
  assert.equal(happen(after, 'one'), null, 'what was reported before is known');
  words = null;
  happen(after, 'four');
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one', 'two', 'three', 'four']));
});

test('what was delivered and not checkpointed before a crash does not come again', async (t) => {
  const before = await start(t);
  await before.client.setUp();
  const mailbox = await smtp(t);
  await before.client.post('/api/destinations', email(mailbox.port));
  happen(before, 'one');
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one']));
  await eventually(async () =>
    assert.equal((await before.client.get('/api/destinations')).body.items[0].health.state, 'ok'),
  );
  // The journal forgets how far this destination was, as if the crash had come before the checkpoint.
  const { id } = (await before.client.get('/api/destinations')).body.items[0];
  await before.appliance.journal.unsubscribe(id);
  await before.appliance.journal.subscribe(id, 'begin');
  const after = await before.restart();
  happen(after, 'two');
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one', 'two']));
});

test('what akd could not hand to the journal before a crash is handed over at the next start', async (t) => {
  const before = await start(t);
  await before.client.setUp();
  const mailbox = await smtp(t);
  await before.client.post('/api/destinations', email(mailbox.port));
  await before.appliance.journal.close();
  const id = happen(before, 'one');
  assert.ok(id);
  const after = await before.restart();
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one']));
  const client = await signedIn(after);
  await eventually(async () => assert.equal((await deliveries(client, id))[0].state, 'delivered'));
});

test('the journal command is killed: it is started again and delivery goes on', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const mailbox = await smtp(t);
  await on.client.post('/api/destinations', email(mailbox.port));
  for (const name of ['one', 'two', 'three']) {
    const { pid } = on.appliance.journal;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    happen(on, name);
  }
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one', 'two', 'three']), 15_000);
});

test('switched off or removed: nothing more comes, and it does not catch up', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const mailbox = await smtp(t);
  const other = await smtp(t);
  const { body: made } = await on.client.post('/api/destinations', email(mailbox.port));
  await on.client.post('/api/destinations', email(other.port, { name: 'Other' }));
  await on.client.put(`/api/destinations/${made.id}`, email(mailbox.port, { enabled: false }));
  happen(on, 'one');
  await eventually(() => assert.deepEqual(subjects(other), ['one']));
  await on.client.put(`/api/destinations/${made.id}`, email(mailbox.port));
  happen(on, 'two');
  await eventually(() => assert.deepEqual(subjects(mailbox), ['two']));
  assert.equal((await on.client.delete(`/api/destinations/${made.id}`)).status, 204);
  happen(on, 'three');
  await eventually(() => assert.deepEqual(subjects(other), ['one', 'two', 'three']));
  assert.deepEqual(subjects(mailbox), ['two']);
});

test('raise and clear by mail and by trap, only to the destinations that are meant', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const mailbox = await smtp(t);
  const elsewhere = await smtp(t);
  const receiver = await snmptrapd(t, 'authCommunity log public');
  const snmp = { host: '127.0.0.1', port: receiver.port, version: '2c', inform: true, community: 'public' };
  const ids: string[] = [];
  for (const body of [
    email(mailbox.port),
    { name: 'Traps', kind: 'snmp', enabled: true, snmp },
    email(elsewhere.port),
  ]) {
    ids.push((await on.client.post('/api/destinations', body)).body.id);
  }
  const args = { pool: 'tank', sentence: 'Degraded. A disk was removed.', system: false, telemetry: true };
  const id = on.appliance.alerts.raise({ kind: poolDegraded, args, only: ids.slice(0, 2) }) as string;
  assert.equal(on.appliance.alerts.raise({ kind: poolDegraded, args }), null, 'it is active already');
  on.appliance.alerts.clear(id);
  on.appliance.alerts.clear(id);
  await eventually(() => assert.equal(mailbox.letters.length, 2));
  await eventually(() => assert.equal(receiver.traps().length, 2, receiver.text()));
  assert.match(receiver.traps()[0] ?? '', /\.7710\.0\.1\b.*pool\.degraded/);
  assert.match(receiver.traps()[1] ?? '', /\.7710\.0\.2\b.*pool\.degraded/);
  await eventually(async () => {
    const list = (await on.client.get(`/api/alerts/${id}`)).body.deliveries;
    assert.equal(list.filter((one: { state: string }) => one.state === 'delivered').length, 4);
  });
  assert.equal(elsewhere.letters.length, 0);
});

test('secrets of destinations go in and never come out; the test button fills in the stored ones', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const mailbox = await smtp(t, { user: 'alerts', password: PASSWORD });
  const { email: open } = email(mailbox.port);
  const settings = { ...open, security: 'starttls', user: 'alerts' };
  const secret = { ...email(0), email: { ...settings, password: PASSWORD } };
  const { body: made } = await on.client.post('/api/destinations', secret);
  assert.equal(made.email.passwordSet, true);
  const without = { ...email(0), email: settings };
  const tested = (await on.client.post('/api/destinations/test', { ...without, id: made.id })).body;
  assert.deepEqual([tested.ok, tested.problem], [true, null]);
  assert.equal(mailbox.letters[0]?.user, 'alerts');
  assert.match(mailbox.letters[0]?.content ?? '', /This is a test\./);
  assert.ok(tested.exchange.some((line: { text: string }) => line.text.startsWith('EHLO')));

  const kept = (await on.client.put(`/api/destinations/${made.id}`, { ...without, name: 'Renamed' })).body;
  assert.equal(kept.email.passwordSet, true);
  const wrong = { ...without, id: made.id, email: { ...settings, password: 'not it' } };
  const refused = (await on.client.post('/api/destinations/test', wrong)).body;
  assert.equal(refused.ok, false);
  assert.match(refused.problem.detail, /535/);
  const emptied = await on.client.put(`/api/destinations/${made.id}`, {
    ...without,
    email: { ...settings, password: '' },
  });
  assert.equal(emptied.body.code, 'invalid_request', 'a user needs a password');

  const everything = JSON.stringify([
    made,
    tested,
    kept,
    refused,
    (await on.client.get('/api/destinations')).body,
    (await on.client.get('/api/audit-log')).body,
  ]);
  assert.ok(!everything.includes(PASSWORD));
});

test('settings that will not do are named', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const paths = async (body: object) => {
    const answer = await on.client.post('/api/destinations', body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    return answer.body.errors.map((error: { path: string }) => error.path);
  };
  const { email: good } = email(25);
  assert.deepEqual(await paths({ ...email(25), email: { ...good, host: 'a b' } }), ['/email/host']);
  assert.deepEqual(await paths({ ...email(25), email: { ...good, from: 'nobody' } }), ['/email/from']);
  assert.deepEqual(await paths({ ...email(25), email: { ...good, to: ['a@b', 'x, y@z'] } }), ['/email/to/1']);
  assert.deepEqual(await paths({ ...email(25), email: { ...good, to: ['a@b\r\nBcc: c@d'] } }), ['/email/to/0']);
  assert.deepEqual(await paths({ name: 'x', kind: 'snmp', enabled: true }), ['/snmp']);
  assert.deepEqual((await on.client.get('/api/destinations')).body.items, []);
});

test('retries: from one second to five minutes', () => {
  const after = (random: number) => [1, 2, 3, 9, 10, 100].map((attempts) => backOff(attempts, () => random));
  assert.deepEqual(after(0.5), [1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  assert.deepEqual([after(0)[0], after(1)[0]], [800, 1_200]);
  assert.ok(new Set(Array.from({ length: 20 }, () => backOff(5))).size > 1, 'all wait equally long');
});

test('10,000 events in a burst: all in the log, one message of them to each destination', async (t) => {
  const on = await start(t, { gatherMs: 50, bursts: quick });
  await on.client.setUp();
  const [mailbox, other] = [await smtp(t), await smtp(t)];
  await on.client.post('/api/destinations', email(mailbox.port));
  await on.client.post('/api/destinations', email(other.port, { name: 'Other' }));
  const { appliance } = on;
  const began = Date.now();
  appliance.db.transaction(() => {
    for (let n = 0; n < 10_000; n++) {
      const args = { device: `disk${n}`, words: `D${n}`, complaint: 'It is hot.' };
      assert.ok(appliance.alerts.raise({ kind: diskAiling, args }));
    }
  });
  const args = { pool: 'tank', sentence: 'Degraded.', system: false, telemetry: true };
  const single = appliance.alerts.raise({ kind: poolDegraded, args }) as string;
  const wrote = Date.now() - began;
  await eventually(() => assert.deepEqual([mailbox.letters.length, other.letters.length], [2, 2]), 30_000);
  t.diagnostic(`10,000 alerts: written in ${wrote} ms, sent after ${Date.now() - began} ms`);
  const subjects = mailbox.letters.map(({ content }) => /^Subject: (.*)$/m.exec(content.replace(/\r/g, ''))?.[1] ?? '');
  assert.match(subjects[0] as string, /Pool/, 'what is not of the burst does not wait for it');
  assert.match(subjects[1] as string, /10000 alerts of the class disk\.ailing/);
  assert.equal(appliance.db.get("SELECT count(*) AS n FROM alerts WHERE class = 'disk.ailing'")?.n, 10_000);
  const open = "SELECT count(*) AS n FROM deliveries WHERE state != 'delivered'";
  await eventually(() => assert.equal(appliance.db.get(open)?.n, 0));
  const [last] = (await on.client.get('/api/alerts?class=disk.ailing&limit=1')).body.items;
  assert.deepEqual(
    last.deliveries.map((one: { state: string; grouped: boolean }) => [one.state, one.grouped]),
    [
      ['delivered', true],
      ['delivered', true],
    ],
  );
  assert.equal((await deliveries(on.client, single))[0].grouped, false);

  // One that clears belongs to the conversation of the message that reported it.
  appliance.alerts.clear(last.id);
  await eventually(() => assert.equal(mailbox.letters.length, 3), 5_000);
  const root = /^Message-ID: (<gr-[^>]*>)/im.exec(mailbox.letters[1]?.content ?? '')?.[1];
  assert.ok(root);
  assert.match(mailbox.letters[2]?.content ?? '', new RegExp(`In-Reply-To:\\s+${root}`));
});

test('a burst that was interrupted by a restart is sent once', async (t) => {
  const before = await start(t, { gatherMs: 20, bursts: { ...quick, quietMs: 1_500 } });
  await before.client.setUp();
  const mailbox = await smtp(t);
  await before.client.post('/api/destinations', email(mailbox.port));
  for (let n = 0; n < 20; n++) happen(before, `host${n}`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(mailbox.letters.length, 0, 'still gathered');
  await before.restart();
  await eventually(() => assert.equal(mailbox.letters.length, 1));
  assert.match(mailbox.letters[0]?.content ?? '', /20 alerts of the class appliance\.started/);
});

test('a few at a time go out one by one', async (t) => {
  const on = await start(t, { gatherMs: 20, bursts: quick });
  await on.client.setUp();
  const mailbox = await smtp(t);
  await on.client.post('/api/destinations', email(mailbox.port));
  for (const name of ['one', 'two', 'three']) happen(on, name);
  await eventually(() => assert.deepEqual(subjects(mailbox), ['one', 'two', 'three']));
});

test('the daily digest: what is not urgent waits, and is one message to each destination; switched off, it is sent', async (t) => {
  const on = await start(t);
  await on.client.setUp();
  const mailbox = await smtp(t);
  await on.client.post('/api/destinations', email(mailbox.port));
  const settings = { enabled: true, at: '08:00', severities: ['info'] };
  assert.equal((await on.client.put('/api/alert-digest', settings)).status, 200);
  assert.equal((await on.client.put('/api/alert-digest', { ...settings, at: '8 o’clock' })).status, 400);
  // It is midnight.
  for (const name of ['one', 'two']) happen(on, name);
  const rule = {
    ruleId: 'th-1',
    ruleName: 'Egress',
    severity: 'warning',
    direction: 'above',
    expression: 'egress',
  } as const;
  const args = { ...rule, value: 9, limit: 8, unit: '', labels: {}, seriesKey: '[]' };
  on.appliance.alerts.raise({ kind: thresholdExceeded, args });
  await eventually(() => assert.equal(mailbox.letters.length, 1));
  on.clock.advance(7 * 3600);
  on.appliance.timetable.tick();
  const third = happen(on, 'three');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(mailbox.letters.length, 1, 'only what is a warning');
  // Over a restart as well.
  const after = await on.restart();
  after.clock.advance(3600);
  after.appliance.timetable.tick();
  after.appliance.timetable.tick();
  await eventually(() => assert.equal(mailbox.letters.length, 2));
  const { content } = mailbox.letters[1] as { content: string };
  assert.match(content.replace(/=\r\n/g, ''), /3 messages that could wait/);
  const client = await signedIn(after);
  await eventually(async () => {
    const [one] = await deliveries(client, third);
    assert.deepEqual([one.state, one.grouped], ['delivered', true]);
  });
  after.clock.advance(3600);
  after.appliance.timetable.tick();
  happen(after, 'four');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(mailbox.letters.length, 2);
  await client.put('/api/alert-digest', { ...settings, enabled: false });
  await eventually(() => assert.equal(mailbox.letters.length, 3));
});
