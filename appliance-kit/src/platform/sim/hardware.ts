// The hardware of a machine that is not there: a server with a management controller, all of it well until told otherwise.
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type {
  Controller,
  ControllerEvent,
  ControllerSensor,
  Enclosure,
  HardwarePlatform,
  Inventory,
  PartErrors,
  Port,
  SensorKind,
  Slot,
  Watchdog,
} from '../hardware.ts';

const GIB = 2 ** 30;

export interface SimHardwareState {
  inventory: Inventory;
  ports: Port[];
  errors: PartErrors[];
  slots: Slot[];
  watchdogs: Watchdog[];
  /** Null: the machine has none. */
  controller: Controller | null;
  sensors: ControllerSensor[];
  events: ControllerEvent[];
  enclosures: Enclosure[];
  /** The controller refuses each question at once. */
  silent: boolean;
  /** How long the controller takes for one answer, by the clock. One that takes longer than execd waits never answers. */
  answersAfterMs: number;
}

function sensor(name: string, kind: SensorKind, value: number, unit: string, limits: [number | null, number | null]) {
  const [lowest, highest] = limits;
  return { ...{ name, kind, state: 'ok' as const, value, unit, reports: [] }, ...{ lowest, highest } };
}
const said = (name: string, kind: SensorKind, ...reports: string[]): ControllerSensor => ({
  ...{ name, kind, state: 'ok', value: null, unit: '', reports, lowest: null, highest: null },
});

export function hardwareOf(now: number): SimHardwareState {
  const module = (slot: string) => ({
    ...{ slot, bytes: 16 * GIB, kind: 'DDR4', megatransfers: 3200, maker: 'Samsung', part: 'M393A2K43DB3-CWE' },
    serial: `03A1${slot.replace(/\W/g, '')}`,
  });
  return {
    inventory: {
      ...{ maker: 'Example', product: 'Server 2000', serial: 'S123456', assetTag: null },
      board: { maker: 'Example', product: 'Board 7', serial: 'B765432' },
      firmware: { kind: 'uefi', maker: 'Example', version: '3.4', date: '05/17/2026' },
      processors: [{ socket: 'CPU1', model: 'Example 8-Core Processor', cores: 8, threads: 16 }],
      microcode: 'a0011d5',
      memory: [
        module('DIMM_A1'),
        module('DIMM_B1'),
        { slot: 'DIMM_A2', bytes: null, kind: null, megatransfers: null, maker: null, part: null, serial: null },
      ],
      ...{ secureBoot: 'off', lockdown: 'none' },
      cards: [
        {
          ...{ place: '0000:01:00.0', slot: '2', kind: 'Ethernet controller', driver: 'ixgbe' },
          title: 'Intel Corporation 82599ES 10-Gigabit SFI/SFP+ Network Connection',
        },
        {
          ...{ place: '0000:02:00.0', slot: '4', kind: 'Serial Attached SCSI controller', driver: 'mpt3sas' },
          title: 'Broadcom / LSI SAS3008 PCI-Express Fusion-MPT SAS-3',
        },
      ],
    },
    ports: ['eno1', 'eno2'].map((name, at) => ({
      ...{ name, place: `0000:01:00.${at}`, driver: 'ixgbe', firmware: '0x80000835', mac: `02:00:5e:10:00:0${at + 1}` },
      ...{ packets: at === 0 ? 4_711_000 : 0, errors: 0 },
    })),
    errors: ['DIMM_A1', 'DIMM_B1'].map((title, at) => ({
      ...{ kind: 'memory', part: `mc0/dimm${at}`, title, corrected: 0, uncorrected: 0, detail: '' },
    })),
    slots: [],
    watchdogs: [{ title: 'iTCO_wdt', active: true, seconds: 60 }],
    controller: {
      ...{ maker: 'Example', firmware: '1.74', address: '192.0.2.200', mac: '02:00:5e:10:00:fe' },
      ...{ logUsedRatio: 0.03, chassis: [] },
    },
    sensors: [
      sensor('Inlet Temp', 'temperature', 23, '°C', [null, 42]),
      sensor('CPU1 Temp', 'temperature', 47, '°C', [null, 95]),
      sensor('12V', 'voltage', 12.1, 'V', [11.2, 12.9]),
      sensor('FAN1', 'fan', 4200, 'rpm', [500, null]),
      sensor('FAN2', 'fan', 4300, 'rpm', [500, null]),
      sensor('Total Power', 'power', 142, 'W', [null, null]),
      said('PS1 Status', 'power-supply', 'Presence detected'),
      said('PS2 Status', 'power-supply', 'Presence detected'),
      said('PS Redundancy', 'power-supply', 'Fully Redundant'),
      said('Intrusion', 'chassis'),
    ],
    events: [
      {
        ...{ number: 1, at: now - 40 * 86_400_000, sensor: 'System Event #0x83', text: 'Timestamp Clock Sync' },
        ...{ over: false, state: 'ok' },
      },
    ],
    ...{ enclosures: [], silent: false, answersAfterMs: 0 },
  };
}

/** As execd's. */
const CONTROLLER_DEADLINE_MS = 90_000;
/** How often the clock is looked at, which tests set by hand. */
const LOOK_MS = 2;

/** Ends when the clock has reached a moment. Who waits for nothing else is not kept running by it. */
async function reached(clock: Clock, moment: number): Promise<void> {
  while (clock.monotonic() < moment)
    await new Promise<void>((resolve) => {
      setTimeout(resolve, LOOK_MS).unref();
    });
}

export function simHardware(state: () => SimHardwareState, clock: Clock, freshMs?: number): HardwarePlatform {
  const copy = <T>(value: T): T => structuredClone(value);
  /** The controller is asked one thing at a time; a question waits for the one before, and its waiting counts. */
  let busyUntil = 0;
  const ofController = async <T>(read: () => T): Promise<T> => {
    const silence = () => fail('timeout', 'The management controller (BMC) did not answer within 90 seconds.');
    if (state().silent) throw silence();
    const deadline = clock.monotonic() + CONTROLLER_DEADLINE_MS;
    const answered = Math.max(clock.monotonic(), busyUntil) + (state().answersAfterMs ?? 0);
    busyUntil = Math.min(answered, deadline);
    await reached(clock, busyUntil);
    if (answered > deadline) throw silence();
    return copy(read());
  };
  return {
    ...(freshMs !== undefined && { freshMs }),
    inventory: async () => copy(state().inventory),
    ports: async () => copy(state().ports),
    errors: async () => copy(state().errors),
    slots: async () => copy(state().slots),
    watchdogs: async () => copy(state().watchdogs),
    controller: () => ofController(() => state().controller),
    controllerSensors: () => ofController(() => state().sensors),
    controllerEvents: () => ofController(() => state().events),
    enclosures: async () => copy(state().enclosures ?? []),
  };
}
