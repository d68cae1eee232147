// Reads the state of services from SMF: `svcprop -f -p restarter`, which has times to the nanosecond and no column that is
// cut off, unlike svcs(1); what they need from `svcprop -f`, memory and processor time of their contracts from ps(1).
// Written after svcprop(1), smf(7) and ps(1); not run on illumos yet.
import { iso } from '../../base/clock.ts';
import type { Service } from '../service.ts';
import { serviceFacts } from '../service-facts.ts';

/**
 * Every instance of ours. svcprop prints what it finds and ends with 1 when a pattern matches nothing or an instance has no such
 * group yet, so what it printed is taken all the same (`partial`).
 */
export const PATTERNS = ['svc:/application/cistern/*', 'svc:/network/cistern/*'];

export function fmriOf(name: string): string {
  return name === 'nginx' ? 'svc:/network/cistern/nginx:default' : `svc:/application/cistern/${name}:default`;
}

/** What svc.startd writes into restarter/auxiliary_state, as a person would put it. */
const REASONS: Record<string, string> = {
  administrative_request: 'An administrator put it into maintenance.',
  dependency_cycle: 'It depends on itself by way of other services.',
  fault_threshold_reached: 'It failed too often and is not started again.',
  invalid_dependency: 'It depends on something that cannot be.',
  invalid_restarter: 'Its restarter is not there.',
  method_failed: 'Its start method failed.',
  restarting_too_quickly: 'It ended again and again right after its start.',
  stop_method_failed: 'Its stop method failed.',
};

function stateOf(restarter: ReadonlyMap<string, string>): Service['state'] {
  const next = restarter.get('next_state') ?? 'none';
  switch (restarter.get('state')) {
    case 'online':
    case 'degraded':
      return 'online';
    case 'maintenance':
      return 'maintenance';
    case 'offline':
    case 'uninitialized':
      return next === 'online' || next === 'offline' ? 'starting' : 'stopped';
    default:
      return 'stopped';
  }
}

const count = (text: string | undefined) => (/^\d+$/.test(text ?? '') ? Number(text) : 0);

/** For `ps -e`: a line for each process. Each in an argument of its own, for what follows a `=` is a heading. */
export const PS_ARGUMENTS = ['-e', '-o', 'ctid=', '-o', 'rss=', '-o', 'time='];

export interface Use {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

/** `[[dd-]hh:]mm:ss`, as ps prints processor time; null: it is none. */
function seconds(text: string): number | null {
  const [, days, hours, minutes, rest] = /^(?:(?:(\d+)-)?(\d+):)?(\d+):(\d\d)$/.exec(text) ?? [];
  if (minutes === undefined) return null;
  return ((Number(days ?? 0) * 24 + Number(hours ?? 0)) * 60 + Number(minutes)) * 60 + Number(rest);
}

/** What the processes of each contract use together; pages that several share count for each. */
export function parseUse(output: string): Map<number, Use> {
  const contracts = new Map<number, Use>();
  for (const line of output.split('\n')) {
    const [contract = '', resident = '', time = ''] = line.trim().split(/\s+/);
    const cpuSeconds = seconds(time);
    if (!/^[1-9]\d*$/.test(contract) || !/^\d+$/.test(resident) || cpuSeconds === null) continue;
    const before = contracts.get(Number(contract)) ?? { memoryBytes: 0, cpuSeconds: 0 };
    contracts.set(Number(contract), {
      memoryBytes: before.memoryBytes + Number(resident) * 1024,
      cpuSeconds: before.cpuSeconds + cpuSeconds,
    });
  }
  return contracts;
}

/** What of the appliance's own each instance depends on, by the names that are shown: every property `entities`. */
export function parseNeeds(output: string): Map<string, string[]> {
  const needs = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const [, fmri, values] = /^(svc:\/\S+)\/:properties\/\S+\/entities fmri (.*)$/.exec(line) ?? [];
    if (fmri === undefined || values === undefined) continue;
    const ours = values.split(' ').map((one) => /^svc:\/\w+\/cistern\/([a-z]+)(:default)?$/.exec(one)?.[1]);
    const all = new Set([...(needs.get(fmri) ?? []), ...ours.filter((one) => one !== undefined)]);
    needs.set(fmri, [...all].sort());
  }
  return needs;
}

/**
 * Counts how often a service was started again: SMF does not. A start between two looks is one, however many there were;
 * what somebody asked for is none, and the count begins anew with it, as systemd's does.
 */
export class Restarts {
  readonly #known = new Map<string, { start: string; count: number }>();

  /** @param start differs with every start; null: it does not run, which keeps what was counted */
  look(service: string, start: string | null): number {
    const known = this.#known.get(service);
    if (start === null) return known?.count ?? 0;
    const count = known === undefined ? 0 : known.count + (known.start === start ? 0 : 1);
    this.#known.set(service, { start, count });
    return count;
  }

  forget(service: string): void {
    this.#known.delete(service);
  }
}

export interface ServiceFacts {
  readonly use: ReadonlyMap<number, Use>;
  /** By instance. */
  readonly needs: ReadonlyMap<string, readonly string[]>;
  readonly restarts: Restarts;
}

export function parseServices(output: string, known: ServiceFacts): Service[] {
  const instances = new Map<string, Map<string, string>>();
  for (const line of output.split('\n')) {
    const [, fmri, property, value] = /^(svc:\/\S+)\/:properties\/restarter\/(\S+) \S+ ?(.*)$/.exec(line) ?? [];
    if (fmri === undefined || property === undefined) continue;
    const properties = instances.get(fmri) ?? new Map<string, string>();
    instances.set(fmri, properties.set(property, value ?? ''));
  }
  return serviceFacts.map(({ name, title, description }) => {
    const restarter = instances.get(fmriOf(name));
    const needs = [...(known.needs.get(fmriOf(name)) ?? [])];
    const facts = { name, title, description, memoryBytes: null, cpuSeconds: null, restarts: 0, needs };
    if (restarter === undefined) {
      known.restarts.forget(name);
      const reason = 'It is not installed.';
      return { ...facts, state: 'stopped', since: null, pid: null, reason, waitingFor: null };
    }
    const state = stateOf(restarter);
    const auxiliary = restarter.get('auxiliary_state') ?? 'none';
    const changed = Number(restarter.get('state_timestamp'));
    const pid = state === 'online' ? count(restarter.get('start_pid')) || null : null;
    // Switched off is no failure: whoever starts it again begins anew.
    if (restarter.get('state') === 'disabled') known.restarts.forget(name);
    // A contract's number is not used again for long.
    const start = pid === null ? null : `${pid} ${restarter.get('contract') ?? ''}`;
    const used = state === 'online' ? known.use.get(count(restarter.get('contract'))) : undefined;
    const waits = restarter.get('state') === 'offline' && state === 'stopped';
    return {
      ...facts,
      ...used,
      restarts: known.restarts.look(name, start),
      state,
      since: changed > 0 ? iso(Math.floor(changed * 1000)) : null,
      // That of the method: of a child service it is the daemon itself.
      pid,
      reason: REASONS[auxiliary] ?? (state === 'maintenance' ? 'It failed; its log says why.' : null),
      // cistern/pools disables the store for as long as there is no dataset for it.
      waitingFor:
        name === 'storaged' && state === 'stopped' ? 'a pool for telemetry' : waits ? 'a service it depends on' : null,
    };
  });
}
