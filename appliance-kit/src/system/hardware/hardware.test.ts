import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type Bench, bench } from '../../../tests/harness.ts';
import { fail } from '../../base/problems/problem.ts';
import { hardwareOf } from '../../platform/sim/hardware.ts';

async function started(t: TestContext): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  await after(on, 0);
  return on;
}

/** Time passes, and the appliance looks: once to have the readings renewed, once to report them. */
async function after(on: Bench, seconds: number): Promise<void> {
  on.clock.advance(seconds);
  await on.appliance.poller.look();
  await on.appliance.poller.look();
}
const simulate = (on: Bench, args: Record<string, unknown>) => on.simulation.simulate('hardware', args);
const active = async (on: Bench): Promise<string[]> =>
  (await on.client.get('/api/alerts')).body.items.map(
    ({ class: kind, severity, title }: Record<string, string>) => `${kind} ${severity}: ${title}`,
  );
const logged = async (on: Bench, kind: string) =>
  (await on.client.get('/api/alerts?state=all&limit=100')).body.items.filter(
    (one: { class: string }) => one.class === kind,
  );
const now = async (on: Bench) => (await on.client.get('/api/hardware')).body;
const facts = () => hardwareOf(0);

test('a machine that is well: its parts are shown, and there is no alert', async (t) => {
  const on = await started(t);
  await after(on, 4_000);
  const { body } = await on.client.get('/api/hardware');
  assert.deepEqual([body.state, body.sentence], ['ok', 'No part reports a fault or errors.']);
  assert.deepEqual(
    [body.summary.product, body.summary.serial, body.summary.secureBoot],
    ['Server 2000', 'S123456', 'off'],
  );
  assert.equal(body.memoryBytes, 32 * 2 ** 30);
  assert.deepEqual([body.controller.state, body.controller.sentence], ['answers', 'It answers, with 10 sensors.']);
  assert.deepEqual([body.problems, body.changes, await active(on)], [[], [], []]);
  const { items } = (await on.client.get('/api/hardware/events')).body;
  assert.deepEqual([items.length, items[0].text], [1, 'Timestamp Clock Sync']);
});

test('a power supply and a fan that fail are alerts after a minute, each of its class, and clear', async (t) => {
  const on = await started(t);
  const sensors = facts().sensors.map((one) => {
    if (one.name === 'PS2 Status')
      return { ...one, state: 'critical', reports: ['Presence detected', 'Power Supply AC lost'] };
    if (one.name === 'FAN2') return { ...one, state: 'critical', value: 0, reports: ['Lower Critical'] };
    if (one.name === 'Intrusion') return { ...one, state: 'warning', reports: ['General Chassis intrusion'] };
    return one;
  });
  await simulate(on, { sensors });
  await after(on, 61);
  assert.deepEqual(await active(on), [], 'one reading is not believed');
  await after(on, 61);
  assert.deepEqual((await active(on)).sort(), [
    'fan.failed critical: The fan FAN2 has failed',
    'hardware.sensor warning: Intrusion is not as it should be',
    'psu.failed critical: The power supply PS2 Status has failed',
  ]);
  const { state, sentence } = await now(on);
  assert.deepEqual([state, sentence], ['critical', 'There are 3 sensors out of range.']);
  await simulate(on, { sensors: facts().sensors });
  await after(on, 61);
  assert.deepEqual(await active(on), []);
});

test('a controller that does not answer is an alert after a quarter of an hour; what it said stands meanwhile', async (t) => {
  const on = await started(t);
  const sensors = facts().sensors.map((one) => (one.name === 'FAN1' ? { ...one, state: 'critical', value: 0 } : one));
  await simulate(on, { sensors });
  await after(on, 61);
  await after(on, 61);
  await simulate(on, { silent: true });
  await after(on, 61);
  const { controller } = await now(on);
  assert.deepEqual([controller.state, controller.maker], ['silent', 'Example']);
  assert.match(controller.sentence, /did not answer within 90 seconds/);
  for (let minutes = 0; minutes < 16; minutes++) await after(on, 60);
  assert.deepEqual((await active(on)).sort(), [
    'controller.silent warning: The management controller does not answer',
    'fan.failed critical: The fan FAN1 has failed',
  ]);
  await simulate(on, { silent: false, sensors: facts().sensors });
  await after(on, 61);
  assert.deepEqual(await active(on), []);
});

