import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import type { TimeSource } from '../../platform/machine.ts';
import { readSmart } from '../../platform/zfs/smart.ts';
import type { Heat } from '../../storage/disks/heat.ts';
import { apart, fault, Steps } from './clock.ts';
import { describeHeat } from './temperatures.ts';

async function machine(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}

/** Time passes, and the appliance looks. */
async function after(on: Bench, seconds: number): Promise<void> {
  on.clock.advance(seconds);
  await on.appliance.poller.look();
}
const active = async (on: Bench) =>
  (await on.client.get('/api/alerts')).body.items.map(
    ({ class: kind, severity, title }: Record<string, string>) => `${kind} ${severity}: ${title}`,
  );
const now = async (on: Bench) => (await on.client.get('/api/machine')).body;
const simulate = (on: Bench, what: string, args: Record<string, unknown>) => on.simulation.simulate(what, args);

test('a machine that is well: its clock, links and temperatures, and no alert', async (t) => {
  const on = await machine(t);
  await after(on, 10);
  await after(on, 4000);
  const { clock, links, temperatures, errors } = await now(on);
  assert.deepEqual([clock.state, clock.sentence], ['synchronised', 'It follows time.example, 2.1 ms apart from it.']);
  assert.deepEqual(
    links.map(({ name, state, sentence }: Record<string, string>) => [name, state, sentence]),
    [
      ['eno1', 'up', 'It is up, with 10 Gbit/s.'],
      ['eno2', 'unused', 'Nothing was ever plugged in.'],
    ],
  );
  assert.deepEqual(
    temperatures.map(({ state, warning, critical }: Record<string, unknown>) => [state, warning, critical]),
    [
      ['ok', 84, 100],
      ['ok', 85, null],
    ],
  );
  assert.deepEqual([errors, await active(on)], [[], []]);
});

test('a clock without a time server is an alert after an hour, and not because it was set', async (t) => {
  const on = await machine(t);
  await simulate(on, 'time', { synchronised: false, source: null, answeredAt: null, offsetSeconds: null });
  await after(on, 0);
  on.clock.step(7_200);
  await after(on, 3599);
  assert.deepEqual([await active(on), (await now(on)).clock.state], [[], 'waiting']);
  await after(on, 31);
  assert.deepEqual(await active(on), ['time.unsynchronised warning: The clock is not synchronised']);
  const { clock } = await now(on);
  assert.deepEqual([clock.state, clock.sentence], ['unsynchronised', 'chrony has no time server that answers.']);
  // Its server sets it back: what was known before is still asked for anew.
  on.clock.step(-7_200);
  await simulate(on, 'time', { synchronised: true, source: 'ntp1', offsetSeconds: 0.004 });
  await after(on, 31);
  assert.deepEqual(await active(on), []);
});

test('a clock that is off says by how much; a server that fell silent, and when', () => {
  const at = Date.UTC(2026, 0, 1);
  const well: TimeSource = {
    ...{ daemon: 'chrony', running: true, source: 'ntp1', synchronised: true },
    ...{ answeredAt: at - 60_000, pollSeconds: 64, offsetSeconds: 0.01 },
  };
  assert.equal(fault(well, at), null);
  assert.equal(fault({ ...well, offsetSeconds: 0.35 }, at), 'It is 350 ms off from ntp1; 100 ms is the limit.');
  assert.equal(fault({ ...well, answeredAt: at - 599_000 }, at), null);
  assert.equal(
    fault({ ...well, answeredAt: at - 700_000 }, at),
    'ntp1 does not answer any more. The last answer came 12 minutes ago.',
  );
  // It asks rarely: three questions may be lost.
  assert.equal(fault({ ...well, answeredAt: at - 6_000_000, pollSeconds: 2048 }, at), null);
  assert.match(fault({ ...well, answeredAt: at - 6_200_000, pollSeconds: 2048 }, at) ?? '', /does not answer/);
  assert.equal(fault({ ...well, running: false }, at), 'chrony, which keeps the clock, does not run.');
  // One that does not say when it was answered is believed.
  assert.equal(fault({ ...well, answeredAt: null }, at), null);
  assert.deepEqual([0.0021, 0.35, 2.345, 400].map(apart), ['2.1 ms', '350 ms', '2.35 s', '7 minutes']);
});

