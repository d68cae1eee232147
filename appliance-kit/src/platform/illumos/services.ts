// Reads the state of services from SMF: `svcprop -f -p restarter`, which has times to the nanosecond and no column that is
// cut off, unlike svcs(1). Written after svcprop(1) and smf(7); not run on illumos yet.
import { iso } from '../../clock.ts';
import { serviceFacts } from '../../services/catalogue.ts';
import type { Service } from '../../services/schema.ts';

/** Every instance of ours, so that one that is not there is no error of the command. */
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

export function parseServices(output: string): Service[] {
  const instances = new Map<string, Map<string, string>>();
  for (const line of output.split('\n')) {
    const [, fmri, property, value] = /^(svc:\/\S+)\/:properties\/restarter\/(\S+) \S+ ?(.*)$/.exec(line) ?? [];
    if (fmri === undefined || property === undefined) continue;
    const properties = instances.get(fmri) ?? new Map<string, string>();
    instances.set(fmri, properties.set(property, value ?? ''));
  }
  return serviceFacts.map(({ name, title, description }) => {
    const restarter = instances.get(fmriOf(name));
    const facts = { name, title, description, memoryBytes: null, cpuSeconds: null, restarts: 0, needs: [] };
    if (restarter === undefined) {
      const reason = 'It is not installed.';
      return { ...facts, state: 'stopped', since: null, pid: null, reason, waitingFor: null };
    }
    const state = stateOf(restarter);
    const auxiliary = restarter.get('auxiliary_state') ?? 'none';
    const seconds = Number(restarter.get('state_timestamp'));
    const waits = restarter.get('state') === 'offline' && state === 'stopped';
    return {
      ...facts,
      state,
      since: seconds > 0 ? iso(Math.floor(seconds * 1000)) : null,
      // That of the method: of a child service it is the daemon itself.
      pid: state === 'online' ? count(restarter.get('start_pid')) || null : null,
      reason: REASONS[auxiliary] ?? (state === 'maintenance' ? 'It failed; its log says why.' : null),
      // cistern/pools disables the store for as long as there is no dataset for it.
      waitingFor:
        name === 'storaged' && state === 'stopped' ? 'a pool for telemetry' : waits ? 'a service it depends on' : null,
    };
  });
}
