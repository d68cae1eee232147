// Replication of the simulated machine: to its own datasets, and to one other machine, `backup.example`, that keeps what
// it is sent in memory. Sending takes its time, an interruption keeps what has arrived, and what is not from here stays.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, problemOf } from '../../base/problems/problem.ts';
import type { PlatformTree } from '../datasets.ts';
import type {
  AcceptedSender,
  ReplicationIdentity,
  ReplicationPlatform,
  ReplicationTarget,
  SendOrder,
  SendProgress,
  Sent,
  TargetLook,
} from '../replication.ts';

/** The other machine: it answers under this name only. */
export const OTHER_HOST = 'backup.example';
const OTHER_UNDER = 'vault/received';
/** However much there is, it takes so many steps: long enough to be seen and cut. */
const STEPS = 20;

const hostKeyOf = (host: string) => ({
  hostKey: `ssh-ed25519 ${Buffer.from(`simulated ${host}`).toString('base64')}`,
  fingerprint: `SHA256:${createHash('sha256').update(host).digest('base64').replace(/=+$/, '')}`,
});

export interface SimReplicationParts {
  readonly tree: () => Promise<PlatformTree>;
  /** A received dataset appears with its snapshots, as the source's are. */
  readonly receive: (from: string, to: string, snapshots: readonly string[]) => void;
  readonly stepMs: number;
}

export class SimReplication implements ReplicationPlatform {
  readonly #parts: SimReplicationParts;
  /** By dataset, the snapshots of the other machine: `source@name` stands for the guid. */
  readonly #there = new Map<string, { snapshots: string[]; partial: number }>();
  readonly #may = new Map<string, { send: boolean; receive: boolean }>();
  #accepting: { port: number; senders: readonly AcceptedSender[] } = { port: 0, senders: [] };
  #cut = false;

  constructor(parts: SimReplicationParts) {
    this.#parts = parts;
  }

  async identity(): Promise<ReplicationIdentity> {
    const own = hostKeyOf('this appliance');
    const host = hostKeyOf('this appliance’s host');
    return {
      publicKey: own.hostKey,
      fingerprint: own.fingerprint,
      hostKey: host.hostKey,
      hostFingerprint: host.fingerprint,
      port: this.#accepting.port,
      failure: '',
    };
  }

  #reach(host: string, port: number): void {
    if (host === OTHER_HOST && !this.#cut) return;
    throw problemOf(
      {
        type: 'about:blank',
        title: 'The target cannot be reached',
        status: 502,
        code: 'unreachable',
        detail: `${host}:${port} cannot be reached: it does not answer.`,
        action: 'Is it switched on, is the port the right one, and does a firewall let it through?',
      },
      'the simulation',
    );
  }

  async hostKey(host: string, port: number): Promise<{ hostKey: string; fingerprint: string }> {
    this.#reach(host, port);
    return hostKeyOf(host);
  }

  async #at(target: ReplicationTarget): Promise<{ snapshots: readonly string[]; partial: number } | undefined> {
    if (target.kind === 'ssh') {
      this.#reach(target.host ?? '', target.port ?? 0);
      return this.#there.get(target.dataset);
    }
    const tree = await this.#parts.tree();
    if (!tree.datasets.some(({ name }) => name === target.dataset)) return undefined;
    return this.#there.get(`here ${target.dataset}`) ?? { snapshots: [], partial: 0 };
  }

  async look(target: ReplicationTarget): Promise<TargetLook> {
    const found = await this.#at(target);
    return {
      cistern: target.kind === 'ssh' ? { product: 'Cistern', version: 'simulated', under: OTHER_UNDER } : null,
      dataset: {
        exists: found !== undefined,
        partial: (found?.partial ?? 0) > 0,
        snapshots: (found?.snapshots ?? []).map((name) => ({ name: name.split('@')[1] as string, guid: name })),
      },
    };
  }

  async allow(dataset: string, may: { send: boolean; receive: boolean }): Promise<void> {
    this.#may.set(dataset, may);
  }

  async send(order: SendOrder, onProgress: (progress: SendProgress) => void, signal: AbortSignal): Promise<Sent> {
    onProgress({ phase: 'looking', text: 'Looking for the newest snapshot that both sides have', sent: 0 });
    const { datasets, snapshots } = await this.#parts.tree();
    const source = datasets.find(({ name }) => name === order.dataset);
    if (source === undefined) throw fail('not_found', `There is no dataset “${order.dataset}”.`);
    if (![...this.#may].some(([name, { send }]) => send && `${order.dataset}/`.startsWith(`${name}/`))) {
      throw fail('forbidden', `Nothing of “${order.dataset}” may be sent.`);
    }
    const there = await this.#at(order.target);
    const ours = snapshots.filter(({ dataset }) => dataset === order.dataset).map(({ name }) => name);
    const upTo = ours.slice(0, ours.indexOf(`${order.dataset}@${order.snapshot}`) + 1);
    const last = there?.snapshots.at(-1);
    if (there !== undefined && there.partial === 0 && (last === undefined || !upTo.includes(last))) {
      throw problemOf(
        {
          type: 'about:blank',
          title: 'The target holds something else',
          status: 409,
          code: 'no_common_snapshot',
          detail: `'${order.target.dataset}' exists at the target and has no snapshot in common with '${order.dataset}'.`,
          action:
            'Nothing was changed there. Choose a target that does not exist yet; or rename the one there, so that everything is sent again.',
        },
        'the simulation',
      );
    }
    const key = order.target.kind === 'here' ? `here ${order.target.dataset}` : order.target.dataset;
    const total = Math.max(source.referenced, 1_000_000);
    const resumed = (there?.partial ?? 0) > 0;
    let sent = there?.partial ?? 0;
    const text = last === undefined ? 'Sending everything' : `Sending what changed since “${last.split('@')[1]}”`;
    const step = Math.ceil(total / STEPS);
    while (sent < total) {
      onProgress({ phase: resumed ? 'resuming' : 'sending', text, sent, total });
      await sleep(Math.max(this.#parts.stepMs / 4, 10), undefined, { ref: false });
      if (this.#cut || signal.aborted) {
        if (sent > 0) this.#there.set(key, { snapshots: [...(there?.snapshots ?? [])], partial: sent });
        throw problemOf(
          {
            type: 'about:blank',
            title: 'The connection was lost',
            status: 502,
            code: 'interrupted',
            detail: 'The connection to the target was lost.',
            action: 'What has arrived is kept there; the next run goes on from it.',
          },
          'the simulation',
        );
      }
      sent = Math.min(total, sent + step);
    }
    const arrived = order.intermediate ? upTo : [`${order.dataset}@${order.snapshot}`];
    this.#there.set(key, { snapshots: [...new Set([...(there?.snapshots ?? []), ...arrived])], partial: 0 });
    if (order.target.kind === 'here') this.#parts.receive(order.dataset, order.target.dataset, arrived);
    return { bytes: total, from: last?.split('@')[1] ?? '', resumed, nothing: false };
  }

  async accept(port: number, senders: readonly AcceptedSender[]): Promise<void> {
    this.#accepting = { port, senders };
  }

  /** The cable to the other machine. */
  cut(cut: boolean): void {
    this.#cut = cut;
  }
}
