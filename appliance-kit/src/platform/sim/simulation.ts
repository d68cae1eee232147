// A machine that is not there: disks, pools and services that behave like the real ones, with failures on demand.
// For developing the web interface and for browser tests. What it holds survives a restart, in one JSON file.
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { CertificatePlatform } from '../certificate.ts';
import type { FirewallSender } from '../firewall.ts';
import type { HardwarePlatform } from '../hardware.ts';
import type { PlatformLink, Sensor, TimeSource } from '../machine.ts';
import type {
  Platform,
  PlatformDisk,
  PlatformFault,
  PlatformPool,
  PoolPlan,
  Progress,
  ServiceAction,
} from '../platform.ts';
import type { Service } from '../service.ts';
import { serviceFacts } from '../service-facts.ts';
import type { PlatformSystem } from '../systems.ts';
import type { TimePlatform } from '../time.ts';
import type { TuningPlatform } from '../tuning.ts';
import { type SimCertificateOptions, simCertificate } from './certificate.ts';
import { noDatasets, type SimDatasetState } from './dataset-state.ts';
import { SimDatasets } from './datasets.ts';
import { noFirewall, SimFirewall, type SimFirewallState } from './firewall.ts';
import { hardwareOf, type SimHardwareState, simHardware } from './hardware.ts';
import { noNetwork, SimNetwork, type SimNetworkState } from './network.ts';
import { newPool, type SimDisk, type SimPool } from './pool-state.ts';
import { SimPools } from './pools.ts';
import { SimReplication } from './replication.ts';
import { noSsh, SimSsh, type SimSshState } from './ssh.ts';
import { noTime, type SimTimeState, simTime } from './time.ts';
import { noTuning, type SimTuningState, simTuning } from './tuning.ts';

const GIB = 2 ** 30;
interface SimService {
  state: Service['state'];
  since: number;
  restarts: number;
  reason: string | null;
}

interface SimState {
  disks: SimDisk[];
  pools: SimPool[];
  exported: SimPool[];
  services: Record<string, SimService>;
  hostName: string;
  timeZone: string;
  live: string | null;
  datasets: SimDatasetState;
  /** `always`: a server answered a moment ago, whenever that is asked. */
  time: TimeSource & { always: boolean };
  links: PlatformLink[];
  sensors: Sensor[];
  hardware: SimHardwareState;
  systems: PlatformSystem[];
  timeServers: SimTimeState;
  tuning: SimTuningState;
  firewall: SimFirewallState;
  network: SimNetworkState;
  ssh: SimSshState;
}

export interface SimulationOptions {
  readonly clock: Clock;
  /** Where the state is kept; none: in memory only. */
  readonly file?: string;
  /** How long each step of creating a pool takes; 0 in tests. */
  readonly stepMs?: number;
  /** How long a scrub or a resilver takes, by the clock: as long as ten steps unless set. */
  readonly scanSeconds?: number;
  /** Where the certificate of its web page is kept; none: there is none. */
  readonly certificates?: SimCertificateOptions;
}

