// A machine that has booted and stands at the wizard's step "pool": made once, by the test of the first day or here. From
// it one that is set up; and that is restored for each test that breaks something.
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Person } from '../stack/api.ts';
import { byId, type DiskOptions, fourDisks, Machine, until } from './machine.ts';

export const work = resolve('out/vm');
export const image = join(resolve('out/image'), readdirSync('out/image').find((name) => name.endsWith('.qcow2')) ?? '');
export const admin = { name: 'admin', password: 'three ducks on a pond' };
export const firstDisks: DiskOptions[] = [...fourDisks, { serial: 'TINY', bytes: '200M' }];

/** Two machines, on a machine that is shared: a request may wait for a disk's names, and for a turn. */
const PATIENCE_MS = 120_000;

const first = join(work, 'first');
const marker = join(first, 'at-pool');
const AT_POOL = 'at-pool';

/** Keeps the machine of the first day, and says of which image it is. */
export async function saveAtPool(machine: Machine): Promise<void> {
  await machine.save(AT_POOL);
  writeFileSync(marker, realpathSync(image));
}

export async function apiOf(machine: Machine): Promise<Person> {
  const api = new Person(machine.url, PATIENCE_MS);
  await api.get('POST', '/api/session', { user: admin.name, password: admin.password });
  return api;
}

async function bootToPool(): Promise<Machine> {
  rmSync(first, { recursive: true, force: true });
  const machine = await Machine.create(first, image, { disks: firstDisks });
  await machine.start();
  try {
    const shown = await until('the console shows the set-up code', 300, () =>
      /Set-up code {2}(\S+)/.exec(machine.console()),
    );
    const api = new Person(machine.url, PATIENCE_MS);
    await until('management answers', 180, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
    await api.get('POST', '/api/setup/code', { code: shown[1] });
    await api.get('POST', '/api/setup/administrator', admin);
    await api.get('POST', '/api/setup/identity', { hostName: 'first', timeZone: 'Europe/Berlin' });
    await saveAtPool(machine);
  } finally {
    await machine.kill();
  }
  return machine;
}

/** A job's end, as it is then. */
export async function jobDone(
  api: Person,
  job: { id: string },
  seconds = 180,
): Promise<{ state: string; steps: string[] }> {
  type Job = { state: string; title: string; error: { detail: string } | null; log: { text: string }[] };
  const ended = await until(
    'the job ends',
    seconds,
    async () => {
      const found = await api.get<Job>('GET', `/api/jobs/${job.id}`);
      return found.state !== 'running' && found;
    },
    500,
  );
  if (ended.state !== 'done') throw new Error(`${ended.title}: ${ended.state}, ${ended.error?.detail}`);
  return { state: ended.state, steps: ended.log.map(({ text }) => text) };
}

const ready = join(work, 'ready');
const readyMarker = join(ready, 'at-ready');
const READY = 'ready';

const madeOf = (file: string) => existsSync(file) && readFileSync(file, 'utf8') === realpathSync(image);

/** The machine at the wizard's step "pool", gone on with: the pool tank of two mirrors, and set-up finished. */
async function goOnToReady(): Promise<void> {
  const saved = madeOf(marker) ? Machine.open(first, firstDisks) : await bootToPool();
  rmSync(ready, { recursive: true, force: true });
  const machine = await Machine.restore(saved, AT_POOL, ready);
  try {
    const api = await apiOf(machine);
    const disks = [0, 1, 2, 3].map((n) => byId(`DATA${n}`));
    await jobDone(
      api,
      await api.get<{ id: string }>('POST', '/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true }),
    );
    for (const step of ['destinations', 'done']) await api.get('POST', '/api/setup/step', { step });
    await api.get('POST', '/api/setup/finish');
    await machine.save(READY);
    writeFileSync(readyMarker, realpathSync(image));
  } finally {
    await machine.kill();
  }
}

/** A machine of one's own, set up, with the pool tank of two mirrors that holds the telemetry. */
export async function readyMachine(name: string): Promise<{ machine: Machine; api: Person }> {
  if (!madeOf(readyMarker)) await goOnToReady();
  const dir = join(work, name);
  rmSync(dir, { recursive: true, force: true });
  const machine = await Machine.restore(Machine.open(ready, firstDisks), READY, dir);
  try {
    return { machine, api: await apiOf(machine) };
  } catch (error) {
    await machine.kill();
    throw error;
  }
}
