// Whether a password is good enough, and if not, why: @zxcvbn-ts estimates how many guesses it takes. Its lists of words
// are several megabytes, so they are read in a thread of their own, which ends a little later.
import { Worker } from 'node:worker_threads';

export const SHORTEST_PASSWORD = 10;
/** From 0 to 4: 3 stands for 10⁸ guesses and more. */
const LEAST_SCORE = 3;
const IDLE_MS = 10_000;
/** A slow processor that has much to do takes its time; nginx waits a minute. */
const LONGEST_WAIT_MS = 40_000;
/** So long that it need not be estimated. */
const SURELY_LONG_ENOUGH = 16;

/** What the thread answers. */
export interface Estimate {
  readonly score: number;
  readonly warning: string | null;
  readonly suggestions: readonly string[];
}

/** What it is asked. `inputs` are words that whoever guesses would try first. */
export interface Question {
  readonly id: number;
  readonly password: string;
  readonly inputs: readonly string[];
}

const bundled = !import.meta.url.endsWith('.ts');
const program = () => new URL(bundled ? './password-strength.js' : './strength-thread.ts', import.meta.url);

interface Thread {
  readonly worker: Worker;
  readonly asked: Map<number, { resolve: (estimate: Estimate) => void; reject: (error: Error) => void }>;
  idle: NodeJS.Timeout | undefined;
}

let thread: Thread | undefined;
let lastId = 0;

function begin(): Thread {
  const worker = new Worker(program(), { resourceLimits: { maxOldGenerationSizeMb: 128 } });
  const made: Thread = { worker, asked: new Map(), idle: undefined };
  const failed = (error: Error) => {
    if (thread === made) thread = undefined;
    for (const { reject } of made.asked.values()) reject(error);
    made.asked.clear();
  };
  worker.on('message', ({ id, ...estimate }: Estimate & { id: number }) => {
    made.asked.get(id)?.resolve(estimate);
    made.asked.delete(id);
    if (made.asked.size === 0) {
      made.idle = setTimeout(() => {
        if (thread === made) thread = undefined;
        void worker.terminate();
      }, IDLE_MS).unref();
    }
  });
  worker.on('error', failed);
  worker.on('exit', () => failed(new Error('the thread that estimates passwords has ended')));
  worker.unref();
  return made;
}

async function estimate(password: string, inputs: readonly string[]): Promise<Estimate> {
  thread ??= begin();
  const asked = thread;
  clearTimeout(asked.idle);
  const id = ++lastId;
  // While somebody waits the process must not end.
  asked.worker.ref();
  let late: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Estimate>((resolve, reject) => {
      late = setTimeout(() => reject(new Error('estimating a password took too long')), LONGEST_WAIT_MS);
      asked.asked.set(id, { resolve, reject });
      asked.worker.postMessage({ id, password, inputs } satisfies Question);
    });
  } finally {
    clearTimeout(late);
    if (asked.asked.size === 0) asked.worker.unref();
  }
}

/**
 * What is wrong with a password, in words that follow “The password”; null when it is good enough.
 *
 * @param inputs what whoever guesses would try first: the user's name, the host's
 */
export async function passwordProblem(password: string, inputs: readonly string[]): Promise<string | null> {
  const length = [...password].length;
  if (length < SHORTEST_PASSWORD) return `must have at least ${SHORTEST_PASSWORD} characters; it has ${length}`;
  if (inputs.some((one) => one.toLowerCase() === password.toLowerCase())) return 'must not be a name';
  let found: Estimate;
  try {
    found = await estimate(password, [...inputs, 'cistern']);
  } catch {
    // Nobody is kept from setting the appliance up because the machine is too busy for that.
    if (length >= SURELY_LONG_ENOUGH) return null;
    return `could not be examined, because the appliance is busy. Take one of ${SURELY_LONG_ENOUGH} characters or more, or try again`;
  }
  const { score, warning, suggestions } = found;
  if (score >= LEAST_SCORE) return null;
  const sentences = [warning, ...suggestions].filter((one): one is string => one !== null && one !== '');
  const why = sentences.map((one) => one.replace(/\.$/, '')).join('. ');
  return `is easy to guess. ${why || 'Make it longer, of words that do not belong together'}`;
}