test('a controller that rests is asked at once by whoever has mended it; a machine without one says so', async (t) => {
  const on = await started(t);
  const held = Promise.withResolvers<never>();
  await simulate(on, { silent: true });
  await after(on, 61);
  assert.equal((await now(on)).controller.state, 'silent');
  await simulate(on, { silent: false });
  const { hardware } = on.simulation;
  const asked = t.mock.method(hardware, 'controller');
  await after(on, 1);
  assert.equal(asked.mock.callCount(), 0, 'it rests');
  assert.equal((await on.client.post('/api/hardware/retry-controller')).status, 204);
  await passing(on, 1, 'it answers', async () => (await now(on)).controller.state === 'answers');
  assert.ok(asked.mock.callCount() > 0);
  // One that hangs meanwhile holds nobody up.
  asked.mock.mockImplementation(() => held.promise);
  assert.equal((await on.client.post('/api/hardware/retry-controller')).status, 204);
  await after(on, 1);
  assert.equal((await now(on)).controller.state, 'answers');
  held.reject(fail('timeout', 'It did not answer.'));
  const none = await bench(t);
  await none.client.setUp();
  await simulate(none, { controller: null });
  await after(none, 0);
  const refused = await none.client.post('/api/hardware/retry-controller');
  assert.deepEqual([refused.status, refused.body.detail], [404, 'This machine has no management controller.']);
});

test('the alert of a silent controller stands over a restart of akd until it is asked again, and answers', async (t) => {
  const on = await started(t);
  await simulate(on, { silent: true });
  for (let minutes = 0; minutes < 17; minutes++) await after(on, 60);
  const silent = ['controller.silent warning: The management controller does not answer'];
  assert.deepEqual(await active(on), silent);
  const again = await on.restart();
  for (const [name, value] of on.client.cookies) again.client.cookies.set(name, value);
  const { hardware } = again.simulation;
  const heldUp = Promise.withResolvers<never>();
  const asked = t.mock.method(hardware, 'controller', () => heldUp.promise);
  await after(again, 0);
  assert.deepEqual([(await now(again)).controller.state, await active(again)], ['asked', silent]);
  asked.mock.restore();
  heldUp.reject(fail('timeout', 'It did not answer.'));
  await simulate(again, { silent: false });
  await passing(again, 61, 'it answers', async () => (await now(again)).controller.state === 'answers');
  await after(again, 61);
  assert.deepEqual(await active(again), []);
});

test('a controller that has never answered is silent as well, and is not asked all the time', async (t) => {
  const on = await bench(t);
  await simulate(on, { silent: true });
  await on.client.setUp();
  let asked = 0;
  const { hardware } = on.simulation;
  const controller = hardware.controller;
  t.mock.method(hardware, 'controller', () => {
    asked++;
    return controller();
  });
  for (let minutes = 0; minutes < 17; minutes++) await after(on, 60);
  assert.equal((await now(on)).controller.state, 'silent');
  assert.deepEqual(await active(on), ['controller.silent warning: The management controller does not answer']);
  assert.ok(asked <= 2, `asked ${asked} times in 17 minutes`);
});

/** Counts how often the controller is asked for its sensors, and how many questions are under way. */
function counting(t: TestContext, on: Bench) {
  const { hardware } = on.simulation;
  const seen = { about: 0, sensors: 0, underWay: 0 };
  const counted = <T>(read: () => Promise<T>, what: 'about' | 'sensors' | null) => {
    return () => {
      if (what !== null) seen[what]++;
      seen.underWay++;
      return read().finally(() => seen.underWay--);
    };
  };
  const { controller, controllerSensors, controllerEvents } = hardware;
  t.mock.method(hardware, 'controller', counted(controller, 'about'));
  t.mock.method(hardware, 'controllerSensors', counted(controllerSensors, 'sensors'));
  t.mock.method(hardware, 'controllerEvents', counted(controllerEvents, null));
  return seen;
}

