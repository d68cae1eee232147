import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, eventually } from '../../../tests/harness.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { Settings } from '../../state/settings.ts';
import { Power } from './power.ts';
import { Runs, runSetting } from './runs.ts';

test('how a run ended is known at the next start of the system, and told once', async (t) => {
  const { appliance, clock } = await bench(t);
  const settings = new Settings(appliance.db);
  const runs = new Runs(settings, clock);
  const boot = (id: string) => {
    const end = runs.began(id);
    return end && [end.how, end.at, end.action, end.by];
  };
  appliance.db.run('DELETE FROM settings WHERE key = ?', runSetting.key);
  assert.deepEqual(boot('one'), ['first', null, null, null]);
  clock.advance(60);
  runs.alive();
  const alive = clock.now();
  clock.advance(30);
  assert.equal(boot('one'), null, 'akd alone was restarted');
  // That start says that it runs, too.
  assert.deepEqual(boot('two'), ['interrupted', alive + 30_000, null, null]);
  clock.advance(10);
  runs.stopped();
  const stopped = clock.now();
  assert.deepEqual(boot('three'), ['ordered', stopped, null, null]);
  runs.asked({ action: 'reboot', by: 'grace' });
  runs.stopped();
  assert.deepEqual(boot('four'), ['ordered', clock.now(), 'reboot', 'grace']);
  // What was asked for and refused is no reason.
  runs.asked({ action: 'power-off', by: 'grace' });
  runs.asked(null);
  runs.stopped();
  assert.deepEqual(boot('five'), ['ordered', clock.now(), null, null]);
  // So is one that was not done at once.
  runs.asked({ action: 'power-off', by: 'grace' });
  clock.advance(601);
  runs.stopped();
  assert.deepEqual(boot('six'), ['ordered', clock.now(), null, null]);
  assert.deepEqual(runs.before(), { how: 'ordered', at: clock.now(), action: null, by: null });
});

test('a plan: refused with the reason, shown, cancelled, and carried out', async (t) => {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  await on.client.post('/api/setup/finish');
  const state = async () => (await on.client.get('/api/power')).body;
  assert.deepEqual([(await state()).ended.how, (await state()).plan], ['first', null]);

  const plan = (seconds: number, action = 'reboot') =>
    on.client.post('/api/power-plan', { action, at: iso(on.clock.now() + seconds * 1000), reason: 'New memory.' });
  for (const [seconds, message] of [
    [30, /is not a minute ahead/],
    [-3600, /is not a minute ahead/],
    [400 * 86_400, /is more than a year ahead/],
  ] as const) {
    const { status, body } = await plan(seconds);
    assert.deepEqual([status, body.errors[0].path], [400, '/at']);
    assert.match(body.detail, message);
  }
  const wrong = await on.client.post('/api/power-plan', { action: 'halt', at: 'tomorrow', reason: 'x' });
  assert.equal(wrong.status, 400);

  const made = await plan(3600);
  assert.equal(made.status, 200);
  assert.deepEqual(
    [made.body.plan.action, made.body.plan.reason, made.body.plan.by, Math.round(made.body.plan.inSeconds)],
    ['reboot', 'New memory.', 'ada', 3600],
  );
  const second = await plan(7200);
  assert.equal(second.status, 409);
  assert.match(second.body.detail, /ada has planned something already/);
  assert.equal((await on.client.delete('/api/power-plan')).status, 204);
  assert.equal((await state()).plan, null);
  assert.equal((await on.client.delete('/api/power-plan')).status, 404);

  const { body: log } = await on.client.get('/api/audit-log');
  assert.deepEqual(
    log.items
      .filter((one: { action: string }) => one.action.startsWith('power'))
      .map((one: { action: string; user: string }) => [one.action, one.user]),
    [
      ['power-plan.cancel', 'ada'],
      ['power-plan.make', 'ada'],
    ],
  );
  // akd itself looks whether something is due.
  await plan(120, 'power-off');
  on.clock.advance(121);
  await eventually(() => assert.equal(on.simulation.powered, 'off'), 60_000);
});

