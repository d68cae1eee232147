// What akd asks of tracerd. Its problems are passed on as they are: it knows the statistics and lists those there are.

import { ProblemError, problem } from '../base/problems/problem.ts';
import type { Peer, PeerRequest } from './peer.ts';
import type { Stacks, Statistic, StatisticDataset } from './statistics.ts';

const DEADLINE_MS = 10_000;
/** Folding ten minutes of stacks takes longer than anything else it does. */
const STACKS_DEADLINE_MS = 20_000;

export class Tracerd {
  readonly #peer: Peer;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  async #call<T>(request: Omit<PeerRequest, 'deadlineMs'>, deadlineMs = DEADLINE_MS): Promise<T> {
    try {
      return (await this.#peer.call({ ...request, deadlineMs })) as T;
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code !== 'service_unavailable') throw error;
      // What it means for who looks at a chart, before what is wrong with a socket.
      throw new ProblemError(
        problem(
          'service_unavailable',
          `Statistics of this machine are not being measured: ${error.problem.detail}`,
          'What was recorded before is still drawn. tracerd is restarted automatically; the reason is shown under Services.',
        ),
      );
    }
  }

  async statistics(): Promise<Statistic[]> {
    return (await this.#call<{ items: Statistic[] }>({ method: 'GET', path: '/v1/statistics' })).items;
  }

  async datasets(deadlineMs = DEADLINE_MS): Promise<StatisticDataset[]> {
    return (await this.#call<{ items: StatisticDataset[] }>({ method: 'GET', path: '/v1/datasets' }, deadlineMs)).items;
  }

  dataset(name: string): Promise<StatisticDataset> {
    return this.#call({ method: 'GET', path: `/v1/dataset?name=${encodeURIComponent(name)}` });
  }

  watch(name: string): Promise<StatisticDataset> {
    return this.#call({ method: 'POST', path: '/v1/dataset/watch', json: { name } });
  }

  record(name: string, recording: boolean): Promise<StatisticDataset> {
    return this.#call({ method: 'POST', path: '/v1/dataset/record', json: { name, recording } });
  }

  suspend(name: string): Promise<StatisticDataset> {
    return this.#call({ method: 'POST', path: '/v1/dataset/suspend', json: { name } });
  }

  resume(name: string): Promise<StatisticDataset> {
    return this.#call({ method: 'POST', path: '/v1/dataset/resume', json: { name } });
  }

  async destroy(name: string): Promise<void> {
    await this.#call({ method: 'DELETE', path: `/v1/dataset?name=${encodeURIComponent(name)}` });
  }

  stacks(name: string, seconds: number): Promise<Stacks> {
    const query = `name=${encodeURIComponent(name)}&seconds=${seconds}`;
    return this.#call({ method: 'GET', path: `/v1/stacks?${query}` }, STACKS_DEADLINE_MS);
  }
}
