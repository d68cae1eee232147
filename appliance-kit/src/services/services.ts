// The services of the appliance: their state, and restarting one.
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../clock.ts';
import type { Handlers } from '../handlers.ts';
import type { Log } from '../log.ts';
import { Fresh, type Reading } from '../platform/fresh.ts';
import type { Platform } from '../platform/platform.ts';
import { asProblem, fail } from '../problems/problem.ts';
import { serviceFact } from './catalogue.ts';
import type { Service } from './schema.ts';

const MAX_AGE_MS = 2_000;
const PATIENCE_MS = 1_500;
/** Services the answer itself travels through: they are restarted after it has gone out. */
const CARRIES_THE_ANSWER = new Set(['akd', 'nginx']);
const AFTER_THE_ANSWER_MS = 300;

export class Services {
  readonly #fresh: Fresh<Service[]>;

  constructor(platform: Platform, clock: Clock) {
    this.#fresh = new Fresh(() => platform.services(), clock, {
      maxAgeMs: MAX_AGE_MS,
      patienceMs: PATIENCE_MS,
      nothing: [],
    });
  }

  read(): Promise<Reading<Service[]>> {
    return this.#fresh.get();
  }

  renew(): Promise<Service[]> {
    return this.#fresh.now();
  }
}

export function serviceRoutes(parts: {
  services: Services;
  platform: Platform;
  audit: Audit;
  changed: () => void;
  log: Log;
}): Handlers<'listServices' | 'restartService'> {
  const { services, platform, audit, changed, log } = parts;
  return {
    listServices: async () => ({ items: (await services.read()).value }),
    restartService: async ({ params, caller }) => {
      const { name } = params;
      if (serviceFact(name) === undefined) throw fail('not_found', `There is no service named “${name}”.`);
      const before = (await services.read()).value.find((service) => service.name === name);
      if (before === undefined) throw fail('service_unavailable', `The state of ${name} is not known.`, 'Try again.');
      audit.record(caller, 'service.restart', name);
      if (CARRIES_THE_ANSWER.has(name)) {
        setTimeout(() => {
          platform
            .serviceAction(name, 'restart')
            .then(changed, (error: unknown) =>
              log.error('a service could not be restarted', { service: name, error: asProblem(error).detail }),
            );
        }, AFTER_THE_ANSWER_MS);
        return { ...before, state: 'starting' };
      }
      await platform.serviceAction(name, 'restart');
      changed();
      const after = (await services.renew()).find((service) => service.name === name);
      return after ?? { ...before, state: 'starting' };
    },
  };
}
