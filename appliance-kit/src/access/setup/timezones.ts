// The time zones there are, by their IANA names, as Node's own data has them.

import type { Handlers } from '../../http/handlers.ts';
import type { routes } from './routes.ts';

// The list the engine gives leaves UTC out, which is what most servers are set to.
/** With both names of the one zone that every machine begins in: Node lists only one of them. */
const zones = () => [...new Set(['UTC', 'Etc/UTC', ...Intl.supportedValuesOf('timeZone')])];

export function isTimeZone(name: string): boolean {
  return zones().includes(name);
}

export function timeZoneRoutes(): Pick<Handlers<typeof routes>, 'listTimeZones'> {
  return { listTimeZones: () => ({ items: zones() }) };
}