function initial(now: number): SimState {
  const data = (n: number): SimDisk => ({ name: `data${n}`, bytes: 2 * GIB, present: true, occupant: null });
  const online = (): SimService => ({ state: 'online', since: now, restarts: 0, reason: null });
  return {
    disks: [{ name: 'system0', bytes: 16 * GIB, present: true, occupant: null }, ...[1, 2, 3, 4].map(data)],
    pools: [{ ...newPool('system', [{ type: 'stripe', disks: ['system0'] }], 'lz4', now), allocated: 1.3 * GIB }],
    exported: [],
    services: Object.fromEntries(serviceFacts.map(({ name }) => [name, online()])),
    hostName: 'cistern',
    timeZone: 'UTC',
    live: null,
    datasets: noDatasets(),
    time: {
      ...{ daemon: 'chrony', running: true, source: 'time.example', synchronised: true },
      ...{ answeredAt: null, pollSeconds: 64, offsetSeconds: 0.0021, always: true },
    },
    links: ['eno1', 'eno2'].map((name, at) => ({
      ...{ name, bond: false, member: null, enabled: true, carrier: at === 0, megabits: at === 0 ? 10_000 : null },
      ...{ mtu: 1500, mac: `02:00:5e:10:00:0${at + 1}` },
      addresses:
        at === 0
          ? [
              { address: '192.0.2.10', prefix: 24, origin: 'dhcp' as const },
              { address: 'fe80::5eff:fe10:1', prefix: 64, origin: 'autoconfigured' as const },
            ]
          : [],
    })),
    sensors: [
      { id: 'coretemp/0', title: 'Package (coretemp)', celsius: 47, maximum: 84, critical: 100 },
      { id: 'board/1', title: 'Board (nct6775)', celsius: 36, maximum: null, critical: null },
    ],
    hardware: hardwareOf(now),
    timeServers: noTime(),
    tuning: noTuning(),
    firewall: noFirewall(),
    network: noNetwork(),
    ssh: noSsh(),
    systems: [
      {
        ...{ name: 'A', running: true, starts: 'next', createdMs: null, bytes: 186 * 2 ** 20, version: '0.1.0' },
        obstacle: '',
      },
      {
        ...{ name: 'B', running: false, starts: 'no', createdMs: null, bytes: null, version: null },
        obstacle: 'Nothing is installed in this slot.',
      },
    ],
  };
}

