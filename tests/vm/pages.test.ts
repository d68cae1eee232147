// Each wizard of storage gone through in a browser, on the booted machine: what the browser tests do on a simulated one,
// once on real disks and real ZFS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { brokenDisks, refusedRequests } from './clean.ts';
import { byId } from './machine.ts';
import { personAt } from './person.ts';
import { rowOf, wantsVariant } from './row.ts';
import { admin, readyMachine } from './saved.ts';

const dialog = (page: Page) => page.getByRole('dialog');
async function typeName(page: Page, name: string, action: string): Promise<void> {
  await dialog(page).getByLabel(`Type “${name}” to confirm`).fill(name);
  await dialog(page).getByRole('button', { name: action, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

test('storage in a browser', async (t) => {
  const { machine, watch } = await readyMachine(t, 'pages');
  const person = await personAt(machine);
  watch.add(person);
  // A disk is pulled, and so is the pool that the store lies on.
  watch.expect(...brokenDisks, ...refusedRequests);
  const { page, look } = person;
  const step = rowOf(t, () => ({ machine, person }));
  const go = (path: string) => page.goto(machine.url + path);
  const slow = { timeout: 180_000 };

  await step('signing in', async () => {
    await go('/sign-in?to=%2Fstorage');
    await page.getByLabel('Name').fill(admin.name);
    await page.getByLabel('Password').fill(admin.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Storage' }).waitFor(slow);
  });

  // By the API on this machine they are in datasets.test.ts and replication.test.ts, by the page in tests/browser.
  const dataset = 'a dataset is made, written to, brought back to a snapshot; a file of the snapshot is downloaded';
  const copies = 'a snapshot schedule and a replication are set up; the replication runs';
  const compression = 'a compression is estimated on the dataset’s own blocks';
  const wizards = [dataset, compression, copies].some(wantsVariant);
  if (wizards)
    await step(dataset, async () => {
      await go('/storage/new-dataset');
      await page.getByLabel('Below').selectOption('tank');
      await page.getByLabel(/^Name\s*\*?$/).fill('home');
      await page.getByLabel('Mount point').fill('/srv/home');
      await page.getByRole('button', { name: 'Create the dataset' }).click();
      await page.getByRole('heading', { level: 1, name: 'tank/home' }).waitFor(slow);
      await machine.sh('echo "Dear Ann" >/srv/home/letter');
      await go('/storage/datasets/tank%2Fhome/snapshots');
      await page.getByRole('button', { name: 'Take a snapshot' }).click();
      await dialog(page).getByLabel('Name of the snapshot').fill('before');
      await dialog(page).getByRole('button', { name: 'Take it now' }).click();
      await page.getByRole('link', { name: 'before', exact: true }).waitFor(slow);
      await machine.sh('echo "Dear Bob" >/srv/home/letter');
      await page.getByRole('link', { name: 'before', exact: true }).click();
      await page.getByRole('link', { name: 'Files' }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download letter' }).click();
      const chunks: Buffer[] = [];
      for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
      assert.equal(Buffer.concat(chunks).toString(), 'Dear Ann\n');
      await page.getByRole('link', { name: 'Changes' }).click();
      await page.getByRole('row', { name: /modified.*letter/ }).waitFor(slow);
      await page.getByRole('link', { name: 'Roll back' }).click();
      await page.getByRole('button', { name: 'Roll back' }).click();
      await typeName(page, 'tank/home', 'Roll back');
      await page.getByText('It is as it was at “tank/home@before”.').waitFor(slow);
      assert.equal(await machine.sh('cat /srv/home/letter'), 'Dear Ann\n');
      await look('rollback');
    });

  const estimated = async () => {
    await machine.sh(
      'for n in $(seq 40); do journalctl --no-pager; done 2>/dev/null | head -c 4000000 >/srv/home/log; zpool sync tank',
    );
    await go('/storage/datasets/tank%2Fhome/compression');
    await page.getByRole('button', { name: /Estimate/ }).click();
    await page
      .getByText(/Saves \d+ % of the space/)
      .first()
      .waitFor(slow);
    await look('estimate');
  };
  if (wantsVariant(compression)) await step(compression, estimated);

  const copied = async () => {
    await go('/storage/schedules');
    await page.getByRole('button', { name: 'New schedule' }).click();
    await dialog(page).getByLabel('Dataset', { exact: true }).selectOption('tank/home');
    await dialog(page).getByLabel('When', { exact: true }).selectOption('Every day');
    await dialog(page).getByRole('button', { name: 'Add the schedule' }).click();
    await page.getByText(/^Every day at 00:00/).waitFor();
    await go('/storage/new-replication');
    await page.getByLabel(/^Dataset\s*\*?$/).selectOption('tank/home');
    await page.getByRole('radio', { name: 'This appliance' }).check();
    await page.getByLabel('Dataset there').fill('tank/copy-of-home');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('It can be replicated there').waitFor(slow);
    await page.getByRole('button', { name: 'Begin to replicate' }).click();
    await page.getByRole('button', { name: 'Replicate now: tank/home' }).click();
    await page.getByText(/1 dataset is replicated\. The oldest copy is/).waitFor({ timeout: 180_000 });
    assert.match(await machine.ssh('zfs', 'list', '-H', '-o', 'name'), /^tank\/copy-of-home$/m);
    await look('replication');
  };
  if (wizards) await step(copies, copied);

  const worksheets = 'the ready worksheet shows what the machine does, and a click narrows to one disk';
  await step(worksheets, async () => {
    await go('/analytics');
    const disks = page.getByRole('region', { name: 'Disk bytes by disk' });
    await disks.scrollIntoViewIfNeeded(slow);
    await disks.getByRole('button', { name: 'sda', exact: true }).waitFor(slow);
    await look('worksheet');
    await disks.getByRole('button', { name: 'sda', exact: true }).click();
    await disks.getByRole('button', { name: 'Drill down into sda' }).click();
    await page.getByRole('menuitem', { name: 'By type' }).click();
    await page.getByRole('heading', { name: 'Disk bytes by type, only disk sda' }).waitFor(slow);
    await page.getByRole('button', { name: 'write', exact: true }).waitFor(slow);
    // A worksheet that comes ready, with what this machine does in it; nightly all of them, in both themes.
    const all = wantsVariant(worksheets);
    for (const id of all ? ['machine', 'disks', 'network', 'store', 'people'] : ['machine']) {
      await go(`/analytics/worksheets/${id}`);
      await page.locator('canvas').first().waitFor(slow);
      await page.waitForFunction(
        () => document.querySelector('.cistern-chart-waiting, .cistern-reading') === null,
        undefined,
        slow,
      );
      for (const colorScheme of all ? (['dark', 'light'] as const) : (['dark'] as const)) {
        await page.emulateMedia({ colorScheme });
        await look(`worksheet-${id}-${colorScheme}`);
      }
    }
    await go('/analytics/datasets');
    await page.getByText('cpu.utilization[mode]').first().waitFor(slow);
    await look('datasets');
  });

  await step('a pulled disk is replaced by one that is plugged in while the page is open', async () => {
    await go('/storage/pools/tank');
    await machine.unplug('DATA1');
    await page.getByRole('link', { name: 'Replace it' }).click(slow);
    await page.getByText('No disk is free yet.').waitFor(slow);
    await machine.plug('NEW1', '2G');
    await page.getByRole('radio', { name: /^NEW1 / }).waitFor(slow);
    await look('replace');
    await page.getByRole('button', { name: 'Replace the disk' }).click();
    await page.getByText('Done: the pool is healthy again.').waitFor({ timeout: 300_000 });
    assert.match(await machine.ssh('zpool', 'status', 'tank'), /state: ONLINE/);
  });

  // tests/vm/storage.test.ts does it by the API, tests/browser/pools.test.ts by the page.
  const whole = 'the pool is scrubbed, gets a spare, is exported, imported, and destroyed by typing its name';
  if (!wantsVariant(whole)) return;
  await step(whole, async () => {
    await go('/storage/pools/tank');
    await page.getByRole('region', { name: 'Scrub and resilver' }).getByRole('button', { name: 'Scrub now' }).click();
    await page
      .getByText(/It found nothing|repaired nothing|found no/i)
      .first()
      .waitFor(slow);
    await machine.plug('SPARE1', '2G');
    await go('/storage/pools/tank/add');
    await page.getByRole('radio', { name: /^Spare/ }).check();
    await page.getByRole('checkbox', { name: /^SPARE1/ }).check();
    await page.getByRole('button', { name: /^Add/ }).last().click();
    await page.getByText(byId('SPARE1')).or(page.getByText('SPARE1')).first().waitFor(slow);
    await machine.sh('until zpool status tank | grep -q spares; do sleep 1; done');
    await go('/storage/pools/tank');
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog(page).getByRole('button', { name: 'Export the pool' }).click();
    await page.getByText('The pool “tank” is exported.').waitFor(slow);
    const card = page.getByRole('region', { name: 'Pool tank' });
    await card.getByText('It is whole and can be imported.').waitFor(slow);
    await card.getByRole('button', { name: 'Import the pool' }).click();
    await page.getByRole('link', { name: 'To the pool “tank”' }).click(slow);
    await page.getByRole('heading', { level: 1, name: 'tank' }).waitFor(slow);
    assert.equal(await machine.sh('cat /srv/home/letter'), 'Dear Ann\n');
    await page.getByRole('button', { name: 'Destroy' }).click();
    await dialog(page).getByLabel('Type “tank” to confirm').fill('tank');
    await dialog(page).getByRole('button', { name: 'Destroy the pool' }).click();
    await page.getByRole('heading', { level: 1, name: 'Storage' }).waitFor(slow);
    await page.getByRole('region', { name: 'Pool tank' }).waitFor({ ...slow, state: 'detached' });
    await machine.sh('! zpool list tank 2>/dev/null');
  });
});