/** Time passes, and the appliance looks, until it is so. */
async function passing(on: Bench, seconds: number, what: string, so: () => boolean | Promise<boolean>): Promise<void> {
  for (let times = 0; !(await so()); times++) {
    assert.ok(times < 5_000, `not after ${times} times ${seconds} s: ${what}`);
    on.clock.advance(seconds);
    await on.appliance.poller.look();
    // The simulated controller notices that its time has come.
    await setTimeout(1);
  }
}
const state = async (on: Bench) => (await now(on)).controller.state;

test('a controller that takes 20 s for an answer: nobody waits for it, its values arrive, and it is asked rarely', async (t) => {
  const on = await bench(t);
  await simulate(on, { answersAfterMs: 20_000 });
  const seen = counting(t, on);
  await on.client.setUp();
  await after(on, 0);
  await after(on, 19);
  // The clock stands still: whoever waited for the controller would wait for ever.
  assert.deepEqual([seen.underWay, await state(on)], [1, 'asked']);
  await passing(on, 5, 'its sensors arrive', async () => (await now(on)).sensors.length === 10);
  const { controller, state: whole } = await now(on);
  assert.deepEqual([controller.state, controller.sentence, whole], ['answers', 'It answers, with 10 sensors.', 'ok']);
  const log = async () => (await on.client.get('/api/hardware/events')).body.items;
  await passing(on, 5, 'its log arrives', async () => (await log()).length === 1);
  assert.deepEqual(await active(on), []);

  // What it says then arrives as well, though late.
  const sensors = facts().sensors.map((one) => (one.name === 'FAN1' ? { ...one, state: 'critical', value: 0 } : one));
  await simulate(on, { sensors });
  const [began, asked] = [on.clock.monotonic(), seen.sensors];
  await passing(on, 5, 'it is asked again and again', () => seen.sensors >= asked + 6);
  assert.deepEqual(await active(on), ['fan.failed critical: The fan FAN1 has failed']);
  // It rests for ten times as long as an answer took, at the least; the first and the last question are not whole rounds.
  const least = (seen.sensors - asked - 1) * 20_000 * (1 + 10);
  assert.ok(on.clock.monotonic() - began >= least, `asked 6 times in ${on.clock.monotonic() - began} ms`);
});

test('a controller that never answers: an alert in words, and it is left alone for ten times as long', async (t) => {
  const on = await started(t);
  await passing(on, 5, 'it answers', async () => (await now(on)).sensors.length === 10);
  const seen = counting(t, on);
  await simulate(on, { answersAfterMs: 24 * 3_600_000 });
  const began = on.clock.monotonic();
  await passing(on, 20, 'it is asked again and again', async () => {
    assert.equal((await now(on)).sensors.length, 10, 'what it said last stands, and the page does not wait');
    return seen.sensors >= 4 && seen.about >= 4;
  });
  for (const times of [seen.sensors, seen.about]) {
    const least = (times - 1) * 90_000 * (1 + 10);
    assert.ok(on.clock.monotonic() - began >= least, `asked ${times} times in ${on.clock.monotonic() - began} ms`);
  }
  const { items } = (await on.client.get('/api/alerts')).body;
  const said = 'The management controller (BMC) did not answer within 90 seconds.';
  assert.deepEqual(
    items.map(({ title, text }: Record<string, string>) => [title, text]),
    [['The management controller does not answer', said]],
  );
  const { controller, sentence } = await now(on);
  assert.deepEqual(
    [controller.state, controller.sentence, sentence],
    ['silent', said, 'The management controller does not answer; no part reports errors.'],
  );
  await simulate(on, { answersAfterMs: 0 });
  await passing(on, 20, 'it answers again', async () => (await state(on)) === 'answers');
  await passing(on, 20, 'the alert clears', async () => (await active(on)).length === 0);
});

test('a machine without a management controller has none, and no alert', async (t) => {
  const on = await bench(t);
  await simulate(on, { controller: null, sensors: [], events: [] });
  await on.client.setUp();
  await after(on, 0);
  await after(on, 4_000);
  const { controller, sensors } = await now(on);
  assert.deepEqual(
    [controller.state, controller.sentence, sensors, await active(on)],
    ['none', 'This machine has no management controller.', [], []],
  );
});

