// The Debian appliance: lsblk, OpenZFS and systemd for reading, execd for whatever needs privilege.
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import os from 'node:os';
import { basename, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { Peer } from '../../peers/peer.ts';
import { type CertificatePlatform, certificateBy } from '../certificate.ts';
import { type Command, run } from '../command.ts';
import { OPENZFS_FACTS } from '../datasets.ts';
import { Execd } from '../execd.ts';
import { execdFirewall, listensForSsh } from '../execd-firewall.ts';
import { execdSsh } from '../execd-ssh.ts';
import { execdSystems } from '../execd-systems.ts';
import type { FirewallPlatform } from '../firewall.ts';
import { type NetworkPlatform, networkBy } from '../network-settings.ts';
import type {
  Platform,
  PlatformDisk,
  PlatformPool,
  PoolPlan,
  Progress,
  ServiceAction,
  SnmpAccess,
} from '../platform.ts';
import type { PoolActions } from '../poolActions.ts';
import { type Mark, PoolChanges } from '../poolChanges.ts';
import { followPoolEvents } from '../poolEvents.ts';
import type { Service } from '../service.ts';
import type { SshPlatform } from '../ssh.ts';
import type { SystemsPlatform } from '../systems.ts';
import { type TimePlatform, timeBy } from '../time.ts';
import { type TuningPlatform, tuningBy } from '../tuning.ts';
import { ZfsDatasets } from '../zfs/datasets.ts';
import { zfsPoolActions } from '../zfs/poolActions.ts';
import { ZfsReplication } from '../zfs/replication.ts';
import { diskFacts } from './disk-facts.ts';
import { LSBLK_COLUMNS, parseDisks } from './disks.ts';
import { LinuxHardware } from './hardware.ts';
import { LinuxMachine } from './machine.ts';
import { parsePools, poolStates } from './pools.ts';
import { LinuxServices } from './services.ts';

const BY_ID = '/dev/disk/by-id';
const BY_PARTUUID = '/dev/disk/by-partuuid';
const BY_PATH = '/dev/disk/by-path';
/** Left by the initramfs: the kernel's name of the disk the machine runs from. */
const SYSTEM_DISK_FILE = '/run/cistern-root/disk';
/** There while the appliance runs live: the name of the medium's device, in one line. */
const LIVE_FILE = '/run/cistern-live';
/** ZFS' default is right for disks with 512 bytes to a sector, and most that report 512 have 4096. */
const ASHIFT = 12;
/** lsblk is asked so often even when nothing that it reads has changed. */
const LSBLK_MS = 5 * 60_000;

export interface LinuxOptions {
  readonly run: string;
  readonly clock: Clock;
  /** For tests. */
  readonly command?: Command;
  readonly liveFile?: string;
  readonly socketTables?: readonly string[];
}

export class Linux implements Platform {
  readonly kind = 'linux';
  readonly systemPool = 'system';
  readonly datasets: ZfsDatasets;
  readonly replication: ZfsReplication;
  readonly poolActions: PoolActions;
  readonly machine: LinuxMachine;
  readonly hardware: LinuxHardware;
  readonly systems: SystemsPlatform;
  readonly time: TimePlatform;
  readonly tuning: TuningPlatform;
  readonly network: NetworkPlatform;
  readonly certificate: CertificatePlatform;
  readonly firewall: FirewallPlatform;
  readonly ssh: SshPlatform;
  readonly #execd: Execd;
  readonly #command: Command;
  readonly #clock: Clock;
  readonly #changes = new PoolChanges();
  readonly #services: LinuxServices;
  #disks: { facts: string | null; at: number; disks: PlatformDisk[] } | null = null;
  /** As they were when the pools were read. */
  #pools: { mark: Mark; states: string } = { mark: null, states: '' };
  readonly #liveFile: string;

  constructor(options: LinuxOptions) {
    this.#execd = new Execd(new Peer('execd', join(options.run, 'execd', 'http.sock')), () => {
      this.#changes.happened();
      this.#services.forget();
    });
    this.#command = options.command ?? run;
    this.#clock = options.clock;
    this.#liveFile = options.liveFile ?? LIVE_FILE;
    this.poolActions = zfsPoolActions(this.#execd, this.systemPool);
    this.systems = execdSystems(this.#execd);
    this.tuning = tuningBy((verb, body) => this.#execd.run(verb, body as never));
    this.time = timeBy((verb, body) => this.#execd.run(verb, body as never));
    this.network = networkBy((verb, body) => this.#execd.run(verb, body as never));
    this.certificate = certificateBy((verb, body) => this.#execd.run(verb, body as never));
    this.ssh = execdSsh(this.#execd);
    const tables = options.socketTables ?? ['/proc/net/tcp', '/proc/net/tcp6'];
    this.firewall = execdFirewall(this.#execd, async () =>
      (await Promise.all(tables.map((path) => readFile(path, 'utf8').catch(() => '')))).some(listensForSsh),
    );
    this.machine = new LinuxMachine({ command: this.#command });
    this.hardware = new LinuxHardware({ command: this.#command, execd: this.#execd });
    this.datasets = new ZfsDatasets({
      command: this.#command,
      execd: this.#execd,
      facts: OPENZFS_FACTS,
      changes: this.#changes,
    });
    this.#services = new LinuxServices({ command: this.#command, clock: options.clock });
    const replicd = new Peer('replicd', join(options.run, 'replicd', 'http.sock'));
    this.replication = new ZfsReplication({ replicd, execd: this.#execd });
  }

  async bootId(): Promise<string> {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  }

  uptimeSeconds(): number {
    return os.uptime();
  }

  identity(): { hostName: string; timeZone: string } {
    return { hostName: os.hostname(), timeZone: this.#timeZone() };
  }

  live(): string | null {
    const unnamed = 'a removable medium';
    try {
      return readFileSync(this.#liveFile, 'utf8').trim() || unnamed;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : unnamed;
    }
  }

  /** As /etc/timezone or the link /etc/localtime has it now: the one this process started with may have been changed. */
  #timeZone(): string {
    try {
      const zone = readFileSync('/etc/timezone', 'utf8').trim();
      if (zone !== '') return zone;
    } catch {
      // Not every Debian has it; the process's own zone is what is left.
    }
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  /** lsblk is not started when it would print what it printed before. */
  async disks(): Promise<PlatformDisk[]> {
    const facts = diskFacts();
    const at = this.#clock.monotonic();
    const known = this.#disks;
    if (known !== null && facts !== null && known.facts === facts && at - known.at < LSBLK_MS) return known.disks;
    const disks = await this.#readDisks();
    this.#disks = { facts, at, disks };
    return disks;
  }

  async #readDisks(): Promise<PlatformDisk[]> {
    const [lsblk, links, partitions, paths, systemDisk] = await Promise.all([
      this.#command('lsblk', ['--json', '--bytes', '--output', LSBLK_COLUMNS]),
      this.#links(BY_ID),
      this.#links(BY_PARTUUID),
      this.#links(BY_PATH),
      readFile(SYSTEM_DISK_FILE, 'utf8').catch(() => ''),
    ]);
    return parseDisks(lsblk, links, systemDisk.trim() || null, partitions, paths);
  }

  async #links(folder: string): Promise<Map<string, string>> {
    // There is none on a machine whose disks have no serial numbers.
    const names = await readdir(folder).catch(() => []);
    const entries = await Promise.all(
      names.map(async (name) => [name, basename(await readlink(join(folder, name)).catch(() => ''))] as const),
    );
    return new Map(entries.filter(([, target]) => target !== ''));
  }

  async pools(): Promise<PlatformPool[]> {
    const before = { mark: this.#changes.pools(), states: await poolStates() };
    const pools = await this.#readPools();
    this.#pools = before;
    return pools;
  }

  rememberedPools(): Promise<readonly string[]> {
    return this.#execd.remembered();
  }

  async poolsUnchanged(): Promise<boolean> {
    const { mark, states } = this.#pools;
    // ZFS drops events when there are too many: its own word for each pool's state is looked at as well.
    return mark !== null && mark === this.#changes.pools() && states === (await poolStates());
  }

  async #readPools(): Promise<PlatformPool[]> {
    const [status, list, properties] = await Promise.all([
      this.#command('zpool', ['status', '-j', '-p', '--json-int']),
      this.#command('zpool', [
        'list',
        '-j',
        '-p',
        '--json-int',
        '-o',
        'size,allocated,free,fragmentation,health,autoexpand,autotrim,comment,readonly',
      ]),
      // Depth 1: the pools themselves and what is right below them.
      this.#command('zfs', [
        'get',
        '-H',
        '-p',
        '-d',
        '1',
        '-t',
        'filesystem',
        '-o',
        'name,property,value',
        'compression,compressratio',
      ]),
    ]);
    return parsePools(status, list, properties, Date.now());
  }

  watchPools(poke: () => void): () => void {
    return followPoolEvents({
      open: async () => (await this.#execd.open('pool.events', {})).content,
      changed: poke,
      changes: this.#changes,
    });
  }

  async services(): Promise<Service[]> {
    return this.#services.read();
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
