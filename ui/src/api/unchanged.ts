// What is asked again and again, and seldom changes: the answer that is here is named by its ETag, and the appliance sends it
// again only when it is another by now.
import { Failure, problemIn } from './problem.ts';

interface Known {
  readonly etag: string;
  readonly data: unknown;
}

/** Of as many questions as a page has open, and those of the pages before it. */
const MOST = 30;
const known = new Map<string, Known>();

/** Nothing that one user read may be shown to the next. */
export function forgetAnswers(): void {
  known.clear();
}

export type KnownAnswer = { 'If-None-Match'?: string };
type Answer<T> = { data?: T; error?: unknown; response: Response };

/** @param question the same for the same answer */
export async function answerIfChanged<T>(
  question: string,
  ask: (header: KnownAnswer) => Promise<Answer<T>>,
): Promise<T> {
  const before = known.get(question);
  const { data, error, response } = await ask(before === undefined ? {} : { 'If-None-Match': before.etag });
  if (response.status === 304 && before !== undefined) return before.data as T;
  if (!response.ok) throw new Failure(problemIn(response.status, error));
  const etag = response.headers.get('etag');
  known.delete(question);
  if (etag !== null) known.set(question, { etag, data });
  for (const oldest of [...known.keys()].slice(0, -MOST)) known.delete(oldest);
  return data as T;
}
