// The services of the appliance: their state, and starting, stopping and restarting one.

import type { Audit } from '../../access/audit/index.ts';
import { CachedReading, type Reading } from '../../base/cached-reading.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Platform, ServiceAction } from '../../platform/platform.ts';
import type { Service } from '../../platform/service.ts';
import { serviceFact } from '../../platform/service-facts.ts';
import type { routes } from './routes.ts';

const MAX_AGE_MS = 2_000;
const PATIENCE_MS = 1_500;
/** Services the answer itself travels through: they are restarted after it has gone out. */
const CARRIES_THE_ANSWER = new Set(['akd', 'nginx']);
const AFTER_THE_ANSWER_MS = 300;
/** What starts others, or makes this reachable. */
const NEVER_STOPPED = new Set(['akd', 'execd', 'nginx']);

export class Services {
  readonly #reading: CachedReading<Service[]>;

  constructor(platform: Platform, clock: Clock) {
    this.#reading = new CachedReading(() => platform.services(), clock, {
      maxAgeMs: MAX_AGE_MS,
      patienceMs: PATIENCE_MS,
      nothing: [],
    });
  }

  read(): Promise<Reading<Service[]>> {
    return this.#reading.get();
  }

  renew(): Promise<Service[]> {
    return this.#reading.now();
  }
}

export function serviceRoutes(parts: {
  services: Services;
  platform: Platform;
  audit: Audit;
  changed: () => void;
  log: Log;
}): Handlers<typeof routes> {
  const { services, platform, audit, changed, log } = parts;
  const act = async (name: string, action: ServiceAction, caller: Caller): Promise<Service> => {
    if (serviceFact(name) === undefined) throw fail('not_found', `There is no service named “${name}”.`);
    const before = (await services.read()).value.find((service) => service.name === name);
    if (before === undefined) throw fail('service_unavailable', `The state of ${name} is not known.`, 'Try again.');
    if (action === 'stop' && NEVER_STOPPED.has(name)) {
      throw fail('conflict', `Without ${name}, it could not be started again from here.`, 'Restart it instead.');
    }
    audit.record(caller, `service.${action}`, name);
    if (CARRIES_THE_ANSWER.has(name)) {
      setTimeout(() => {
        platform
          .serviceAction(name, action)
          .then(changed, (error: unknown) =>
            logFailure(log, `${action} of a service failed`, error, { service: name }),
          );
      }, AFTER_THE_ANSWER_MS);
      return { ...before, state: 'starting' };
    }
    await platform.serviceAction(name, action);
    changed();
    const after = (await services.renew()).find((service) => service.name === name);
    return after ?? { ...before, state: 'starting' };
  };
  return {
    listServices: async () => ({ items: (await services.read()).value }),
    restartService: ({ params, caller }) => act(params.name, 'restart', caller),
    startService: ({ params, caller }) => act(params.name, 'start', caller),
    stopService: ({ params, caller }) => act(params.name, 'stop', caller),
    clearService: ({ params, caller }) => act(params.name, 'clear', caller),
  };
}
