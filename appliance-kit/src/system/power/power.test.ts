import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, eventually } from '../../../tests/harness.ts';
import { iso } from '../../base/clock.ts';
import { Settings } from '../../state/settings.ts';
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

test('a plan: refused with the reason, shown, cancelled, carried out at its time, and dropped when that is long past', async (t) => {
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

  await plan(120, 'power-off');
  on.clock.advance(119);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(on.simulation.powered, null);
  on.clock.advance(2);
  await eventually(() => assert.equal(on.simulation.powered, 'off'), 60_000);
  assert.equal((await state()).plan, null);
  const { body: log } = await on.client.get('/api/audit-log');
  assert.deepEqual(
    log.items
      .filter((one: { action: string }) => one.action.startsWith('power'))
      .slice(0, 2)
      .map((one: { action: string; user: string }) => [one.action, one.user]),
    [
      ['power.off', 'appliance'],
      ['power-plan.make', 'ada'],
    ],
  );

  on.simulation.powered = null;
  await plan(120);
  on.clock.advance(3600);
  await eventually(async () => {
    const { items } = (await on.client.get('/api/alerts?state=all')).body;
    const [missed] = items.filter((one: { class: string }) => one.class === 'power.missed');
    assert.match(missed?.text ?? '', /^ada had planned to reboot it at .*its time was 58 minutes ago/);
  }, 60_000);
  assert.deepEqual([on.simulation.powered, (await state()).plan], [null, null]);
});

test('whoever asks before everything has started is told how it ended all the same', async (t) => {
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
