// node tests/vm/save.ts FOLDER: makes the two machines that tests start from, FOLDER/at-pool and FOLDER/ready. Each is a
// row of disks and the memory that a running machine had; the second one's disks are overlays of the first one's.
import { join } from 'node:path';
import { byId, Machine } from './machine.ts';
import { apiOf, firstDisks, image, jobDone, setUpToPool } from './saved.ts';

const folder = process.argv[2];
if (!folder) throw new Error('save.ts FOLDER');

async function saved(machine: Machine, steps: () => Promise<void>): Promise<void> {
  try {
    await steps();
    await machine.save();
  } catch (error) {
    console.error(machine.console().split('\n').slice(-40).join('\n'));
    throw error;
  } finally {
    await machine.kill();
  }
}

const first = await Machine.create(join(folder, 'at-pool'), image(), { disks: firstDisks });
await saved(first, async () => {
  await first.start();
  await setUpToPool(first);
});

const ready = await Machine.restore(first.dir, firstDisks, join(folder, 'ready'));
await saved(ready, async () => {
  const api = await apiOf(ready);
  const disks = [0, 1, 2, 3].map((n) => byId(`DATA${n}`));
  await jobDone(
    api,
    await api.get<{ id: string }>('POST', '/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true }),
  );
  for (const step of ['destinations', 'done']) await api.get('POST', '/api/setup/go-to-step', { step });
  await api.get('POST', '/api/setup/finish');
});
