// Errors that a client is shown. Made once, where the fact is known: what was tried, on what, what can be done.
import type { Problem } from './schema.ts';

/** Every code in use, with its HTTP status and its title. Codes are stable: the UI and scripts compare them. */
const kinds = {
  malformed_json: [400, 'The request is not readable JSON'],
  invalid_request: [400, 'The request is not valid'],
  unknown_field: [400, 'The request has a field that is not known'],
  unsupported_media_type: [415, 'The request is not JSON'],
  body_too_large: [413, 'The request is too large'],
  unauthenticated: [401, 'Not signed in'],
  wrong_credentials: [401, 'Name or password is wrong'],
  wrong_setup_code: [401, 'The set-up code is wrong'],
  forbidden: [403, 'Not allowed'],
  out_of_origin: [403, 'The request comes from another site'],
  not_found: [404, 'There is no such thing'],
  conflict: [409, 'That is not possible now'],
  pool_exists: [409, 'A pool of that name exists'],
  disk_in_use: [409, 'The disk is in use'],
  disk_too_small: [409, 'The disk is too small'],
  disk_missing: [409, 'The disk is not there'],
  dataset_in_use: [409, 'The dataset is in use'],
  out_of_space: [409, 'There is not enough space'],
  wrong_key: [409, 'The key is wrong'],
  setup_incomplete: [409, 'Set-up is not finished'],
  setup_done: [409, 'Set-up is done'],
  locked_out: [429, 'Too many failed attempts'],
  too_many: [429, 'Too many at once'],
  internal: [500, 'Something went wrong in the appliance'],
  command_failed: [502, 'A command failed'],
  service_unavailable: [503, 'A part of the appliance does not answer'],
  timeout: [504, 'It took too long'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof kinds;

export function problem(code: ProblemCode, detail: string, action?: string, errors?: Problem['errors']): Problem {
  const [status, title] = kinds[code];
  return { type: 'about:blank', title, status, code, detail, ...(action && { action }), ...(errors && { errors }) };
}

/** Thrown by whoever knows the fact; passed on unchanged until it is the answer. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(content: Problem) {
    super(content.detail);
    this.name = 'ProblemError';
    this.problem = content;
  }
}

export function fail(code: ProblemCode, detail: string, action?: string, errors?: Problem['errors']): ProblemError {
  return new ProblemError(problem(code, detail, action, errors));
}

/** What is known of any thrown value, as a problem. What was not meant for a client is not shown to one. */
export function asProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return problem(
    'internal',
    'The appliance could not do this because of an error of its own.',
    'Try again. If it happens again, make a support bundle: the log in it says more.',
  );
}

/** A problem document that another part of the appliance sent; what is none is said to be its fault. */
export function problemOf(document: unknown, from: string): ProblemError {
  const { status, title, code, detail } = (document ?? {}) as Record<string, unknown>;
  const complete = typeof status === 'number' && typeof title === 'string' && typeof code === 'string';
  if (complete && typeof detail === 'string') return new ProblemError(document as Problem);
  return fail('service_unavailable', `${from} answered with an error that cannot be read.`);
}