test('a clock that is set is an event; one that is turned, and a process that was halted, are none', () => {
  const time = { wall: 1e12, quiet: 0, halt: 0 };
  const said: number[] = [];
  const steps = new Steps(
    {
      now: () => {
        time.quiet += time.halt;
        return time.wall;
      },
      monotonic: () => time.quiet,
    },
    ({ seconds }) => said.push(seconds),
  );
  const pass = (wall: number, quiet = wall) => {
    time.wall += wall;
    time.quiet += quiet;
    steps.look();
  };
  pass(0);
  pass(1000);
  pass(60_000, 60_000);
  pass(1500, 1000);
  assert.deepEqual(said, []);
  pass(301_000, 1000);
  pass(-299_000, 1000);
  assert.deepEqual(said, [300, -300]);
  time.halt = 5_000;
  pass(1000);
  time.halt = 0;
  pass(5_000, 0);
  assert.deepEqual(said, [300, -300], 'what was read while it was halted says nothing');
});

test('a step of the clock is in the log, once', async (t) => {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 1_100);
  await promise;
  on.clock.step(-300);
  await new Promise((done) => setTimeout(done, 2_200));
  const all = (await on.client.get('/api/alerts?state=all')).body.items.filter(
    (one: { class: string }) => one.class === 'clock.stepped',
  );
  assert.deepEqual(
    all.map(({ title, state }: Record<string, string>) => [title, state]),
    [['The clock was set back by 5 minutes', 'cleared']],
  );
});

test('a link that loses its carrier is an alert that clears; one that never had one is none', async (t) => {
  const on = await machine(t);
  await after(on, 10);
  await simulate(on, 'link', { name: 'eno1', carrier: false });
  await after(on, 5);
  assert.deepEqual(await active(on), [], 'a switch that starts again');
  await after(on, 10);
  assert.deepEqual(await active(on), ['link.down warning: The network link eno1 is down']);
  assert.equal((await now(on)).links[0].state, 'down');
  await simulate(on, 'link', { name: 'eno1', carrier: true });
  await after(on, 10);
  assert.deepEqual(await active(on), []);
  await simulate(on, 'link', { name: 'eno1', carrier: false, enabled: false });
  await after(on, 10);
  await after(on, 20);
  assert.deepEqual([await active(on), (await now(on)).links[0].state], [[], 'off'], 'somebody switched it off');
});

test('what had a carrier is remembered over a restart; one that is gone is told, and forgotten when somebody says so', async (t) => {
  const before = await machine(t);
  await after(before, 10);
  const cookies = before.client.cookies;
  await simulate(before, 'link-gone', { name: 'eno1' });
  const on = await before.restart();
  for (const [name, value] of cookies) on.client.cookies.set(name, value);
  await after(on, 0);
  await after(on, 20);
  assert.deepEqual(await active(on), ['link.down warning: The network link eno1 is gone']);
  assert.deepEqual(
    (await on.client.delete('/api/machine/links/eno2')).body.detail,
    'The network link eno2 is not down.',
  );
  assert.equal((await on.client.delete('/api/machine/links/eth9')).status, 404);
  assert.equal((await on.client.delete('/api/machine/links/eno1')).status, 204);
  assert.deepEqual(await active(on), []);
  await after(on, 20);
  assert.deepEqual(await active(on), []);
  const [entry] = (await on.client.get('/api/audit-log?limit=1')).body.items;
  assert.deepEqual([entry.action, entry.target, entry.user], ['link.forget', 'eno1', 'ada']);
});

test('a bond that is down explains its ports; one port of it is told by itself', async (t) => {
  const on = await machine(t);
  const port = (name: string, carrier: boolean) => simulate(on, 'link', { name, carrier, member: 'bond0' });
  await port('ens1', true);
  await port('ens2', true);
  await simulate(on, 'link', { name: 'bond0', bond: true, carrier: true });
  await after(on, 10);
  await port('ens1', false);
  await after(on, 10);
  await after(on, 20);
  assert.deepEqual(await active(on), ['link.down warning: The network link ens1 is down']);
  await port('ens1', true);
  await after(on, 10);
  for (const name of ['ens1', 'ens2']) await port(name, false);
  await simulate(on, 'link', { name: 'bond0', carrier: false });
  await after(on, 10);
  await after(on, 20);
  assert.deepEqual(await active(on), ['link.down warning: The network link bond0 is down']);
});

