// What the hardware says as metrics in the store, once a minute: so that it can be charted, and limits set on it.

import type { Measurement } from '../../peers/storaged.ts';
import type { ControllerSensor } from '../../platform/hardware.ts';
import type { Counted } from './errors.ts';

/** By the unit of a sensor; docs/manual/system.md lists them. */
const NAMES: Readonly<Record<string, string>> = {
  '°C': 'cistern_hardware_temperature_celsius',
  V: 'cistern_hardware_voltage_volts',
  A: 'cistern_hardware_current_amperes',
  W: 'cistern_hardware_power_watts',
  rpm: 'cistern_hardware_fan_rpm',
};
const STATES = { ok: 0, absent: 0, warning: 1, critical: 2 } as const;

export function ofSensors(sensors: readonly ControllerSensor[]): Measurement[] {
  return sensors.flatMap(({ name: sensor, value, unit, state }) => {
    const name = NAMES[unit];
    return [
      ...(value === null || name === undefined ? [] : [{ name, labels: { sensor }, value }]),
      { name: 'cistern_hardware_sensor_state', labels: { sensor }, value: STATES[state] },
    ];
  });
}

export function ofErrors(errors: readonly Counted[]): Measurement[] {
  return errors.flatMap(({ kind, part, corrected, uncorrected }) =>
    (
      [
        ['yes', corrected],
        ['no', uncorrected],
      ] as const
    ).map(([word, value]) => ({
      name: 'cistern_hardware_errors',
      labels: { kind, part, corrected: word },
      value,
    })),
  );
}

export interface DiskFacts {
  readonly id: string;
  readonly temperatureCelsius: number | null;
  readonly wearRatio: number | null;
  readonly powerOnHours: number | null;
  readonly reallocatedSectors: number | null;
  readonly pendingSectors: number | null;
  readonly passed: boolean | null;
}

export function ofDisks(disks: readonly DiskFacts[]): Measurement[] {
  return disks.flatMap(({ id: disk, passed, ...facts }) =>
    (
      [
        ['cistern_hardware_disk_temperature_celsius', facts.temperatureCelsius],
        ['cistern_hardware_disk_wear_ratio', facts.wearRatio],
        ['cistern_hardware_disk_power_on_hours', facts.powerOnHours],
        ['cistern_hardware_disk_reallocated_sectors', facts.reallocatedSectors],
        ['cistern_hardware_disk_pending_sectors', facts.pendingSectors],
        ['cistern_hardware_disk_passed', passed === null ? null : Number(passed)],
      ] as const
    ).flatMap(([name, value]) => (value === null ? [] : [{ name, labels: { disk }, value }])),
  );
}
