// What the management controller's sensors say, as conditions and as sentences.
import { figure } from '../../base/words.ts';
import type { Controller, ControllerSensor } from '../../platform/hardware.ts';

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