test('without any link a delivery that fails and a clock without a server are explained; with another one they name it', async (t) => {
  const on = await machine(t);
  const { body } = await on.client.post('/api/destinations', {
    name: 'Hook',
    enabled: false,
    kind: 'webhook',
    webhook: { url: 'http://127.0.0.1:9/', preset: 'json', verifyCertificate: true },
  });
  assert.ok(body.id, JSON.stringify(body));
  await after(on, 10);
  const sql = 'UPDATE destinations SET enabled = 1, failing_since = ?, last_error = ?';
  on.appliance.db.run(sql, on.clock.now(), 'no route to host');
  await simulate(on, 'link', { name: 'eno1', carrier: false });
  await simulate(on, 'time', { synchronised: false, source: null });
  await after(on, 31);
  await after(on, 3700);
  assert.deepEqual(await active(on), ['link.down warning: The network link eno1 is down']);
  await simulate(on, 'link', { name: 'eno2', carrier: true });
  await after(on, 10);
  const items = (await on.client.get('/api/alerts')).body.items as Record<string, string>[];
  assert.deepEqual(items.map((one) => one.class).sort(), ['delivery.failing', 'link.down', 'time.unsynchronised']);
  assert.match(
    items.find((one) => one.class === 'delivery.failing')?.text ?? '',
    /no route to host\. 2 are waiting\. The network link eno1 is down, which may be why\.$/,
  );
});

test('heat: an alert after a minute, worse when critical, held until it is some degrees cooler, also over a restart', async (t) => {
  const before = await machine(t);
  const heat = (on: Bench, celsius: number) => simulate(on, 'temperature', { id: 'coretemp/0', celsius });
  await heat(before, 84);
  await after(before, 10);
  await after(before, 59);
  assert.deepEqual(await active(before), []);
  await after(before, 10);
  assert.deepEqual(await active(before), ['temperature.high warning: Package (coretemp) is 84 °C hot']);
  await heat(before, 80);
  await after(before, 10);
  assert.equal((await active(before)).length, 1, 'not five degrees below yet');
  const cookies = before.client.cookies;
  const on = await before.restart();
  for (const [name, value] of cookies) on.client.cookies.set(name, value);
  await after(on, 10);
  assert.equal((await active(on)).length, 1, 'nor after a restart');
  assert.equal((await now(on)).temperatures[0].state, 'warning');
  await heat(on, 101);
  await after(on, 10);
  await after(on, 61);
  assert.deepEqual(await active(on), ['temperature.high critical: Package (coretemp) is 101 °C hot']);
  await heat(on, 79);
  await after(on, 10);
  assert.deepEqual(await active(on), []);
});

test('limits: the sensor’s own, else those for its kind; a disk’s from its own report', () => {
  const quiet = () => false;
  const heat: Heat = { id: 'x', title: 'X', celsius: 70, maximum: null, critical: null, disk: null };
  const of = (more: Partial<Heat>) => {
    const { warning, critical, state } = describeHeat({ ...heat, ...more }, quiet);
    return [warning, critical, state];
  };
  assert.deepEqual(of({}), [85, null, 'ok']);
  assert.deepEqual(of({ disk: 'scsi-A' }), [60, null, 'warning']);
  assert.deepEqual(of({ critical: 74 }), [69, 74, 'warning']);
  assert.deepEqual(of({ maximum: 100, critical: 70 }), [70, 70, 'critical'], 'a maximum above what is critical');
  const smart = readSmart({
    smart_status: { passed: true },
    temperature: { current: 61, op_limit_max: 82, critical_limit_max: 85 },
  });
  assert.deepEqual([smart.temperatureCelsius, smart.highestCelsius, smart.criticalCelsius], [61, 82, 85]);
  assert.deepEqual(
    readSmart({ smart_status: { passed: false }, nvme_smart_health_information_log: { critical_warning: 9 } }).warnings,
    ['It has hardly any spare blocks left.', 'It can only be read any more.'],
  );
  const silent = readSmart({ smart_status: { passed: true }, temperature: { current: 40, drive_trip: 0 } });
  assert.deepEqual([silent.highestCelsius, silent.criticalCelsius], [null, null]);
  assert.equal(readSmart({ temperature: { current: 40, drive_trip: 65 } }).criticalCelsius, 65);
  assert.deepEqual(
    [{ firmware_version: 'EDA7702Q' }, { scsi_revision: 'E006 ' }, { revision: '0004' }, { firmware_version: '' }].map(
      (report) => readSmart(report).firmware,
    ),
    ['EDA7702Q', 'E006', '0004', null],
  );
  assert.equal(readSmart({ temperature: { current: 0 } }).temperatureCelsius, null, 'as virtual disks say');
});
