// The OmniOS appliance: illumos' ZFS and SMF for reading, execd for whatever needs privilege, which the disks do.
// Not run on illumos yet.
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { Peer } from '../../peers/peer.ts';
import { type CertificatePlatform, certificateBy } from '../certificate.ts';
import { type Command, run } from '../command.ts';
import { Execd } from '../execd.ts';
import { execdFirewall } from '../execd-firewall.ts';
import { execdSystems } from '../execd-systems.ts';
import type { FirewallPlatform } from '../firewall.ts';
import type { HardwarePlatform } from '../hardware.ts';
import { type NetworkPlatform, networkBy } from '../network-settings.ts';
import type {
  Platform,
  PlatformDisk,
  PlatformFault,
  PlatformPool,
  PoolPlan,
  Progress,
  ServiceAction,
  SnmpAccess,
} from '../platform.ts';
import type { PoolActions } from '../poolActions.ts';
import type { Service } from '../service.ts';
import type { SystemsPlatform } from '../systems.ts';
import { type TimePlatform, timeBy } from '../time.ts';
import { type TuningPlatform, tuningBy } from '../tuning.ts';
import type { ZfsDatasets } from '../zfs/datasets.ts';
import { zfsPoolActions } from '../zfs/poolActions.ts';
import { ZfsReplication } from '../zfs/replication.ts';
import { illumosDatasets } from './datasets.ts';
import { type ListedDisk, ROOT_POOL, readDisks } from './disks.ts';
import { parseFaults } from './faults.ts';
import { illumosHardware } from './hardware.ts';
import { IllumosMachine } from './machine.ts';
import { illumosPools } from './pools.ts';
import { PATTERNS, PS_ARGUMENTS, parseNeeds, parseServices, parseUse, Restarts } from './services.ts';

/** Disks with 512 bytes to a sector are rare, and those that say so mostly have 4096. */
const ASHIFT = 12;

export interface IllumosOptions {
  readonly run: string;
  /** For tests. */
  readonly command?: Command;
  readonly execd?: Execd;
  readonly etc?: string;
}

export class Illumos implements Platform {
  readonly kind = 'illumos';
  readonly systemPool = ROOT_POOL;
  readonly datasets: ZfsDatasets;
  readonly replication: ZfsReplication;
  readonly poolActions: PoolActions;
  readonly machine: IllumosMachine;
  readonly hardware: HardwarePlatform;
  readonly systems: SystemsPlatform;
  readonly time: TimePlatform;
  readonly tuning: TuningPlatform;
  readonly network: NetworkPlatform;
  readonly certificate: CertificatePlatform;
  readonly firewall: FirewallPlatform;
  /** docs/OMNIOS.md says how one gets in instead. */
  readonly ssh = null;
  readonly #execd: Execd;
  readonly #command: Command;
  readonly #etc: string;
  readonly #restarts = new Restarts();
  /** What services need changes with the appliance's version only; null: not read yet. */
  #needs: Map<string, string[]> | null = null;

  constructor(options: IllumosOptions) {
    this.#execd = options.execd ?? new Execd(new Peer('execd', join(options.run, 'execd', 'http.sock')));
    this.#command = options.command ?? run;
    this.#etc = options.etc ?? '/etc';
    this.poolActions = zfsPoolActions(this.#execd, this.systemPool);
    this.systems = execdSystems(this.#execd);
    this.tuning = tuningBy((verb, body) => this.#execd.run(verb, body as never));
    this.time = timeBy((verb, body) => this.#execd.run(verb, body as never));
    this.network = networkBy((verb, body) => this.#execd.run(verb, body as never));
    this.certificate = certificateBy((verb, body) => this.#execd.run(verb, body as never));
    this.firewall = execdFirewall(this.#execd, async () =>
      /^online/.test(await this.#command('svcs', ['-H', '-o', 'state', 'svc:/network/ssh:default']).catch(() => '')),
    );
    this.machine = new IllumosMachine(this.#command);
    this.hardware = illumosHardware(this.#command, this.#execd);
    this.datasets = illumosDatasets({ command: this.#command, execd: this.#execd });
    const replicd = new Peer('replicd', join(options.run, 'replicd', 'http.sock'));
    this.replication = new ZfsReplication({ replicd, execd: this.#execd });
  }

  /** When the kernel was started. */
  async bootId(): Promise<string> {
    const line = await this.#command('kstat', ['-p', 'unix:0:system_misc:boot_time']);
    return line.trim().split('\t').at(-1) ?? '';
  }

  uptimeSeconds(): number {
    return os.uptime();
  }

  identity(): { hostName: string; timeZone: string } {
    return { hostName: os.hostname(), timeZone: this.#timeZone() };
  }

  /** On illumos it always runs from its root pool. */
  live(): null {
    return null;
  }

  /** As /etc/default/init has it now: the one this process started with may have been changed. */
  #timeZone(): string {
    try {
      const zone = /^TZ=(\S+)/m.exec(readFileSync(join(this.#etc, 'default/init'), 'utf8'))?.[1];
      if (zone !== undefined) return zone;
    } catch {
      // The process's own zone is what is left.
    }
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  async disks(): Promise<PlatformDisk[]> {
    const [listed, pools] = await Promise.all([this.#execd.run('disks.list', {}), this.pools()]);
    return readDisks((listed as { disks: ListedDisk[] }).disks, pools);
  }

  pools(): Promise<PlatformPool[]> {
    return illumosPools(this.#command);
  }

  rememberedPools(): Promise<readonly string[]> {
    return this.#execd.remembered();
  }

  async services(): Promise<Service[]> {
    const [restarter, processes] = await Promise.all([
      this.#command('svcprop', ['-f', '-p', 'restarter', ...PATTERNS], { partial: true }),
      // Without these there are still their states.
      this.#command('ps', PS_ARGUMENTS).catch(() => ''),
    ]);
    this.#needs ??= await this.#command('svcprop', ['-f', ...PATTERNS], { partial: true }).then(parseNeeds, () => null);
    return parseServices(restarter, {
      use: parseUse(processes),
      needs: this.#needs ?? new Map(),
      restarts: this.#restarts,
    });
  }

  async faults(): Promise<PlatformFault[]> {
    // The fault manager answers root only.
    const { text } = (await this.#execd.run('faults.list', {})) as { text: string };
    return parseFaults(text);
  }

  async createPool(plan: PoolPlan, progress: Progress): Promise<void> {
    progress('Creating the pool', 10);
    await this.#execd.run('pool.create', { ...plan, ashift: ASHIFT });
  }

  async placeTelemetry(pool: string, progress: Progress): Promise<void> {
    progress('Making the telemetry dataset and starting the store', null);
    await this.#execd.run('telemetry.place', { pool });
  }

  async serviceAction(service: string, action: ServiceAction): Promise<void> {
    await this.#execd.run('service.action', { service, action });
    this.#restarts.forget(service);
  }

  async setIdentity(hostName: string, timeZone: string): Promise<void> {
    await this.#execd.run('system.identity', { hostName, timeZone });
  }

  async finishSetup(): Promise<void> {
    await this.#execd.run('setup.finish', {});
  }

  async configureSnmp(access: SnmpAccess): Promise<void> {
    await this.#execd.run('snmp.configure', { ...access });
  }

  async power(action: 'reboot' | 'off'): Promise<void> {
    await this.#execd.run('power', { action });
  }
}
