// One place where errors become texts. Everything that fails throws a Failure, and every Failure holds a
// problem document, whether the appliance sent one or the request never got there.
import type { components } from './schema.d.ts';

export type Problem = components['schemas']['Problem'];

export class Failure extends Error {
  readonly problem: Problem;
  /** Loads the current values into the form, when somebody else has changed them (edits.ts). */
  load?: () => Promise<void>;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = 'Failure';
    this.problem = problem;
  }
}

/** Codes this file makes itself, beside those of the contract. */
const UNREACHABLE: Problem = {
  type: 'about:blank',
  title: 'The appliance does not answer',
  status: 0,
  code: 'unreachable',
  detail: 'The request did not reach the appliance, or its answer did not come back.',
  action: 'Check the network between this browser and the appliance.',
};

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'code' in value && 'title' in value;
}

/** The problem in an answer: ours as it came, Prometheus' envelope, or what the bare status says. */
export function problemIn(status: number, body: unknown): Problem {
  if (isProblem(body)) return body;
  const prometheus = body as { errorType?: string; error?: string } | null | undefined;
  if (typeof prometheus?.error === 'string') {
    return {
      type: 'about:blank',
      title: prometheus.errorType === 'bad_data' ? 'The expression cannot be read' : 'The query failed',
      status,
      code: prometheus.errorType ?? 'query_failed',
      detail: prometheus.error,
    };
  }
  const gone = status === 502 || status === 503 || status === 504;
  return {
    type: 'about:blank',
    title: gone ? 'A part of the appliance does not answer' : 'The request failed',
    status,
    code: gone ? 'service_unavailable' : 'unknown',
    detail: `The appliance answered with status ${status}.`,
  };
}

/** Any thrown value as a problem. `fetch` throws a TypeError when there was no answer at all. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Failure) return error.problem;
  if (error instanceof TypeError) return UNREACHABLE;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: 'about:blank', title: 'Something went wrong in this page', status: 0, code: 'page', detail };
}

/** The message that belongs beside a field, if the problem has one for it. `path` is a JSON pointer: `/email/host`. */
export function fieldMessage(problem: Problem | null | undefined, path: string): string | undefined {
  const found = problem?.errors?.find((error) => error.path === path);
  if (found === undefined) return undefined;
  const text = found.message;
  // The appliance says "is missing", "must be …": it means the field, and stands under it.
  return text.charAt(0).toUpperCase() + text.slice(1);
}
