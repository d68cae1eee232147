// A value for each host, by one question to the store for all of them, and who is unlike its peers.

import { BY_HOST, hostOf } from '../../base/hosts.ts';
import { fail } from '../../base/problems/problem.ts';
import { ExpressionError, type Storaged } from '../../peers/storaged.ts';
import type { Hosts } from './hosts.ts';
import { WAITING, WAITING_LEAST } from './known.ts';
import { type Unlike, unlikePeers } from './peers.ts';
import type { HostValueQuery, HostValues } from './schema.ts';

const share = (value: number) => `${Math.round(value * 100)}%`;

interface Value {
  readonly value: number;
  readonly measure: string;
}

/** Many pages ask for the same. */
const KEPT_MS = 5_000;

export class HostValuesReader {
  readonly #parts: { readonly storaged: Pick<Storaged, 'queryBatch'>; readonly hosts: Hosts };
  readonly #kept = new Map<string, { at: number; values: Promise<ReadonlyMap<string, Value>> }>();

  constructor(parts: { storaged: Pick<Storaged, 'queryBatch'>; hosts: Hosts }) {
    this.#parts = parts;
  }

  async read(query: HostValueQuery): Promise<HostValues> {
    const values = await this.#valuesOf(query);
    const { hosts } = this.#parts;
    const groups = new Map<string, { words: string; peers: Map<string, number> }>();
    for (const [name, { value, measure }] of values) {
      const host = hosts.find(name);
      if (host === undefined) continue;
      const group = (query.group ?? []).map((label) => `${label}=${host.labels[label] ?? ''}`).join(', ');
      // What is measured otherwise cannot be compared.
      const key = `${measure}\n${group}`;
      const one = groups.get(key) ?? { words: group, peers: new Map<string, number>() };
      one.peers.set(name, value);
      groups.set(key, one);
    }
    const unlike = new Map<string, Unlike>();
    const waiting = query.metric === undefined;
    for (const { words, peers } of groups.values()) {
      for (const [name, one] of waiting ? unlikePeers(peers, words, WAITING_LEAST, share) : unlikePeers(peers, words))
        unlike.set(name, one);
    }
    const items = [...values]
      .filter(([name, { value }]) => Number.isFinite(value) && hosts.find(name) !== undefined)
      .map(([name, one]) => ({ name, ...one, unlike: unlike.get(name) ?? null }));
    return { items };
  }

  #valuesOf(query: HostValueQuery): Promise<ReadonlyMap<string, Value>> {
    const { metric, as = 'value', of = 'max' } = query;
    const key = JSON.stringify([metric, as, of]);
    const now = performance.now();
    for (const [other, { at }] of this.#kept) if (now - at > KEPT_MS) this.#kept.delete(other);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.values;
    const values = metric === undefined ? this.#waiting() : this.#metric(metric, as, of);
    this.#kept.set(key, { at: now, values });
    values.catch(() => this.#kept.delete(key));
    return values;
  }

  async #metric(metric: string, as: 'value' | 'rate', of: string): Promise<ReadonlyMap<string, Value>> {
    const selector = `{__name__=${JSON.stringify(metric)}}`;
    const expression = `${of} ${BY_HOST} (${as === 'rate' ? `rate(${selector}[2m])` : selector})`;
    const [answer] = await this.#ask([expression]);
    if (answer instanceof ExpressionError)
      throw fail('invalid_request', `The store refused ${expression}: ${answer.message}.`);
    // Exporters of one host become one value as its series do.
    const merge = {
      max: Math.max,
      min: Math.min,
      sum: (a: number, b: number) => a + b,
      avg: (a: number, b: number) => (a + b) / 2,
    };
    const values = this.#byHost(answer ?? [], merge[of as keyof typeof merge]);
    return new Map([...values].map(([name, value]) => [name, { value, measure: metric }]));
  }

  async #waiting(): Promise<ReadonlyMap<string, Value>> {
    const answers = await this.#ask(WAITING.map(({ expression }) => expression));
    const found = new Map<string, Value>();
    const measures = [...new Set(WAITING.map(({ measure }) => measure))];
    for (const measure of measures) {
      const ofMeasure = new Map<string, number>();
      WAITING.forEach((one, at) => {
        const answer = answers[at];
        if (one.measure !== measure || answer === undefined || answer instanceof ExpressionError) return;
        for (const [name, value] of this.#byHost(answer, Math.max))
          ofMeasure.set(name, Math.max(value, ofMeasure.get(name) ?? 0));
      });
      for (const [name, value] of ofMeasure) if (!found.has(name)) found.set(name, { value, measure });
    }
    return found;
  }

  #byHost(
    samples: readonly (readonly [string, number])[],
    merge: (a: number, b: number) => number,
  ): Map<string, number> {
    const values = new Map<string, number>();
    for (const [name, value] of samples) {
      if (Number.isNaN(value)) continue;
      const before = values.get(name);
      values.set(name, before === undefined ? value : merge(before, value));
    }
    return values;
  }

  /** Of each expression its values by host. */
  async #ask(expressions: readonly string[]): Promise<((readonly [string, number])[] | ExpressionError)[]> {
    const answers = await this.#parts.storaged.queryBatch(
      expressions.map((expression) => ({ expression, known: null })),
    );
    return answers.map((answer) => {
      if (answer === null)
        throw fail('service_unavailable', 'The store is too busy to answer for all hosts.', 'Try again.');
      if (answer instanceof ExpressionError) return answer;
      return (answer.labels ?? []).flatMap((labels, at) => {
        const name = hostOf(labels);
        return name === null ? [] : [[name, answer.values[at] as number] as const];
      });
    });
  }
}
