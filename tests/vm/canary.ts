// Samples that are sent one after the other, and which of them the store has acknowledged: those must be there whatever
// happens to the machine afterwards.
import assert from 'node:assert/strict';
import type { Person } from '../stack/api.ts';
import { until } from './until.ts';

export class Canaries {
  readonly acknowledged: { readonly time: number; readonly value: number }[] = [];
  #stop = false;
  readonly #sending: Promise<void>;

  /** Sends until the first one is not acknowledged, or `end` is called. */
  constructor(api: Person) {
    this.#sending = (async () => {
      for (let n = 0; !this.#stop; n++) {
        const time = Math.floor(Date.now() / 1000) - 600 + n;
        const reply = await api
          .ask('POST', '/api/v1/import', { samples: [{ name: 'canary', time, value: n }] })
          .catch(() => undefined);
        if (reply?.status !== 200) break;
        this.acknowledged.push({ time, value: n });
      }
    })();
  }

  async some(count = 60): Promise<void> {
    await until('some samples are acknowledged', 60, () => this.acknowledged.length >= count, 100);
  }

  async end(): Promise<void> {
    this.#stop = true;
    await this.#sending.catch(() => {});
  }

  /** Fails when one of them is not in the store any more. */
  async mustBeThere(api: Person): Promise<void> {
    const first = this.acknowledged[0] as { time: number };
    const last = this.acknowledged.at(-1) as { time: number };
    const range = await api.get<{ data: { result: { values: [number, string][] }[] } }>(
      'GET',
      `/api/v1/query_range?query=canary&start=${first.time}&end=${last.time}&step=1`,
    );
    const stored = new Map((range.data.result[0]?.values ?? []).map(([time, value]) => [time, Number(value)]));
    const lost = this.acknowledged.filter(({ time, value }) => stored.get(time) !== value);
    assert.deepEqual(lost, [], `${lost.length} of ${this.acknowledged.length} acknowledged samples are lost`);
  }
}
