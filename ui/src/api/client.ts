// The client of the management API, made from its OpenAPI document. A call resolves to the answer or throws a Failure.
import createClient from 'openapi-fetch';
import { confirmed } from './confirmation.ts';
import { asProblem, Failure, problemIn } from './problem.ts';
import { answered, failed, partOf } from './reach.ts';
import type { components, paths } from './schema.d.ts';

export type Schemas = components['schemas'];

/** fetch that reports to `reach`, so that the frame knows which part is down, and asks for the password where that is needed. */
export async function reachingFetch(request: Request): Promise<Response> {
  const again = request.method === 'GET' ? null : request.clone();
  const response = await reachedBy(request);
  if (response.status !== 403 || again === null) return response;
  const body = await response
    .clone()
    .json()
    .catch(() => null);
  const problem = problemIn(403, body);
  if (problem.code !== 'confirmation_required' || !(await confirmed(problem.detail ?? ''))) return response;
  return reachedBy(again);
}

async function reachedBy(request: Request): Promise<Response> {
  const part = partOf(new URL(request.url).pathname);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if ((error as Error).name !== 'AbortError') failed(part, asProblem(error));
    throw error;
  }
  if (response.status >= 500) {
    const body = await response
      .clone()
      .json()
      .catch(() => null);
    failed(part, problemIn(response.status, body));
  } else {
    answered(part);
  }
  return response;
}

export const client = createClient<paths>({ baseUrl: '', fetch: reachingFetch });

type Answer<T> = { data?: T; error?: unknown; response: Response };

export async function answerOf<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw new Failure(problemIn(response.status, error));
  return data as T;
}
