import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';

const fault = (id: string, more: object) => ({
  ...{ id, code: 'DISK-8000-0X', severity: 'Major', classes: ['fault.io.disk.predictive-failure'] },
  ...{
    affects: ['dev:///x'],
    parts: ['Slot 05'],
    description: 'A disk failure is imminent',
    action: 'Replace the disk.',
  },
  ...more,
});

test('what the system says is faulty is an alert until it says no longer so; what others tell better is left out', async (t) => {
  const { client, clock, appliance } = await bench(t);
  await client.setUp();
  const active = async () => {
    // As old as a reading may get.
    clock.advance(301);
    await appliance.poller.look();
    await appliance.poller.look();
    return (await client.get('/api/alerts')).body.items;
  };
  assert.deepEqual(await active(), []);
  await client.post('/internal/sim/faults', {
    faults: [
      fault('aaaaaaaa-1111-4111-8111-111111111111', {}),
      fault('bbbbbbbb-1111-4111-8111-111111111111', { classes: ['fault.fs.zfs.vdev.io'] }),
      fault('cccccccc-1111-4111-8111-111111111111', { affects: ['svc:///application/cistern/akd:default'], parts: [] }),
      fault('dddddddd-1111-4111-8111-111111111111', {
        ...{ severity: 'Minor', classes: [], parts: [], affects: [], description: '', action: '' },
      }),
    ],
  });
  const alerts = await active();
  assert.deepEqual(alerts.map(({ severity }: { severity: string }) => severity).sort(), ['critical', 'warning']);
  const [disk] = alerts.filter(({ severity }: { severity: string }) => severity === 'critical');
  assert.equal(disk.class, 'hardware.faulty');
  assert.match(disk.title, /Slot 05 is faulty \(DISK-8000-0X\)/);
  assert.match(disk.text, /^A disk failure is imminent\. /);
  assert.match(disk.action, /^Replace the disk\. .*fmadm acquit aaaaaaaa/);
  await client.post('/internal/sim/faults', { faults: [] });
  assert.deepEqual(await active(), []);
});
