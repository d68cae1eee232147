// The logs, as supportd reads them.
import { domain, type Kernel } from '../../domain/domain.ts';
import { logRoutes } from './handlers.ts';
import { LogReader } from './reader.ts';
import { routes } from './routes.ts';

export type { LogReader } from './reader.ts';
export { LogLine } from './schema.ts';

export interface LogsDomain {
  readonly logs: LogReader;
}

export const logsDomain = domain({
  name: 'system/logs',
  routes,
  create: ({ supportd, identify }: Kernel) => {
    const logs = new LogReader(supportd);
    return { provides: { logs } satisfies LogsDomain, handlers: logRoutes(supportd, logs, identify) };
  },
});
