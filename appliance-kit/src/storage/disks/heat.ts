// A temperature, and the disk that reported it.
import type { Sensor } from '../../platform/machine.ts';

export interface Heat extends Sensor {
  /** The disk that says so. */
  readonly disk: string | null;
}
