// Replication of a real machine: replicd carries streams, execd lets it.
import { createInterface } from 'node:readline';
import { fail, problemOf } from '../../base/problems/problem.ts';
import type { Peer } from '../../peers/peer.ts';
import type { Execd } from '../execd.ts';
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

/** Longer than replicd's own deadline for reaching another machine. */
const REACH_MS = 60_000;

export class ZfsReplication implements ReplicationPlatform {
  readonly #replicd: Peer;
  readonly #execd: Execd;

  constructor(parts: { replicd: Peer; execd: Execd }) {
    this.#replicd = parts.replicd;
    this.#execd = parts.execd;
  }

  async identity(): Promise<ReplicationIdentity> {
    return (await this.#replicd.call({
      method: 'GET',
      path: '/v1/identity',
      deadlineMs: 5_000,
    })) as ReplicationIdentity;
  }

  async hostKey(host: string, port: number): Promise<{ hostKey: string; fingerprint: string }> {
    const json = { host, port };
    return (await this.#replicd.call({ method: 'POST', path: '/v1/host', json, deadlineMs: REACH_MS })) as {
      hostKey: string;
      fingerprint: string;
    };
  }

  async look(target: ReplicationTarget): Promise<TargetLook> {
    const json = { target };
    return (await this.#replicd.call({ method: 'POST', path: '/v1/look', json, deadlineMs: REACH_MS })) as TargetLook;
  }

  async allow(dataset: string, may: { send: boolean; receive: boolean }): Promise<void> {
    await this.#execd.run('replication.allow', { dataset, ...may });
  }

  async send(order: SendOrder, onProgress: (progress: SendProgress) => void, signal: AbortSignal): Promise<Sent> {
    const { content } = await this.#replicd.open({ path: '/v1/send', json: order, deadlineMs: REACH_MS });
    // Going away is how it is cancelled.
    const stop = () => content.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) stop();
      for await (const line of createInterface({ input: content, crlfDelay: Number.POSITIVE_INFINITY })) {
        const said = JSON.parse(line) as { progress?: SendProgress; sent?: Sent; problem?: unknown };
        if (said.progress !== undefined) onProgress(said.progress);
        if (said.sent !== undefined) return said.sent;
        if (said.problem !== undefined) throw problemOf(said.problem, 'replicd');
      }
    } finally {
      signal.removeEventListener('abort', stop);
      content.destroy();
    }
    throw fail(
      'service_unavailable',
      signal.aborted ? 'It was cancelled.' : 'replicd ended while it was replicating.',
      'What has arrived is kept at the target; the next run goes on from it.',
    );
  }

  async accept(port: number, senders: readonly AcceptedSender[]): Promise<void> {
    const json = { port, senders };
    await this.#replicd.call({ method: 'PUT', path: '/v1/accept', json, deadlineMs: 10_000 });
  }
}
