// Reads the state of services from `systemctl show`; while none of their processes has changed, from their control groups,
// which costs no process.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, iso } from '../../base/clock.ts';
import type { Command } from '../command.ts';
import type { Service } from '../service.ts';
import { serviceFacts } from '../service-facts.ts';

/** Ours are named after the appliance; nginx and snmpd are Debian's own. */
export function unitOf(name: string): string {
  return name === 'nginx' || name === 'snmpd' ? `${name}.service` : `cistern-${name}.service`;
}

export const PROPERTIES =
  'Id,LoadState,ActiveState,SubState,Result,MainPID,MemoryCurrent,NRestarts,StateChangeTimestamp,ConditionResult,ExecMainStatus,CPUUsageNSec,Requires,Wants';

const CGROUPS = '/sys/fs/cgroup/system.slice';
/** What has no process to go by (the reason of a failure, what a unit needs) is asked for so often. */
const ASK_MS = 30_000;

/** systemd's results, as a person would put them. */
const RESULTS: Record<string, string> = {
  'exit-code': 'It ended with an error',
  signal: 'It was ended by a signal',
  'core-dump': 'It crashed',
  watchdog: 'It no longer answered and was ended',
  timeout: 'It took too long to start or to stop',
  'oom-kill': 'It was ended because memory ran out',
  'start-limit-hit': 'It failed too often and is not started again',
  resources: 'It could not be started for lack of resources',
};

function state(unit: Record<string, string>): Service['state'] {
  switch (unit.ActiveState) {
    case 'active':
      return 'online';
    case 'activating':
    case 'reloading':
      return 'starting';
    case 'failed':
      return unit.Result === 'start-limit-hit' ? 'maintenance' : 'failed';
    default:
      return 'stopped';
  }
}

function reason(unit: Record<string, string>): string | null {
  if (unit.LoadState === 'not-found') return 'It is not installed.';
  const words = RESULTS[unit.Result ?? ''];
  if (words === undefined) return null;
  if (unit.ActiveState === 'failed') {
    return `${words}${unit.Result === 'exit-code' ? ` (status ${unit.ExecMainStatus ?? '?'})` : ''}.`;
  }
  return unit.SubState === 'auto-restart' ? `${words} and is being restarted.` : null;
}

/** `@1732155678` with --timestamp=unix. */
function since(value: string | undefined): string | null {
  const seconds = Number((value ?? '').replace(/^@/, ''));
  return Number.isFinite(seconds) && seconds > 0 ? iso(seconds * 1000) : null;
}

const count = (value: string | undefined) => (/^\d+$/.test(value ?? '') ? Number(value) : 0);

/** Nanoseconds; 2^64-1 when they are not accounted. */
function cpu(value: string | undefined): number | null {
  const nanoseconds = count(value);
  return value === undefined || nanoseconds >= 2 ** 60 ? null : Math.round(nanoseconds / 1e6) / 1e3;
}

/** Those of the appliance's own, by the names that are shown; what every unit needs of systemd is left out. */
function needs(unit: Record<string, string>): string[] {
  const units = `${unit.Requires ?? ''} ${unit.Wants ?? ''}`.split(/\s+/);
  const ours = units.filter((one) => /^(cistern-.*|nginx|snmpd)\.service$/.test(one));
  return [...new Set(ours.map((one) => one.replace(/^cistern-/, '').replace(/\.service$/, '')))].sort();
}

