// Pools: what there are, and making one. Creation is checked when it is asked for and once more right before it is
// done; what can still go wrong after that, execd undoes.
import type { Audit } from '../audit/audit.ts';
import { advise, usable } from '../disks/advice.ts';
import type { Inventory } from '../disks/inventory.ts';
import type { Disk } from '../disks/schema.ts';
import type { Caller } from '../gate/caller.ts';
import type { Handlers } from '../handlers.ts';
import type { JobHandle, Jobs } from '../jobs/jobs.ts';
import type { Job } from '../jobs/schema.ts';
import { type Platform, type PoolPlan, SYSTEM_POOL } from '../platform/platform.ts';
import { asProblem, fail, ProblemError } from '../problems/problem.ts';
import { plural } from '../schema/words.ts';
import { poolNameProblem } from './names.ts';
import type { NewPool, Pool } from './schema.ts';

export interface PoolParts {
  readonly platform: Platform;
  readonly inventory: Inventory;
  readonly jobs: Jobs;
  readonly audit: Audit;
  /** Reads the machine anew and tells the pages. */
  readonly changed: () => void;
}

function chosen(disks: readonly Disk[], wanted: NewPool): Disk[] {
  const ids = [...new Set(wanted.disks)];
  if (ids.length !== wanted.disks.length) {
    const errors = [{ path: '/disks', message: 'names a disk twice' }];
    throw fail('invalid_request', 'A disk is named twice.', undefined, errors);
  }
  return ids.map((id) => usable(disks, id));
}

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
    audit.record(caller, 'pool.create', wanted.name, null, wanted);
    const title = `Create pool “${wanted.name}” of ${plural(wanted.disks.length, 'disk')}`;
    return jobs.start({ kind: 'pool.create', title, cancellable: false }, (job) => this.#carryOut(wanted, job));
  }

  #oneAtATime(): void {
    if (this.#parts.jobs.isRunning('pool.create')) {
      throw fail('conflict', 'Another pool is being created.', 'Wait until it is done.');
    }
  }

  async #plan(wanted: NewPool, found: Awaited<ReturnType<Inventory['renew']>>): Promise<PoolPlan> {
    mustNotExist(found.pools, wanted.name);
    const layout = advise(chosen(found.disks, wanted)).layouts.find(({ id }) => id === wanted.layout);
    if (layout === undefined || !layout.allowed) {
      const reason = layout?.reason ?? 'It is not known.';
      const errors = [{ path: '/layout', message: reason }];
      throw fail('invalid_request', `These disks cannot be laid out as ${wanted.layout}. ${reason}`, undefined, errors);
    }
    const vdevs = layout.vdevs.map(({ type, disks }) => ({
      type,
      disks: disks.map((id) => found.links.get(id) as string),
    }));
    return { name: wanted.name, vdevs, compression: wanted.compression ?? 'lz4' };
  }

  async #carryOut(wanted: NewPool, job: JobHandle): Promise<unknown> {
    const { platform, inventory, changed } = this.#parts;
    job.step('Checking the disks once more', 0);
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

  placeOnSystem(caller: Caller): Job {
    const { platform, jobs, audit, changed } = this.#parts;
    if (jobs.isRunning('telemetry.place')) throw fail('conflict', 'The telemetry store is being placed already.');
    audit.record(caller, 'telemetry.place', SYSTEM_POOL);
    const title = 'Place the telemetry store on the system pool';
    return jobs.start({ kind: 'telemetry.place', title, cancellable: false }, async (job) => {
      job.log('Measurements will share the disk with the appliance itself, without a second copy.');
      try {
        await platform.placeTelemetry(SYSTEM_POOL, (step, percent) => job.step(step, percent));
      } finally {
        changed();
      }
      return { pool: SYSTEM_POOL };
    });
  }
}

export function poolRoutes(
  pools: Pools,
  inventory: Inventory,
): Handlers<'listPools' | 'getPool' | 'createPool' | 'placeTelemetryOnSystem'> {
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
    placeTelemetryOnSystem: ({ caller }) => pools.placeOnSystem(caller),
  };
}
