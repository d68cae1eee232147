// Two machines that are saved once for each image (save.ts makes them, ./build.sh keeps them as the cached stage
// "machine"): one at the wizard's step "pool", and one that is set up. A test starts from a copy of its own.
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { Person } from '../stack/api.ts';
import { endsClean, type Watch } from './clean.ts';
import { type DiskOptions, fourDisks, Machine } from './machine.ts';
import { until } from './until.ts';

export const work = resolve('out/vm');
export const admin = { name: 'admin', password: 'three ducks on a pond' };
export const firstDisks: DiskOptions[] = [...fourDisks, { serial: 'TINY', bytes: '200M' }];

/** Several machines on two cores: a request may wait for a disk's names, and for its turn. */
const PATIENCE_MS = 120_000;

export type Saved = 'at-pool' | 'ready';

/** What ./build.sh image has made, by the end of its name: `.iso`. */
export function imageFile(ending: string): string {
  const name = readdirSync('out/image').find((one) => one.endsWith(ending));
  if (!name) throw new Error(`there is no ${ending} in out/image: run ./build.sh image`);
  return join(realpathSync('out/image'), name);
}

/** The bootable image. */
export const image = () => imageFile('.qcow2');

export async function apiOf(machine: Machine): Promise<Person> {
  const api = new Person(machine.url, PATIENCE_MS);
  await api.get('POST', '/api/session', { user: admin.name, password: admin.password });
  return api;
}

/** The wizard from the set-up code to the step "pool", by the API. */
export async function setUpToPool(machine: Machine): Promise<void> {
  const shown = await until('the console shows the set-up code', 600, () =>
    /Set-up code {2}(\S+)/.exec(machine.console()),
  );
  const api = new Person(machine.url, PATIENCE_MS);
  await until('management answers', 300, async () => (await api.ask('GET', '/api/setup')).status === 200, 1000);
  await api.get('POST', '/api/setup/enter-code', { code: shown[1] });
  await api.get('POST', '/api/setup/create-administrator', admin);
  await api.get('POST', '/api/setup/set-identity', { hostName: 'first', timeZone: 'Europe/Berlin' });
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

/** A folder of out/vm for a machine of a test, empty. */
export function emptyFolder(name: string): string {
  const dir = join(work, name);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  return dir;
}

/** A copy of a saved machine, in a folder of its own; it is switched off when the test ends, which fails on complaints. */
export async function savedMachine(
  t: TestContext,
  which: Saved,
  name: string,
): Promise<{ machine: Machine; watch: Watch }> {
  const saved = join(process.env.CISTERN_MACHINES ?? resolve('out/machines'), which);
  if (!existsSync(saved)) throw new Error(`there is no saved machine in ${saved}: ./build.sh test vm makes it`);
  // The real folder: out/machines names another one as soon as there is a newer image.
  const machine = await Machine.restore(realpathSync(saved), firstDisks, emptyFolder(name));
  return { machine, watch: endsClean(t, machine, Math.floor(Date.now() / 1000)) };
}

/** A machine of one's own, set up, with the pool tank of two mirrors that holds the telemetry. */
export async function readyMachine(
  t: TestContext,
  name: string,
): Promise<{ machine: Machine; api: Person; watch: Watch }> {
  const { machine, watch } = await savedMachine(t, 'ready', name);
  return { machine, watch, api: await apiOf(machine) };
}