export function parseServices(output: string): Service[] {
  const units = new Map<string, Record<string, string>>();
  for (const block of output.split(/\n\s*\n/)) {
    const unit: Record<string, string> = {};
    for (const line of block.split('\n')) {
      const at = line.indexOf('=');
      if (at > 0) unit[line.slice(0, at)] = line.slice(at + 1);
    }
    if (unit.Id !== undefined) units.set(unit.Id, unit);
  }
  return serviceFacts.map(({ name, title, description }) => {
    const unit = units.get(unitOf(name)) ?? { LoadState: 'not-found' };
    const memory = count(unit.MemoryCurrent);
    const stopped = state(unit) === 'stopped';
    return {
      name,
      title,
      description,
      state: state(unit),
      since: since(unit.StateChangeTimestamp),
      pid: count(unit.MainPID) || null,
      // 2^64-1: not accounted.
      memoryBytes: memory > 0 && memory < 2 ** 53 ? memory : null,
      cpuSeconds: cpu(unit.CPUUsageNSec),
      restarts: count(unit.NRestarts),
      needs: needs(unit),
      reason: reason(unit),
      waitingFor:
        stopped && (unit.ConditionResult === 'no' || name === 'storaged') && unit.LoadState !== 'not-found'
          ? name === 'storaged'
            ? 'a pool for telemetry'
            : 'a condition of its start'
          : null,
    };
  });
}

interface Usage {
  readonly running: boolean;
  readonly memoryBytes: number | null;
  readonly cpuSeconds: number | null;
}

export class LinuxServices {
  readonly #parts: { command: Command; clock: Clock; cgroups: string };
  #known: { at: number; services: readonly Service[]; usage: readonly Usage[] } | null = null;
  #forgotten = 0;

  /** @param parts.cgroups for tests */
  constructor(parts: { command: Command; clock: Clock; cgroups?: string }) {
    this.#parts = { cgroups: CGROUPS, ...parts };
  }

  /** The next answer is systemd's: something was done to a service. */
  forget(): void {
    this.#known = null;
    this.#forgotten++;
  }

  async read(): Promise<Service[]> {
    const known = this.#known;
    const forgotten = this.#forgotten;
    const at = this.#parts.clock.monotonic();
    if (known !== null && at - known.at < ASK_MS && known.services.every(settled)) {
      const usage = await this.#usage(known.services);
      const same = known.services.every(({ state }, index) => (state === 'online') === usage[index]?.running);
      if (same && this.#known === known) {
        return known.services.map((service, index) => updated(service, known.usage[index], usage[index]));
      }
    }
    const services = parseServices(
      await this.#parts.command('systemctl', [
        ...['show', '--timestamp=unix', `--property=${PROPERTIES}`],
        ...serviceFacts.map(({ name }) => unitOf(name)),
      ]),
    );
    const usage = await this.#usage(services);
    // What was asked before something was done is not kept.
    if (forgotten === this.#forgotten) this.#known = { at, services, usage };
    return services;
  }

  #usage(services: readonly Service[]): Promise<Usage[]> {
    return Promise.all(
      services.map(async ({ name, pid }) => {
        const file = (one: string) => readFile(join(this.#parts.cgroups, unitOf(name), one), 'utf8').catch(() => '');
        const [processes, memory, cpu] = await Promise.all([
          file('cgroup.procs'),
          file('memory.current'),
          file('cpu.stat'),
        ]);
        const pids = processes.split('\n').filter((line) => line !== '');
        const microseconds = /^usage_usec (\d+)$/m.exec(cpu)?.[1];
        return {
          // Another main process is a restart; a service that is stopped has none at all.
          running: pid === null ? pids.length > 0 : pids.includes(String(pid)),
          memoryBytes: count(memory.trim()) || null,
          cpuSeconds: microseconds === undefined ? null : Number(microseconds) / 1e6,
        };
      }),
    );
  }
}

/** systemd has nothing to do with it at present, and nothing is wrong. */
const settled = ({ state, reason }: Service) => reason === null && (state === 'online' || state === 'stopped');

/** systemd counts the processor's time from the start of the service, its control group perhaps from earlier on. */
function updated(service: Service, then: Usage | undefined, now: Usage | undefined): Service {
  const { cpuSeconds, memoryBytes } = service;
  const used = (now?.cpuSeconds ?? 0) - (then?.cpuSeconds ?? 0);
  return {
    ...service,
    memoryBytes: memoryBytes === null ? null : (now?.memoryBytes ?? memoryBytes),
    cpuSeconds: cpuSeconds === null ? null : Math.round((cpuSeconds + Math.max(0, used)) * 1e3) / 1e3,
  };
}