test('a slot with a fault is an alert, also without a management controller', async (t) => {
  const on = await bench(t);
  const slots = [{ enclosure: '0:0:9:0', slot: 'Slot 01', disk: null, state: 'critical', lit: false }];
  await simulate(on, { controller: null, sensors: [], events: [], slots });
  await on.client.setUp();
  await after(on, 61);
  await after(on, 61);
  assert.deepEqual(await active(on), ['hardware.sensor critical: Slot 01 of the enclosure 0:0:9:0 is critical']);
});

test('while execd is away the controller is not called silent, nor missing', async (t) => {
  const on = await bench(t);
  const away = () => Promise.reject(fail('service_unavailable', 'execd does not answer (ENOENT).'));
  t.mock.method(on.simulation.hardware, 'controller', away);
  await on.client.setUp();
  for (let minutes = 0; minutes < 17; minutes++) await after(on, 60);
  const { controller } = await now(on);
  assert.deepEqual(
    [controller.state, controller.sentence, await active(on)],
    ['asked', 'execd does not answer (ENOENT).', []],
  );
});

test('errors: corrected ones are many from a limit on, others at once; cleared, they are counted anew', async (t) => {
  const on = await started(t);
  const errors = (corrected: number, uncorrected: number) => [
    { kind: 'memory', part: 'mc0/dimm0', title: 'DIMM_A1', corrected, uncorrected, detail: '' },
    { kind: 'processor', part: 'cpu0/bank5', title: 'Processor 0, bank 5', corrected: 3, uncorrected: 0, detail: '' },
    { kind: 'pcie', part: '0000:01:00.0', title: '0000:01:00.0', corrected: 4, uncorrected: 1, detail: 'CmpltTO' },
  ];
  await simulate(on, { errors: errors(99, 0) });
  await after(on, 61);
  const card = 'Intel Corporation 82599ES 10-Gigabit SFI/SFP+ Network Connection (0000:01:00.0)';
  assert.deepEqual(await active(on), [`pcie.errors critical: ${card} has bus errors`]);
  await simulate(on, { errors: errors(100, 0) });
  await after(on, 61);
  assert.ok((await active(on)).includes('memory.errors warning: Memory has many corrected errors: DIMM_A1'));

  for (const part of ['mc0/dimm0', '0000:01:00.0']) {
    const { status } = await on.client.post(`/api/hardware/errors/${encodeURIComponent(part)}/clear`);
    assert.equal(status, 204);
  }
  assert.deepEqual(await active(on), []);
  const cleared = (await now(on)).errors.find(({ part }: { part: string }) => part === 'mc0/dimm0');
  assert.deepEqual([cleared.corrected, cleared.state], [0, 'ok']);
  assert.ok(cleared.clearedAt !== null);
  await simulate(on, { errors: errors(150, 1) });
  await after(on, 61);
  assert.deepEqual(await active(on), ['memory.errors critical: Memory has errors that cannot be corrected: DIMM_A1']);
  // The driver was loaded again: its counters begin at 0.
  await simulate(on, { errors: errors(2, 0) });
  await after(on, 61);
  const again = (await now(on)).errors.find(({ part }: { part: string }) => part === 'mc0/dimm0');
  assert.deepEqual([again.corrected, await active(on)], [2, []]);
  const missing = await on.client.post('/api/hardware/errors/nothing/clear');
  assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
});

test('a link that loses packets: by their number and their share', async (t) => {
  const on = await started(t);
  const port = (errors: number, packets: number) => [{ ...facts().ports[0], errors, packets }];
  await simulate(on, { ports: port(99, 1_000) });
  await after(on, 61);
  await simulate(on, { ports: port(100, 100_000_000) });
  await after(on, 61);
  assert.deepEqual(await active(on), []);
  await simulate(on, { ports: port(200, 100_000) });
  await after(on, 61);
  assert.deepEqual(await active(on), ['link.errors warning: The network link eno1 loses packets']);
});

