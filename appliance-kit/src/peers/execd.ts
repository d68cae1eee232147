// The privileged verbs, as INTERFACES.md lists them. What may be done at all is execd's decision.
import type { VdevPlan } from '../disks/schema.ts';
import type { Peer } from './peer.ts';

interface Verbs {
  'pool.create': { name: string; vdevs: readonly VdevPlan[]; compression: string; ashift: number };
  'telemetry.place': { pool: string };
  'service.action': { service: string; action: 'start' | 'stop' | 'restart' };
  'system.identity': { hostName: string; timeZone: string };
  'setup.finish': Record<string, never>;
  power: { action: 'reboot' | 'off' };
}

/** Longer than execd's own deadlines, so that its word on what went wrong is the one that is heard. */
const DEADLINES_MS: Record<keyof Verbs, number> = {
  'pool.create': 5 * 60_000,
  'telemetry.place': 3 * 60_000,
  'service.action': 2 * 60_000,
  'system.identity': 30_000,
  'setup.finish': 30_000,
  power: 30_000,
};

export class Execd {
  readonly #peer: Peer;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  async run<V extends keyof Verbs>(verb: V, body: Verbs[V]): Promise<void> {
    await this.#peer.call({ method: 'POST', path: `/v1/${verb}`, json: body, deadlineMs: DEADLINES_MS[verb] });
  }
}
