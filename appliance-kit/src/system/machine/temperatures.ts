// What is too hot. A sensor's own limits count; those that state none have these, which are on the cautious side of what
// makers of processors, boards and disks write into their data sheets.

import { type Heat, HOT_CELSIUS } from '../../storage/disks/index.ts';
import type { MachineTemperature } from './schema.ts';

/** For a sensor that states no limit, °C. */
export const DEFAULT_CELSIUS = 85;
/** So far below its critical limit a sensor that states no other is already hot, °C. */
const BEFORE_CRITICAL = 5;
/** It is over when it is so much cooler than where it began, °C. */
export const HYSTERESIS = 5;

export type Level = 'warning' | 'critical';

/** @param active whether there is an alert of that level now */
export function describeHeat(heat: Heat, active: (level: Level) => boolean): MachineTemperature {
  const { id, title, celsius, critical, disk } = heat;
  const stated = heat.maximum ?? (critical === null ? null : critical - BEFORE_CRITICAL);
  const warning = Math.min(
    stated ?? (disk === null ? DEFAULT_CELSIUS : HOT_CELSIUS),
    critical ?? Number.POSITIVE_INFINITY,
  );
  const beyond = (limit: number, held: boolean) => celsius >= limit || (held && celsius > limit - HYSTERESIS);
  const state =
    critical !== null && beyond(critical, active('critical'))
      ? 'critical'
      : beyond(warning, active('warning') || active('critical'))
        ? 'warning'
        : 'ok';
  return { id, title, state, celsius, warning, critical, disk };
}