test('what is due is begun once, at its time; what was not done is an alert', async (t) => {
  const { appliance, clock } = await bench(t);
  const settings = new Settings(appliance.db);
  const [done, missed] = [[] as string[], [] as string[]];
  let [bootId, fails] = ['one', false];
  const power = () =>
    new Power({
      ...{ settings, clock, runs: new Runs(settings, clock), hostName: () => 'metrics1' },
      platform: {
        uptimeSeconds: () => 60,
        bootId: async () => bootId,
        power: async (action: string) => {
          done.push(action);
          if (fails) throw fail('command_failed', '“systemctl reboot” failed: no such unit.');
        },
      },
      audit: { record: () => {} } as never,
      changes: { publish: () => {} },
      storaged: { status: async () => Promise.reject(new Error('away')) },
      missed: (plan, why) => missed.push(`${plan.action}: ${why}`),
    });
  const ada = { name: 'ada', address: 'local', way: 'page' } as const;
  const plan = () => power().make({ action: 'reboot', at: iso(clock.now() + 120_000), reason: 'Memory' }, ada);
  const planned = async () => (await power().state()).plan !== null;

  plan();
  clock.advance(119);
  await power().due();
  assert.deepEqual([done, await planned()], [[], true], 'not before its time');
  clock.advance(1);
  await power().due();
  // akd is killed, or asks again, before the system has ended: it is not begun again.
  await power().due();
  assert.deepEqual([done, missed], [['reboot'], []]);
  bootId = 'two';
  await power().due();
  assert.deepEqual([done, missed, await planned()], [['reboot'], [], false], 'done');

  plan();
  clock.advance(120);
  await power().due();
  clock.advance(601);
  await power().due();
  assert.deepEqual([done.length, missed.splice(0)], [2, ['reboot: the system has not ended since']]);

  plan();
  clock.advance(120 + 601);
  await power().due();
  assert.deepEqual(missed.splice(0), ['reboot: its time was 10 minutes ago when the appliance could look']);

  fails = true;
  plan();
  clock.advance(120);
  await power().due();
  assert.deepEqual(missed.splice(0), ['reboot: “systemctl reboot” failed: no such unit']);
  assert.deepEqual([done.length, await planned()], [3, false]);
  await power().due();
  assert.equal(done.length, 3);
});

test('what the store has read back, in words', async (t) => {
  const { appliance, clock, simulation } = await bench(t);
  const settings = new Settings(appliance.db);
  const said = async (replayed: object) => {
    const status = { startedAt: iso(clock.now()), replayed } as never;
    const power = new Power({
      ...{ settings, clock, platform: simulation, runs: new Runs(settings, clock), hostName: () => 'metrics1' },
      ...{ audit: { record: () => {} } as never, changes: { publish: () => {} }, missed: () => {} },
      storaged: { status: async () => status },
    });
    return (await power.state()).replayed?.sentence;
  };
  const clean = { samples: 19_926, seconds: 0.1, damagedBytes: 0, damagedEntries: 0 };
  const read = '19,926 samples that were in no block yet were read back from the journal, in 0.1 seconds.';
  assert.equal(await said({ ...clean, samples: 0 }), 'Nothing had to be read back from the journal.');
  assert.equal(await said(clean), `${read} None is missing.`);
  const lost = 'could not be read: that is lost, unless a snapshot has it.';
  assert.equal(await said({ ...clean, damagedBytes: 512 }), `${read} Of the journal 512 bytes ${lost}`);
  assert.equal(await said({ ...clean, damagedEntries: 1 }), `${read} Of the journal a part of 1 entry ${lost}`);
});

test('how it ended is known before all domains have started', async (t) => {
  const before = await bench(t, { start: true });
  await before.client.setUp();
  const again = await before.restart();
  for (const [name, value] of before.client.cookies) again.client.cookies.set(name, value);
  assert.equal((await again.client.get('/api/power')).body.ended.how, 'ordered');
  // The same, where nothing is ever started.
  const never = await bench(t);
  await never.client.setUp();
  const settings = new Settings(never.appliance.db);
  settings.set(runSetting, { bootId: 'before', aliveAt: never.clock.now(), asked: null, endedAt: null });
  assert.equal((await never.client.get('/api/power')).body.ended.how, 'interrupted');
});

test('an interruption is an alert at the next start of the system', async (t) => {
  const before = await bench(t, { start: true });
  await before.client.setUp();
  await before.client.post('/api/setup/finish');
  const { cookies } = before.client;
  // As state.db is after a power cut: akd was not told to end, and could write nothing down.
  before.appliance.db.run(`CREATE TRIGGER cut BEFORE UPDATE ON settings WHEN NEW.key = '${runSetting.key}'
    BEGIN SELECT RAISE(IGNORE); END`);
  const again = await before.restart();
  for (const [name, value] of cookies) again.client.cookies.set(name, value);
  const { items } = (await again.client.get('/api/alerts?state=all')).body;
  assert.deepEqual(
    items.map((one: { class: string }) => one.class).filter((one: string) => one === 'appliance.interrupted'),
    ['appliance.interrupted'],
  );
});
