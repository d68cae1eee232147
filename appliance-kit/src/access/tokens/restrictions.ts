// What limits a token to a part: labels that are forced on what a writer sends, and the selector of what a viewer reads.

import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { TokenRole } from '../../http/gate/roles.ts';
import type { Storaged } from '../../peers/storaged.ts';

/** Forced labels, by their names. */
export type ForcedLabels = Readonly<Record<string, string>>;

export const MAX_LABELS = 10;
/** Those of the store, in bytes of UTF-8. */
const MAX_NAME = 256;
const MAX_VALUE = 2048;
/** With both, akd's answer to nginx stays well within what nginx reads of headers. */
const MAX_ENCODED = 3000;

/** As storaged reads them: names and values percent-encoded. */
export function encodedLabels(labels: ForcedLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => [encodeURIComponent(name), encodeURIComponent(value)]);
  return pairs.map((pair) => pair.join('=')).join('&');
}

function labelProblem(name: string, value: string): string | null {
  if (name === '__name__') return 'is the name of the metric, which each sender says itself';
  if (name.startsWith('__')) return 'begins with __, as only Prometheus’ own labels do';
  // Forced, all buckets of a histogram would be one.
  if (name === 'le' || name === 'quantile')
    return 'tells the parts of a histogram or a summary apart, and must stay as it is sent';
  if (name.trim() !== name || name === '') return 'must not be empty, nor begin or end with a space';
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) return 'must be text without control characters';
  if (Buffer.byteLength(name) > MAX_NAME) return `is too long: a label’s name may have ${MAX_NAME} bytes`;
  if (value === '') return 'has no value';
  if (!value.isWellFormed()) return 'has a value that is not well-formed text';
  if (Buffer.byteLength(value) > MAX_VALUE) return `has a value that is too long: it may have ${MAX_VALUE} bytes`;
  return null;
}

/** Throws what is wrong with labels that are to be forced. */
export function checkLabels(role: TokenRole, labels: ForcedLabels): void {
  const all = Object.entries(labels);
  if (all.length === 0) return;
  const refuse = (message: string, path = '/labels') =>
    fail('invalid_request', `The forced labels were refused: ${message}.`, undefined, [{ path, message }]);
  if (role !== 'writer') {
    throw refuse(`they are for tokens that only send, of the role writer; this one is ${role}`);
  }
  if (all.length > MAX_LABELS) throw refuse(`these are ${all.length}, and ${MAX_LABELS} is the limit`);
  for (const [name, value] of all) {
    const problem = labelProblem(name, value);
    const shown = name.toWellFormed().slice(0, 80);
    if (problem !== null) throw refuse(`“${shown}” ${problem}`, `/labels/${shown}`);
  }
  const bytes = encodedLabels(labels).length;
  if (bytes > MAX_ENCODED) {
    throw refuse(`together they are ${bytes} bytes when percent-encoded, and ${MAX_ENCODED} is the limit`);
  }
}

/** Throws what is wrong with a selector. The store is asked: it alone knows what it will accept. */
export async function checkSelector(role: TokenRole, selector: string | null, storaged: Storaged): Promise<void> {
  if (selector === null) return;
  const refuse = (message: string) =>
    fail('invalid_request', `The selector was refused: ${message}.`, 'Write it as {site="berlin"}.', [
      { path: '/selector', message },
    ]);
  if (role !== 'viewer') throw refuse(`it is for tokens that only read, of the role viewer; this one is ${role}`);
  if (!selector.isWellFormed()) throw refuse('it is not well-formed text');
  const bytes = encodeURIComponent(selector).length;
  if (bytes > MAX_ENCODED) throw refuse(`it is ${bytes} bytes when percent-encoded, and ${MAX_ENCODED} is the limit`);
  try {
    await storaged.checkSelector(selector);
  } catch (error) {
    const wrong = error instanceof ProblemError ? error.problem.errors?.find(({ path }) => path === '/selector') : null;
    throw wrong ? refuse(wrong.message) : error;
  }
}