export class Simulation implements Platform {
  readonly kind = 'sim';
  readonly systemPool = 'system';
  readonly datasets: SimDatasets;
  readonly replication: SimReplication;
  readonly poolActions: SimPools;
  readonly machine = {
    timeSource: async (): Promise<TimeSource> => {
      const { always, ...time } = this.#state.time;
      return always ? { ...time, answeredAt: this.#clock.now() - 20_000 } : time;
    },
    links: async (): Promise<PlatformLink[]> => structuredClone(this.#state.links),
    sensors: async (): Promise<Sensor[]> => structuredClone(this.#state.sensors),
  };
  readonly hardware: HardwarePlatform;
  readonly time: TimePlatform;
  readonly tuning: TuningPlatform;
  readonly firewall: SimFirewall;
  readonly network: SimNetwork;
  readonly ssh: SimSsh;
  readonly certificate: CertificatePlatform;
  readonly systems = {
    list: async (): Promise<PlatformSystem[]> => structuredClone(this.#state.systems),
    activate: async (name: string): Promise<PlatformSystem[]> => {
      const chosen = this.#state.systems.find((one) => one.name === name);
      if (chosen === undefined) {
        const names = this.#state.systems.map((one) => one.name).join(', ');
        throw fail('not_found', `There is no system '${name}' on this machine.`, `The systems are ${names}.`);
      }
      if (chosen.obstacle !== '') {
        const why = `The system ${name} cannot be started: ${chosen.obstacle}`;
        throw fail('conflict', why, 'Choose another one.');
      }
      this.#state.systems = this.#state.systems.map((one) => ({ ...one, starts: one === chosen ? 'next' : 'no' }));
      this.#save();
      return structuredClone(this.#state.systems);
    },
  };
  readonly #clock: Clock;
  readonly #file: string | undefined;
  readonly #stepMs: number;
  readonly #boot = randomUUID();
  readonly #bootedAt: number;
  #state: SimState;
  /** Set by `slow`: how long every enumeration takes. */
  #delayMs = 0;
  #faults: PlatformFault[] = [];

  constructor(options: SimulationOptions) {
    this.#clock = options.clock;
    this.#file = options.file;
    this.#stepMs = options.stepMs ?? 600;
    this.#bootedAt = options.clock.now();
    this.#state = { ...initial(options.clock.now()), ...this.#load() };
    this.hardware = simHardware(() => this.#state.hardware, options.clock, this.#stepMs > 0 ? 1_000 : undefined);
    this.poolActions = new SimPools({
      clock: options.clock,
      machine: () => this.#state,
      save: () => this.#save(),
      // Long enough to be seen, short enough to be waited for.
      scanSeconds: options.scanSeconds ?? this.#stepMs / 100,
      stepMs: this.#stepMs,
      storaged: (action) => this.serviceAction('storaged', action),
    });
    this.datasets = new SimDatasets({
      clock: options.clock,
      state: () => this.#state.datasets,
      roots: () =>
        this.#state.pools.map((pool) => {
          const { name, bytes, allocated, telemetry, compression } = this.poolActions.describe(pool);
          return { name, bytes, allocated, telemetry, compression: compression ?? 'off' };
        }),
      rootsKey: () => this.#state.pools.map(({ name, telemetry }) => `${name} ${telemetry}`).join(),
      save: () => this.#save(),
      storaged: (action) => this.serviceAction('storaged', action),
    });
    this.time = simTime(
      () => this.#state.timeServers,
      () => this.#save(),
    );
    this.tuning = simTuning(
      () => this.#state.tuning,
      () => this.#save(),
    );
    this.firewall = new SimFirewall({
      state: () => this.#state.firewall,
      save: () => this.#save(),
      clock: options.clock,
    });
    this.network = new SimNetwork({
      state: () => this.#state.network,
      links: () => this.#state.links,
      save: () => this.#save(),
      clock: options.clock,
      program: options.certificates?.program,
    });
    this.certificate = simCertificate(options.certificates, () => this.#state.hostName);
    this.ssh = new SimSsh({ state: () => this.#state.ssh, save: () => this.#save() });
    this.replication = new SimReplication({
      tree: () => this.datasets.tree(),
      receive: (from, to, snapshots) => this.datasets.receive(from, to, snapshots),
      stepMs: this.#stepMs,
    });
  }

  #load(): SimState | undefined {
    if (this.#file === undefined) return undefined;
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as SimState;
    } catch {
      return undefined;
    }
  }

  #save(): void {
    if (this.#file === undefined) return;
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#state));
    renameSync(`${this.#file}.new`, this.#file);
  }

  async bootId(): Promise<string> {
    return this.#boot;
  }

  uptimeSeconds(): number {
    return (this.#clock.now() - this.#bootedAt) / 1000;
  }

  identity(): { hostName: string; timeZone: string } {
    return { hostName: this.#state.hostName, timeZone: this.#state.timeZone };
  }

  live(): string | null {
    return this.#state.live;
  }

  async disks(): Promise<PlatformDisk[]> {
    if (this.#delayMs > 0) await sleep(this.#delayMs, undefined, { ref: false });
    return this.poolActions.platformDisks();
  }

  async pools(): Promise<PlatformPool[]> {
    if (this.#delayMs > 0) await sleep(this.#delayMs, undefined, { ref: false });
    return this.poolActions.platformPools();
  }

  async rememberedPools(): Promise<readonly string[]> {
    return this.#state.pools.map(({ name }) => name).filter((name) => name !== this.systemPool);
  }

  async services(): Promise<Service[]> {
    return serviceFacts.map(({ name, title, description }, index) => {
      const { state, since, restarts, reason } = this.#state.services[name] as SimService;
      const up = state === 'online';
      return {
        name,
        title,
        description,
        state,
        since: iso(since),
        pid: up ? (name === 'akd' ? process.pid : 300 + index) : null,
        memoryBytes: up ? (name === 'akd' ? process.memoryUsage.rss() : (20 + 7 * index) * 2 ** 20) : null,
        cpuSeconds: up ? Math.round((this.#clock.now() - since) / 1000) / 50 : null,
        restarts,
        needs: name === 'storaged' ? ['pools'] : name === 'akd' ? ['identity', 'execd'] : [],
        reason,
        waitingFor: null,
      };
    });
  }

  async faults(): Promise<PlatformFault[]> {
    return this.#faults;
  }

  createPool(plan: PoolPlan, progress: Progress): Promise<void> {
    return this.poolActions.createPool(plan, progress);
  }

  async placeTelemetry(pool: string, progress: Progress): Promise<void> {
    progress('Making the telemetry dataset', null);
    if (this.#stepMs > 0) await sleep(this.#stepMs);
    const found = this.poolActions.pool(pool);
    for (const one of this.#state.pools) one.telemetry = one === found;
    this.#save();
  }

  async serviceAction(name: string, action: ServiceAction): Promise<void> {
    const service = this.#state.services[name];
    if (service === undefined) throw fail('not_found', `There is no service ${name}.`);
    service.state = action === 'stop' ? 'stopped' : 'online';
    service.since = this.#clock.now();
    service.reason = null;
    this.#save();
  }

  async setIdentity(hostName: string, timeZone: string): Promise<void> {
    this.#state.hostName = hostName;
    this.#state.timeZone = timeZone;
    this.#save();
  }

  async finishSetup(): Promise<void> {}

  async configureSnmp(): Promise<void> {}

  /** What was asked of it last; nothing is done. */
  powered: 'reboot' | 'off' | null = null;
  async power(action: 'reboot' | 'off'): Promise<void> {
    this.powered = action;
  }

  /**
   * Failures on demand: `reset`, `disk-remove {disk}`, `disk-return {disk}`, `disk-occupy {disk, occupant}`,
   * `disk-add {name, bytes}`, `disk-fault {pool, disk}`, `vanish-during-creation {disk}`, `pool-suspend {pool}`,
   * `pool-heal {pool}`, `pool-rot {pool, bytes}` (the next scrub repairs it),
   * `pool-damage {pool, files}`, `pool-elsewhere {pool}` (exported), `pool-outdated {pool}`, `pool-fill {pool, ratio}`, `scrub {pool}`, `resilver {pool, seconds}`,
   * `service {name, state, reason}`, `slow {milliseconds}`, `dataset-write {dataset, path, bytes, text}`,
   * `dataset-replicated {snapshot}`, `replication-cut {cut}` (the other machine cannot be reached), `dataset-generate {pool, datasets, snapshots}`,
   * `time-servers {lying, running}` (those that say another time; whether chrony runs), `time {…}` (what of a TimeSource is otherwise; `answeredAt` stays as it is from then on), `link {name, …}` (what of a link is
   * otherwise; one of a new name is added), `link-gone {name}`, `temperature {id, celsius}`, `hardware {…}` (what of SimHardwareState is otherwise),
   * `firewall-drop {address, protocol, port, packets}` (a sender that is turned away), `firewall-differs {rule}` (somebody has added it),
   * `firewall-ssh {on}`, `network-duplicate {address}` (another machine has it), `gateway {silent}`, `live {medium}` (the device it was started from; null: it is installed), `system {name, …}` (what of an installed system is otherwise).
   */
  async simulate(what: string, args: Record<string, unknown>): Promise<void> {
    const now = this.#clock.now();
    switch (what) {
      case 'reset':
        this.#state = initial(now);
        this.#delayMs = 0;
        this.#faults = [];
        this.poolActions.vanishing = null;
        break;
      case 'firewall-drop':
        this.#state.firewall.senders.unshift({ sinceSeconds: 60, ...(args as Omit<FirewallSender, 'sinceSeconds'>) });
        break;
      case 'firewall-differs':
        this.#state.firewall.differs = [`This rule was not made here: ${String(args.rule)}`];
        break;
      case 'network-duplicate':
        this.#state.network.duplicates = [String(args.address)];
        break;
      case 'gateway':
        this.#state.network.silent = args.silent === true;
        break;
      case 'firewall-ssh':
        this.#state.firewall.ssh = args.on === true;
        break;
      case 'replication-cut':
        this.replication.cut(args.cut === true);
        break;
      case 'disk-remove':
        this.poolActions.disk(args.disk).present = false;
        break;
      case 'disk-return':
        this.poolActions.disk(args.disk).present = true;
        break;
      case 'disk-occupy':
        this.poolActions.disk(args.disk).occupant = args.occupant === null ? null : String(args.occupant);
        break;
      case 'disk-add':
        this.#state.disks.push({ name: String(args.name), bytes: Number(args.bytes), present: true, occupant: null });
        break;
      case 'disk-fault':
        this.poolActions.pool(args.pool).faulted.push(this.poolActions.disk(args.disk).name);
        break;
      case 'vanish-during-creation':
        this.poolActions.vanishing = this.poolActions.disk(args.disk).name;
        break;
      case 'pool-suspend':
        this.poolActions.pool(args.pool).suspended = true;
        break;
      case 'pool-heal': {
        const pool = this.poolActions.pool(args.pool);
        pool.suspended = false;
        pool.faulted = [];
        pool.offline = [];
        pool.damaged = [];
        for (const { disks } of pool.vdevs) for (const name of disks) this.poolActions.disk(name).present = true;
        break;
      }
      case 'pool-rot':
        this.poolActions.pool(args.pool).rotten = Number(args.bytes);
        break;
      case 'pool-damage':
        this.poolActions.pool(args.pool).damaged = (args.files as unknown[]).map(String);
        break;
      case 'pool-elsewhere':
        for (const pool of this.#state.exported) pool.elsewhere = pool.name === args.pool;
        break;
      case 'pool-outdated':
        this.poolActions.pool(args.pool).upgradable = true;
        break;
      case 'pool-fill': {
        const pool = this.poolActions.pool(args.pool);
        pool.allocated = this.poolActions.describe(pool).bytes * Number(args.ratio);
        break;
      }
      case 'scrub':
        this.poolActions.begin(this.poolActions.pool(args.pool), 'scrub', 0);
        break;
      case 'resilver':
        this.poolActions.begin(this.poolActions.pool(args.pool), 'resilver', Number(args.seconds ?? 30));
        break;
      case 'service': {
        const service = this.#state.services[String(args.name)];
        if (service === undefined) throw fail('not_found', `There is no service ${String(args.name)}.`);
        service.state = args.state as Service['state'];
        service.since = now;
        service.reason = args.reason === undefined ? null : String(args.reason);
        break;
      }
      case 'service-ends': {
        // It is started again at once.
        const service = this.#state.services[String(args.name)];
        if (service === undefined) throw fail('not_found', `There is no service ${String(args.name)}.`);
        service.since = now;
        service.restarts++;
        break;
      }
      case 'faults':
        this.#faults = args.faults as PlatformFault[];
        break;
      case 'dataset-write':
        this.datasets.write(String(args.dataset), String(args.path), Number(args.bytes), String(args.text ?? ''));
        break;
      case 'dataset-replicated':
        this.datasets.replicated(String(args.snapshot));
        break;
      case 'dataset-generate':
        this.datasets.generate(String(args.pool), Number(args.datasets), Number(args.snapshots));
        break;
      case 'time':
        this.#state.time = { ...this.#state.time, always: false, answeredAt: now, ...args };
        break;
      case 'time-servers':
        Object.assign(this.#state.timeServers, args);
        break;
      case 'link': {
        const found = this.#state.links.find(({ name }) => name === args.name);
        const initial = {
          name: String(args.name),
          bond: false,
          member: null,
          enabled: true,
          carrier: true,
          megabits: 1000,
          mtu: 1500,
          mac: null,
          addresses: [],
        };
        if (found === undefined) this.#state.links.push({ ...initial, ...args });
        else Object.assign(found, args);
        break;
      }
      case 'link-gone':
        this.#state.links = this.#state.links.filter(({ name }) => name !== args.name);
        break;
      case 'hardware':
        Object.assign(this.#state.hardware, args);
        break;
      case 'live':
        this.#state.live = args.medium === null ? null : String(args.medium);
        break;
      case 'temperature': {
        const sensor = this.#state.sensors.find(({ id }) => id === args.id);
        if (sensor === undefined) throw fail('not_found', `There is no sensor ${String(args.id)}.`);
        Object.assign(sensor, { celsius: Number(args.celsius) });
        break;
      }
      case 'system': {
        const found = this.#state.systems.find(({ name }) => name === args.name);
        if (found === undefined) throw fail('not_found', `There is no system ${String(args.name)}.`);
        Object.assign(found, args);
        break;
      }
      case 'slow':
        this.#delayMs = Number(args.milliseconds);
        break;
      default:
        throw fail('not_found', `The simulation cannot do ${what}.`);
    }
    this.#save();
  }
}
