import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import { readEnclosures } from '../../platform/ses.ts';

const text = readFileSync(new URL('../../../tests/fixtures/ses.txt', import.meta.url), 'utf8');
const shelf = { id: '6:0:8:0', title: 'EXAMPLE SHELF24-12G' };
const answering = readEnclosures([{ ...shelf, text }]);
const silent = readEnclosures([{ ...shelf, text: '', error: 'It did not answer within 20 seconds.' }]);
const NAME = 'EXAMPLE SHELF24-12G 051e2d00';

async function started(t: TestContext, state: Record<string, unknown>): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  await on.simulation.simulate('hardware', state);
  await after(on, 0);
  return on;
}
/** Time passes, and the appliance looks: once to have the readings renewed, once to report them. */
async function after(on: Bench, seconds: number): Promise<void> {
  on.clock.advance(seconds);
  await on.appliance.poller.look();
  await on.appliance.poller.look();
}
const active = async (on: Bench): Promise<string[]> =>
  (await on.client.get('/api/alerts')).body.items
    .map(({ class: kind, severity, title }: Record<string, string>) => `${kind} ${severity}: ${title}`)
    .sort();
const now = async (on: Bench) => (await on.client.get('/api/hardware')).body;

const SHELF_ALERTS = [
  `fan.failed critical: The fan ${NAME} PSU B Fan has failed`,
  `fan.failed warning: The fan ${NAME} Fan 3 is out of its range`,
  `hardware.sensor critical: ${NAME} PSU B 5V is critical`,
  `hardware.sensor critical: ${NAME} Slot 03 is critical`,
  `hardware.sensor warning: ${NAME} Midplane is not as it should be`,
  `psu.failed critical: The power supply ${NAME} PSU B has failed`,
];

test('a shelf: its sensors stand beside the controller’s, and its faults are alerts of the same classes', async (t) => {
  const on = await started(t, { enclosures: answering });
  await after(on, 61);
  await after(on, 61);
  assert.deepEqual(await active(on), SHELF_ALERTS);
  const { sensors, enclosures, controller, state } = await now(on);
  assert.deepEqual([sensors.length, controller.sentence, state], [29, 'It answers, with 10 sensors.', 'critical']);
  assert.deepEqual(enclosures, [{ ...shelf, error: null }]);
});

test('a machine without a controller, and one whose controller is silent, have the alerts of shelves all the same', async (t) => {
  for (const state of [{ controller: null }, { silent: true }]) {
    const on = await started(t, { ...state, enclosures: answering });
    await after(on, 61);
    await after(on, 61);
    assert.deepEqual(await active(on), SHELF_ALERTS, JSON.stringify(state));
  }
});

test('a shelf that does not answer is an alert after a while; what it said last stands, and clears when it says so', async (t) => {
  const on = await started(t, { enclosures: answering });
  await after(on, 61);
  await after(on, 61);
  await on.simulation.simulate('hardware', { enclosures: silent });
  await after(on, 61);
  await after(on, 61);
  assert.deepEqual(await active(on), SHELF_ALERTS, 'it restarts, perhaps');
  for (let minutes = 0; minutes < 6; minutes++) await after(on, 61);
  const silence = 'enclosure.silent warning: The enclosure EXAMPLE SHELF24-12G (6:0:8:0) does not answer';
  assert.deepEqual(await active(on), [silence, ...SHELF_ALERTS]);
  const { sensors, enclosures, sentence } = await now(on);
  assert.equal(sensors.length, 29);
  assert.equal(enclosures[0].error, 'It did not answer within 20 seconds.');
  assert.match(sentence, /1 enclosure that does not answer/);
  // It was taken away.
  await on.simulation.simulate('hardware', { enclosures: [] });
  await after(on, 61);
  await after(on, 61);
  assert.deepEqual(await active(on), []);
  assert.equal((await now(on)).sensors.length, 10);
});
