// What an operating system and the firmware say of the machine's parts and their errors. A driver answers with facts; what
// they mean is decided in `system/hardware`, the same for all.

/** Null is what is not known, or not stated. */
export interface Inventory {
  readonly maker: string | null;
  readonly product: string | null;
  readonly serial: string | null;
  readonly assetTag: string | null;
  readonly board: { readonly maker: string | null; readonly product: string | null; readonly serial: string | null };
  readonly firmware: {
    readonly kind: 'uefi' | 'bios' | null;
    readonly maker: string | null;
    readonly version: string | null;
    /** As the firmware writes it. */
    readonly date: string | null;
  };
  readonly processors: readonly {
    readonly socket: string;
    readonly model: string | null;
    readonly cores: number | null;
    readonly threads: number | null;
  }[];
  /** Of the processors, as hexadecimal digits. */
  readonly microcode: string | null;
  readonly memory: readonly {
    readonly slot: string;
    /** Null: the slot is empty. */
    readonly bytes: number | null;
    /** DDR4 */
    readonly kind: string | null;
    /** Millions of transfers a second. */
    readonly megatransfers: number | null;
    readonly maker: string | null;
    readonly part: string | null;
    readonly serial: string | null;
  }[];
  /** What it was started with; `setup`: Secure Boot waits for keys; `none`: the firmware has no Secure Boot. */
  readonly secureBoot: 'on' | 'off' | 'setup' | 'none' | null;
  /** What the kernel keeps even root from: none, integrity, confidentiality. */
  readonly lockdown: string | null;
  readonly cards: readonly Card[];
}

export interface Card {
  /** Where it is on the bus, and is found after each start as long as it stays in its place: 0000:01:00.0. */
  readonly place: string;
  /** As printed on the board. */
  readonly slot: string | null;
  /** What it does: Ethernet controller. */
  readonly kind: string;
  readonly title: string;
  readonly driver: string | null;
}

/** A network port, beside what MachinePlatform says of it. Counters are those since the start. */
export interface Port {
  readonly name: string;
  /** As Card's. */
  readonly place: string | null;
  readonly driver: string | null;
  /** Version of what runs on the card. */
  readonly firmware: string | null;
  readonly mac: string | null;
  readonly packets: number;
  readonly errors: number;
}

export const SENSOR_KINDS = [
  ...(['temperature', 'fan', 'voltage', 'current', 'power', 'power-supply', 'chassis'] as const),
  ...(['memory', 'processor', 'disk', 'battery', 'other'] as const),
] as const;
export type SensorKind = (typeof SENSOR_KINDS)[number];
export type SensorState = 'ok' | 'warning' | 'critical' | 'absent';

/** Of the management controller, or of an enclosure. */
export interface ControllerSensor {
  readonly name: string;
  readonly kind: SensorKind;
  readonly state: SensorState;
  /** In `unit`; null: it only says how it is, or cannot be read. */
  readonly value: number | null;
  /** °C, V, A, W, rpm, %; empty without a value. */
  readonly unit: string;
  /** What it reports, in the controller's words. */
  readonly reports: readonly string[];
  /** Limits in `unit`; null: none. */
  readonly lowest: number | null;
  readonly highest: number | null;
}

/** A shelf that disks are in: SCSI Enclosure Services. */
export interface Enclosure {
  /** Where the system has it. */
  readonly id: string;
  readonly title: string;
  /** Why it has said nothing; null: it has, or it does not tell of its parts. */
  readonly error: string | null;
  /** Their names begin with that of the shelf. */
  readonly sensors: readonly ControllerSensor[];
}

export interface ControllerEvent {
  /** Its number in the controller's log. */
  readonly number: number;
  /** ms since the epoch; null: the controller's clock was not set. */
  readonly at: number | null;
  readonly sensor: string;
  readonly text: string;
  /** The end of what was reported before. */
  readonly over: boolean;
  readonly state: SensorState;
}

/** The management controller (BMC) itself. */
export interface Controller {
  readonly maker: string | null;
  readonly firmware: string | null;
  /** Where its own web page is. */
  readonly address: string | null;
  readonly mac: string | null;
  /** Of its event log; null: not known. */
  readonly logUsedRatio: number | null;
  /** What it says of the chassis that is not as it should be, and the kind of sensor that would say more. */
  readonly chassis: readonly { readonly words: string; readonly kind: SensorKind }[];
}

export const ERROR_KINDS = ['memory', 'processor', 'pcie'] as const;
/** Errors that a part has reported since the machine was started. */
export interface PartErrors {
  readonly kind: (typeof ERROR_KINDS)[number];
  /** The same as long as the part stays in its place. */
  readonly part: string;
  readonly title: string;
  /** Of a port of PCI Express: the place of the card that it leads to. */
  readonly behind?: string;
  readonly corrected: number;
  readonly uncorrected: number;
  /** Of the last one, in the system's words; empty: it says no more. */
  readonly detail: string;
}

export interface Slot {
  readonly enclosure: string;
  readonly slot: string;
  /** The kernel's path of the disk in it, or null. */
  readonly disk: string | null;
  readonly state: SensorState;
  readonly lit: boolean;
}

export interface Watchdog {
  readonly title: string;
  /** It restarts the machine when the system has not said for as long that it is alive. */
  readonly active: boolean;
  readonly seconds: number | null;
}

/** Each call fails with a ProblemError when the system cannot be asked. */
export interface HardwarePlatform {
  /** How old a reading may be; a minute unless said here. What is simulated is to be seen at once. */
  readonly freshMs?: number;
  inventory(): Promise<Inventory>;
  ports(): Promise<Port[]>;
  errors(): Promise<PartErrors[]>;
  slots(): Promise<Slot[]>;
  watchdogs(): Promise<Watchdog[]>;
  /** Null: the machine has no management controller. These three are slow, and may take minutes. */
  controller(): Promise<Controller | null>;
  controllerSensors(): Promise<ControllerSensor[]>;
  controllerEvents(): Promise<ControllerEvent[]>;
  /** Slow as well. A shelf that two ways lead to is there once. */
  enclosures(): Promise<Enclosure[]>;
}
