import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../../../tests/harness.ts';
import { Settings } from '../../state/settings.ts';
import { lastVersion } from './version.ts';

test('another version than at the last start is told once, from which and to which', async (t) => {
  const before = await bench(t, { start: true });
  await before.client.setUp();
  await before.client.post('/api/setup/finish');
  const { cookies } = before.client;
  const updated = async (on: typeof before) => {
    for (const [name, value] of cookies) on.client.cookies.set(name, value);
    const { items } = (await on.client.get('/api/alerts?state=all')).body;
    return items
      .filter((one: { class: string }) => one.class === 'appliance.updated')
      .map((one: { text: string }) => one.text);
  };
  const same = await before.restart();
  assert.deepEqual(await updated(same), [], 'neither the first start nor the same version');
  new Settings(same.appliance.db).set(lastVersion, '0.0.0-old');
  const other = await same.restart();
  const told = 'The appliance cistern has started with version 0.0.0-test; before it was 0.0.0-old.';
  assert.deepEqual(await updated(other), [told]);
  assert.deepEqual(await updated(await other.restart()), [told]);
});
