// What storaged is asked about recording rules: it keeps and evaluates them; see docs/api/store.md.
import { ProblemError } from '../../base/problems/problem.ts';
import type { Peer } from '../../peers/peer.ts';

const PATH = '/admin/recording-rules';
const DEADLINE_MS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

export interface StoredRule {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly expression: string;
  readonly labels: Record<string, string> | null;
  readonly intervalSeconds: number;
  readonly description: string;
  readonly enabled: boolean;
}

/** Times are ISO 8601 ('' for never) and, where they are numbers, milliseconds; `moment` is in seconds, 0 for never. */
export interface EvaluatedRule extends StoredRule {
  readonly fixed: boolean;
  readonly state: {
    readonly evaluatedAt: string;
    readonly moment: number;
    readonly durationSeconds: number;
    readonly samples: number;
    readonly histograms: number;
    readonly error: string;
    readonly errorSince: string;
    readonly evaluations: number;
    readonly failures: number;
    readonly missed: number;
    readonly refused: { readonly reason: string; readonly detail: string; readonly samples: number } | null;
  };
  readonly fill: {
    readonly state: 'waiting' | 'running' | 'done' | 'cancelled' | 'failed';
    readonly from: number;
    readonly to: number;
    readonly next: number;
    readonly samples: number;
    readonly refused: number;
    readonly error: string;
    readonly startedAt: string;
    readonly endedAt: string;
  } | null;
}

export interface StoredPreview {
  readonly total: number;
  readonly series: {
    readonly labels: Record<string, string>;
    readonly value: number | null;
    readonly histogram: { readonly count: number | null; readonly sum: number | null } | null;
  }[];
  readonly sent: boolean;
}

export interface ReadFile {
  readonly rules: StoredRule[];
  readonly notTaken: { readonly line: number; readonly what: string; readonly reason: string }[];
}

/** What storaged says of one rule: the place in the list, the field, and the words. */
export interface Fault {
  readonly index: number;
  readonly field: string;
  readonly message: string;
}

/** Of a refusal; null when the error is another one. */
export function faultsOf(error: unknown): Fault[] | null {
  if (!(error instanceof ProblemError)) return null;
  const faults = (error.problem.errors ?? []).flatMap(({ path, message }) => {
    const [, index, field] = /^rules\/(-?\d+)\/(\w+)$/.exec(path) ?? [];
    return index === undefined || field === undefined ? [] : [{ index: Number(index), field, message }];
  });
  return faults.length === 0 ? null : faults;
}

export class StoredRules {
  readonly #peer: Peer;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  async #rules(method: 'GET' | 'PUT', json?: unknown): Promise<EvaluatedRule[]> {
    const request = {
      method,
      path: PATH,
      deadlineMs: DEADLINE_MS,
      maxBytes: MAX_BYTES,
      ...(json !== undefined && { json }),
    };
    return ((await this.#peer.call(request)) as { rules: EvaluatedRule[] }).rules;
  }

  list(): Promise<EvaluatedRule[]> {
    return this.#rules('GET');
  }

  /** All of the management service's rules, in order. */
  replace(rules: readonly StoredRule[]): Promise<EvaluatedRule[]> {
    return this.#rules('PUT', { rules });
  }

  async preview(rule: StoredRule, replaced: string): Promise<StoredPreview> {
    const request = { method: 'POST', path: `${PATH}/preview`, json: { rule, replaced }, deadlineMs: 30_000 } as const;
    return (await this.#peer.call(request)) as StoredPreview;
  }

  async readFile(text: string): Promise<ReadFile> {
    const request = { method: 'POST', path: `${PATH}/read-file`, json: { text }, deadlineMs: DEADLINE_MS } as const;
    return (await this.#peer.call(request)) as ReadFile;
  }

  async fill(id: string, fromSeconds: number): Promise<void> {
    const path = `${PATH}/${encodeURIComponent(id)}/fill`;
    await this.#peer.call({ method: 'POST', path, json: { fromSeconds }, deadlineMs: DEADLINE_MS });
  }

  async cancelFill(id: string): Promise<void> {
    const path = `${PATH}/${encodeURIComponent(id)}/fill`;
    await this.#peer.call({ method: 'DELETE', path, deadlineMs: DEADLINE_MS });
  }
}