test('events of the controller are reported once, also those of a burst; the log as it was found is old', async (t) => {
  const on = await started(t);
  const event = (number: number, text: string, state: string, over = false) => ({
    ...{ number, at: number * 1_000, sensor: 'Power Supply PS2', text, over, state },
  });
  const [first] = facts().events;
  const burst = [2, 3, 4, 5, 6, 7, 8].map((number) => event(number, 'Power Supply AC lost', 'critical'));
  await simulate(on, { events: [first, ...burst, event(9, 'Presence detected', 'ok')] });
  await after(on, 61);
  await after(on, 61);
  const alerts = await logged(on, 'controller.event');
  assert.equal(alerts.length, 1);
  assert.equal(
    alerts[0].title,
    'The management controller has logged: Power Supply PS2: Power Supply AC lost, and 6 more events',
  );
  // Emptied, and begun anew.
  await simulate(on, { events: [event(1, 'Power Supply AC lost', 'critical')] });
  await after(on, 61);
  assert.equal((await logged(on, 'controller.event')).length, 2);
});

test('what is missing, new or elsewhere is reported once', async (t) => {
  const on = await started(t);
  const { inventory, ports } = facts();
  const [module, other, empty] = inventory.memory;
  await simulate(on, {
    inventory: {
      ...inventory,
      // One module is gone, and one card is in another slot.
      memory: [module, { ...empty, slot: other?.slot }, empty],
      cards: inventory.cards.map((card) => (card.driver === 'mpt3sas' ? { ...card, place: '0000:05:00.0' } : card)),
    },
    ports: ports.map((port) => ({ ...port, name: port.name.replace('eno', 'enp5s') })),
  });
  await after(on, 1_801);
  await after(on, 1_801);
  const [alert, ...rest] = await logged(on, 'hardware.changed');
  assert.deepEqual([rest, alert.severity], [[], 'warning']);
  assert.equal(
    alert.text,
    [
      'The memory module in DIMM_B1 (16 GiB DDR4 Samsung M393A2K43DB3-CWE 03A1DIMM_B1) is missing.',
      'The card at 0000:02:00.0 (Broadcom / LSI SAS3008 PCI-Express Fusion-MPT SAS-3) is now in 0000:05:00.0.',
      'The network port with the address 02:00:5e:10:00:01 was eno1 and is enp5s1 now: its card is in another slot, or the firmware counts the slots otherwise.',
      'The network port with the address 02:00:5e:10:00:02 was eno2 and is enp5s2 now: its card is in another slot, or the firmware counts the slots otherwise.',
    ].join(' '),
  );
  assert.equal((await now(on)).changes.length, 4);
});

test('a disk that was plugged in elsewhere keeps its name and its pool, and is reported once', async (t) => {
  const on = await started(t);
  const platformDisks = on.simulation.disks.bind(on.simulation);
  const [first] = await platformDisks();
  assert.ok(first?.place, 'the simulated machine says where its disks are');
  const { id, serial, place } = first;
  const to = 'pci-0000:02:00.0-sas-phy9-lun-0';
  t.mock.method(on.simulation, 'disks', async () =>
    (await platformDisks()).map((disk) =>
      disk.serial === serial ? { ...disk, place: to, path: '/dev/sdz', aliases: ['/dev/sdz', disk.link] } : disk,
    ),
  );
  const listed = async () =>
    (await on.client.get('/api/disks')).body.items.find((disk: { serial: string }) => disk.serial === serial);
  for (let times = 0; times < 3; times++) await after(on, 1_801);
  const found = await listed();
  assert.deepEqual([found.id, found.path, found.place], [id, '/dev/sdz', to]);
  const alerts = await logged(on, 'hardware.changed');
  const moved = `The disk ${id} was in ${place} and is in ${to} now. Its pool finds it there.`;
  assert.deepEqual(
    alerts.map(({ severity, text }: Record<string, string>) => [severity, text]),
    [['info', moved]],
  );
  assert.deepEqual(
    (await now(on)).changes.map(({ text }: { text: string }) => text),
    [moved],
  );
  assert.deepEqual(await active(on), []);
});
