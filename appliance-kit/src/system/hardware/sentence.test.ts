import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bench } from '../../../tests/harness.ts';

async function sentence(t: TestContext, args: (hardware: Record<string, unknown>) => Record<string, unknown>) {
  const on = await bench(t);
  await on.client.setUp();
  await on.appliance.poller.look();
  const { body } = await on.client.get('/api/hardware');
  await on.simulation.simulate('hardware', args(body));
  on.clock.advance(1200);
  await on.appliance.poller.look();
  const now = (await on.client.get('/api/hardware')).body;
  return { said: [now.state, now.sentence], controller: now.controller };
}
const controller = {
  ...{ maker: 'Example', firmware: '1.74', address: null, mac: null, logUsedRatio: null },
  chassis: [{ words: 'The main power has a fault', kind: 'power-supply' }],
};
type Sensors = { sensors: Record<string, unknown>[] };
const failed = (hardware: Record<string, unknown>) =>
  (hardware as Sensors).sensors.map((one) => (one.name === 'FAN1' ? { ...one, value: 0, state: 'critical' } : one));

test('what the chassis says is on the page, as it is in the alert', async (t) => {
  const found = await sentence(t, () => ({ controller }));
  assert.deepEqual(found.said, ['warning', 'There is a fault of the chassis.']);
  assert.deepEqual(found.controller.chassis, ['The main power has a fault']);
});

test('a sensor of the same kind says more; one of another does not hide it', async (t) => {
  const fan = await sentence(t, (hardware) => ({ controller, sensors: failed(hardware) }));
  assert.deepEqual(fan.said, ['critical', 'There are 1 sensor out of range and a fault of the chassis.']);
  const cooling = { ...controller, chassis: [{ words: 'A fan has a fault', kind: 'fan' }] };
  const same = await sentence(t, (hardware) => ({ controller: cooling, sensors: failed(hardware) }));
  assert.deepEqual(same.said, ['critical', 'There is 1 sensor out of range.']);
});
