// Errors that a client is shown. Made once, where the fact is known: what was tried, on what, what can be done.
import { type ProblemCode, problemKinds } from './codes.ts';
import type { Problem } from './schema.ts';

export type { ProblemCode } from './codes.ts';

export function problem(code: ProblemCode, detail: string, action?: string, errors?: Problem['errors']): Problem {
  const { status, title } = problemKinds[code];
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
