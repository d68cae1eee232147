// What the sensors of the management controller and of enclosures say, as conditions and as sentences.
import { figure } from '../../base/words.ts';
import type { Controller, ControllerSensor, Enclosure } from '../../platform/hardware.ts';

function range({ lowest, highest, unit }: ControllerSensor): string {
  if (lowest !== null && highest !== null) return `; it is well from ${figure(lowest)} to ${figure(highest)} ${unit}`;
  if (lowest !== null) return `; it is well from ${figure(lowest)} ${unit} on`;
  if (highest !== null) return `; it is well up to ${figure(highest)} ${unit}`;
  return '';
}

/** As a sentence: FAN3 reads 0 rpm: Lower Critical; it is well from 500 rpm on. */
export function sentenceOf(sensor: ControllerSensor): string {
  const { name, value, unit, reports } = sensor;
  const reported = reports.join(', ');
  if (value === null) return `${name}: ${reported || 'nothing is reported'}.`;
  return `${name} reads ${figure(value)} ${unit}${reported === '' ? '' : `: ${reported}`}${range(sensor)}.`;
}

export const isWrong = ({ state }: ControllerSensor): boolean => state === 'warning' || state === 'critical';

/** What is said of the chassis and by no sensor, which would say more: that a fan has a fault, and no fan's sensor says so. */
export function chassisFaults(controller: Controller | null, sensors: readonly ControllerSensor[]): string[] {
  const said = new Set(sensors.filter(isWrong).map(({ kind }) => kind));
  return (controller?.chassis ?? []).filter(({ kind }) => !said.has(kind)).map(({ words }) => words);
}

/** Several sensors of one name, as a controller with two boards has them: told apart by their order. */
export function distinguished(sensors: readonly ControllerSensor[]): ControllerSensor[] {
  const times = new Map<string, number>();
  return sensors.map((sensor) => {
    const count = (times.get(sensor.name) ?? 0) + 1;
    times.set(sensor.name, count);
    return count === 1 ? sensor : { ...sensor, name: `${sensor.name} (${count})` };
  });
}

/** All shelves, as they were asked last. */
export interface Shelves {
  readonly enclosures: readonly Enclosure[];
  /** Of those that answered. */
  readonly heard: readonly ControllerSensor[];
  /** Of those that did not: what they said last. */
  readonly standing: readonly ControllerSensor[];
}

/** Remembers what each shelf said last. */
export class ShelfMemory {
  #last: ReadonlyMap<string, readonly ControllerSensor[]> = new Map();

  hear(enclosures: readonly Enclosure[]): Shelves {
    const heard = distinguished(enclosures.filter(({ error }) => error === null).flatMap(({ sensors }) => sensors));
    const said = ({ id, error, sensors }: Enclosure) => (error === null ? sensors : (this.#last.get(id) ?? []));
    this.#last = new Map(enclosures.map((one) => [one.id, said(one)]));
    // The same shelf may answer by another way.
    const names = new Set(heard.map(({ name }) => name));
    const silent = enclosures.filter(({ error }) => error !== null);
    return { enclosures, heard, standing: silent.flatMap(said).filter(({ name }) => !names.has(name)) };
  }
}
