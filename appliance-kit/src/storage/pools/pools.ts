// Pools: what there are, and making one. Creation is checked when it is requested and again right before it is
// done; what can still go wrong after that, execd undoes.

import type { Audit } from '../../access/audit/index.ts';
import { asProblem, fail, ProblemError } from '../../base/problems/problem.ts';
import { plural } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Job, JobHandle, Jobs } from '../../jobs/index.ts';
import type { Platform, PoolPlan } from '../../platform/platform.ts';
import type { VdevPlan } from '../../platform/pool.ts';
import type { VdevKind } from '../../platform/poolActions.ts';
import { usable } from '../disks/index.ts';
import type { Inventory, Pool } from '../inventory/index.ts';
import { laidOut, vdevType } from './layout.ts';
import { poolNameProblem } from './names.ts';
import type { routes } from './routes.ts';
import type { Beside, NewPool } from './schema.ts';

export interface PoolParts {
  readonly platform: Platform;
  readonly inventory: Inventory;
  readonly jobs: Jobs;
  readonly audit: Audit;
  /** Reads the machine again and informs the pages. */
  readonly changed: () => void;
}

function mustNotRepeat(wanted: NewPool): void {
  const seen = new Set<string>();
  const lists = [['/disks', wanted.disks], ...(wanted.beside ?? []).map((one, i) => [`/beside/${i}/disks`, one.disks])];
  for (const [path, disks] of lists as [string, string[]][]) {
    for (const id of disks) {
      if (seen.has(id)) {
        const errors = [{ path, message: 'names a disk twice' }];
        throw fail('invalid_request', `The disk ${id} is named twice.`, undefined, errors);
      }
      seen.add(id);
    }
  }
}

const allDisks = (wanted: NewPool) => [wanted, ...(wanted.beside ?? [])].flatMap(({ disks }) => disks);

function mustNotExist(pools: readonly Pool[], name: string): void {
  if (!pools.some((pool) => pool.name === name)) return;
  throw fail('pool_exists', `A pool named “${name}” exists.`, 'Choose another name.');
}

export class Pools {
  readonly #parts: PoolParts;

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  async create(wanted: NewPool, caller: Caller): Promise<Job> {
    const { inventory, jobs, audit } = this.#parts;
    const wrong = poolNameProblem(wanted.name);
    if (wrong !== null) {
      throw fail('invalid_request', `The name “${wanted.name}” ${wrong}.`, undefined, [
        { path: '/name', message: wrong },
      ]);
    }
    this.#oneAtATime();
    await this.#plan(wanted, await inventory.renew());
    this.#oneAtATime();
    jobs.allow(caller);
    audit.record(caller, 'pool.create', wanted.name, null, wanted);
    const title = `Create pool “${wanted.name}” of ${plural(allDisks(wanted).length, 'disk')}`;
    return jobs.start({ kind: 'pool.create', title, cancellable: false, caller }, (job) => this.#carryOut(wanted, job));
  }

  #oneAtATime(): void {
    if (this.#parts.jobs.isRunning('pool.create')) {
      throw fail('conflict', 'Another pool is being created.', 'Wait until it is done.');
    }
  }

  async #plan(wanted: NewPool, found: Awaited<ReturnType<Inventory['renew']>>): Promise<PoolPlan> {
    mustNotExist(found.pools, wanted.name);
    mustNotRepeat(wanted);
    const { compressions } = this.#parts.platform.datasets.facts;
    if (wanted.compression !== undefined && !compressions.includes(wanted.compression)) {
      const message = `must be one of ${compressions.join(', ')}`;
      throw fail('invalid_request', `The ZFS of this system has no ${wanted.compression}.`, undefined, [
        { path: '/compression', message },
      ]);
    }
    const plan = (
      kind: VdevKind,
      { layout, disks }: Pick<Beside, 'layout' | 'disks'>,
      path: string,
      there: string | null,
    ) =>
      laidOut(
        kind,
        layout,
        disks.map((id) => usable(found.disks, id)),
        there,
        (reason) =>
          fail('invalid_request', `These disks cannot be laid out as ${layout}. ${reason}`, undefined, [
            { path, message: reason },
          ]),
      );
    const linked = (vdevs: readonly VdevPlan[]) =>
      vdevs.map(({ type, disks }) => ({ type, disks: disks.map((id) => found.links.get(id) as string) }));
    const data = plan('data', wanted, '/layout', null);
    const beside = (wanted.beside ?? []).map((one, i) => ({
      kind: one.kind,
      vdevs: linked(plan(one.kind, one, `/beside/${i}/layout`, vdevType(data))),
    }));
    return { name: wanted.name, vdevs: linked(data), beside, compression: wanted.compression ?? 'lz4' };
  }

  async #carryOut(wanted: NewPool, job: JobHandle): Promise<unknown> {
    const { platform, inventory, changed } = this.#parts;
    job.step('Checking the disks again', 0);
    const plan = await this.#plan(wanted, await inventory.renew());
    try {
      await platform.createPool(plan, (step, percent) => job.step(step, percent === null ? null : percent * 0.9));
      if (wanted.telemetry) {
        job.step('Placing the telemetry store', 90);
        await platform
          .placeTelemetry(wanted.name, (step) => job.log(step))
          .catch((error: unknown) => {
            const cause = asProblem(error);
            const detail = `The pool “${wanted.name}” was created, but the telemetry store could not be placed on it: ${cause.detail}`;
            throw new ProblemError({ ...cause, detail });
          });
      }
    } finally {
      changed();
    }
    return { pool: wanted.name };
  }

  async placeTelemetry(name: string, caller: Caller): Promise<Job> {
    const { platform, jobs, audit, changed, inventory } = this.#parts;
    if (name !== platform.systemPool) {
      const { value } = await inventory.pools();
      if (!value.some((pool) => pool.name === name)) throw fail('not_found', `There is no pool named “${name}”.`);
      throw fail(
        'conflict',
        `The telemetry store cannot be placed on “${name}”: a data pool takes it when the pool is created.`,
        `Only the system pool, “${platform.systemPool}”, takes it later.`,
      );
    }
    if (jobs.isRunning('telemetry.place')) throw fail('conflict', 'The telemetry store is being placed already.');
    jobs.allow(caller);
    audit.record(caller, 'telemetry.place', platform.systemPool);
    const title = 'Place the telemetry store on the system pool';
    return jobs.start({ kind: 'telemetry.place', title, cancellable: false, caller }, async (job) => {
      job.log('Measurements will share the disk with the appliance itself, without a second copy.');
      try {
        await platform.placeTelemetry(platform.systemPool, (step, percent) => job.step(step, percent));
      } finally {
        changed();
      }
      return { pool: platform.systemPool };
    });
  }
}

export function poolRoutes(
  pools: Pools,
  inventory: Inventory,
): Pick<Handlers<typeof routes>, 'listPools' | 'getPool' | 'createPool' | 'placeTelemetry'> {
  return {
    listPools: async () => {
      const { value, ageSeconds, error } = await inventory.pools();
      return { items: value, ageSeconds, error };
    },
    getPool: async ({ params }) => {
      const { value } = await inventory.pools();
      const pool = value.find(({ name }) => name === params.name);
      if (pool === undefined) throw fail('not_found', `There is no pool named “${params.name}”.`);
      return pool;
    },
    createPool: ({ body, caller }) => pools.create(body, caller),
    placeTelemetry: ({ params, caller }) => pools.placeTelemetry(params.name, caller),
  };
}
