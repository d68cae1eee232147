// What the management plane needs of an operating system, and nothing else knows about one. Each driver answers in
// these terms: `linux/`, `illumos/` and `sim/`, which behaves like the real ones without touching anything.
//
// Every call ends within its own deadline; a call that fails throws a ProblemError that names the device
// and says what can be done. Reading never needs privilege; what changes the machine goes through execd.

import type { CertificatePlatform } from './certificate.ts';
import type { DatasetPlatform } from './datasets.ts';
import type { FirewallPlatform } from './firewall.ts';
import type { HardwarePlatform } from './hardware.ts';
import type { MachinePlatform } from './machine.ts';
import type { NetworkPlatform } from './network-settings.ts';
import type { PoolProperties, PoolState, Scan, Vdev, VdevPlan } from './pool.ts';
import type { PoolActions, VdevKind } from './poolActions.ts';
import type { ReplicationPlatform } from './replication.ts';
import type { Service } from './service.ts';
import type { SshPlatform } from './ssh.ts';
import type { SystemsPlatform } from './systems.ts';
import type { TimePlatform } from './time.ts';
import type { TuningPlatform } from './tuning.ts';

/** A whole disk as the system sees it. Whether a pool owns it is found out by whoever joins it with the pools. */
export interface PlatformDisk {
  /** Stable over reboots and controllers. */
  readonly id: string;
  /** The kernel's name for it today. */
  readonly path: string;
  /** The stable device path, which pools are made with. */
  readonly link: string;
  /** Every path by which a pool might name it or one of its partitions. */
  readonly aliases: readonly string[];
  readonly model: string;
  readonly serial: string;
  /** The world-wide name, or null. */
  readonly wwn: string | null;
  /** Where it is plugged in, as the system names the way to it: the same for whatever disk is there. Null: not known. */
  readonly place: string | null;
  readonly bytes: number;
  readonly bus: string;
  readonly rotational: boolean | null;
  /** The appliance runs from it. */
  readonly system: boolean;
  /** What already lives on it, in words, or null. A pool this machine has imported is recognised by the join. */
  readonly occupant: string | null;
  readonly readOnly: boolean;
}

export interface PlatformPool {
  readonly name: string;
  readonly state: PoolState;
  readonly bytes: number;
  readonly allocated: number;
  readonly free: number;
  readonly fragmentation: number | null;
  readonly status: string | null;
  readonly action: string | null;
  readonly scan: Omit<Scan, 'sentence'> | null;
  /** Without `diskId`: that is the join's. */
  readonly vdevs: readonly Vdev[];
  readonly errors: number;
  readonly compression: string | null;
  readonly compressRatio: number | null;
  /** POOL/telemetry is there. */
  readonly telemetry: boolean;
  readonly properties: PoolProperties;
  /** This system knows features that the pool does not use. */
  readonly upgradable: boolean;
}

export interface PoolPlan {
  readonly name: string;
  readonly vdevs: readonly VdevPlan[];
  /** Spares, logs, caches and special vdevs. */
  readonly beside: readonly { readonly kind: Exclude<VdevKind, 'data'>; readonly vdevs: readonly VdevPlan[] }[];
  readonly compression: string;
}

/** The progress of long work: a step in words, and how far it is if that is known. */
export type Progress = (step: string, percent: number | null) => void;

/** `clear`: forget that it failed, and start it. */
export type ServiceAction = 'start' | 'stop' | 'restart' | 'clear';

/** Who may poll the appliance by SNMP; neither a community nor a user: polling is off. */
export interface SnmpAccess {
  /** Hexadecimal. */
  readonly engineId: string;
  readonly community?: string;
  /** Networks that the community is taken from; none: everywhere. */
  readonly sources?: readonly string[];
  readonly user?: {
    readonly name: string;
    readonly authProtocol: 'SHA' | 'SHA-256' | 'SHA-512';
    readonly authPassword: string;
    readonly privPassword: string;
  };
  readonly contact: string;
  readonly location: string;
}

/** A fault that the operating system has diagnosed, until it is marked as repaired. */
export interface PlatformFault {
  /** The same for as long as it lasts. */
  readonly id: string;
  /** What the makers of the system call this kind of trouble: DISK-8000-0X. */
  readonly code: string;
  /** Minor, Major or Critical. */
  readonly severity: string;
  /** fault.io.disk.predictive-failure */
  readonly classes: readonly string[];
  /** Devices or services, as the system names them. */
  readonly affects: readonly string[];
  /** What a person would replace, as it is printed on the machine where that is known. */
  readonly parts: readonly string[];
  /** Sentences, or empty. */
  readonly description: string;
  readonly action: string;
}

export interface Platform {
  readonly kind: 'linux' | 'illumos' | 'sim';
  /** The pool the appliance itself lives on. */
  readonly systemPool: string;
  /** Datasets and snapshots: what is there, and changing it. */
  readonly datasets: DatasetPlatform;
  readonly replication: ReplicationPlatform;
  /** What can be done to pools and disks that exist. */
  readonly poolActions: PoolActions;
  /** Its clock, network links and temperatures. */
  readonly machine: MachinePlatform;
  /** Its parts, their sensors and their errors. */
  readonly hardware: HardwarePlatform;
  /** Who may reach it. */
  readonly firewall: FirewallPlatform;
  /** Its addresses. */
  readonly network: NetworkPlatform;
  /** How its operating system is tuned. */
  readonly tuning: TuningPlatform;
  /** Whom it asks for the time. */
  readonly time: TimePlatform;
  /** The certificate of the web page. */
  readonly certificate: CertificatePlatform;
  /** Null where there is no account for users of the appliance. */
  readonly ssh: SshPlatform | null;
  /** The installed operating systems, and which one starts next time. */
  readonly systems: SystemsPlatform;
  /** Differs after every boot: so the appliance's start is reported once, and not with each restart of akd. */
  bootId(): Promise<string>;
  uptimeSeconds(): number;
  identity(): { hostName: string; timeZone: string };
  /** The device of the medium from which the appliance runs live, where nothing is kept; null: it is installed. */
  live(): string | null;

  disks(): Promise<PlatformDisk[]>;
  pools(): Promise<PlatformPool[]>;
  /** Names of the data pools that are imported when the machine starts: what is meant to be there. */
  rememberedPools(): Promise<readonly string[]>;
  services(): Promise<Service[]>;

  createPool(plan: PoolPlan, progress: Progress): Promise<void>;
  placeTelemetry(pool: string, progress: Progress): Promise<void>;
  serviceAction(name: string, action: ServiceAction): Promise<void>;
  setIdentity(hostName: string, timeZone: string): Promise<void>;
  finishSetup(): Promise<void>;
  configureSnmp(access: SnmpAccess): Promise<void>;
  power(action: 'reboot' | 'off'): Promise<void>;

  /** Calls `poke` soon after something has happened to a pool, until the function it returns is called. */
  watchPools?(poke: () => void): () => void;
  /** Whether the last answer of `pools` still holds, but for sizes: nothing has happened to a pool since. Without it that is never known. */
  poolsUnchanged?(): Promise<boolean>;

  /** Systems that diagnose faults themselves only. */
  faults?(): Promise<PlatformFault[]>;

  /** Simulation only: make something fail, or well again. */
  simulate?(what: string, args: Record<string, unknown>): Promise<void>;
}
