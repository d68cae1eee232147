// ./build.sh bench access: what it takes to get in, and what asking who somebody is adds to a request. Real nginx, akd and
// storaged over the simulated platform.
// Nothing here passes or fails: the figures are read by people.
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { administrator, setUp } from '../stack/api.ts';
import { Stack } from '../stack/stack.ts';

const REPEATS = 20;
const FLOOD = 10_000;
const ADDRESSES = 100;
const AT_ONCE = 32;

const row = (what: string, measured: string, asked = '') =>
  console.log(`${what.padEnd(66)} ${measured.padStart(34)}${asked && `   (asked: ${asked})`}`);
const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number;
const ms = (times: readonly number[]) => `${median(times).toFixed(1)} ms, worst ${Math.max(...times).toFixed(1)} ms`;

const stack = new Stack();
await stack.start();
const person = await setUp(stack);
const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 1 });

/** The status, over a connection that is kept unless an address of this machine is named. */
function send(path: string, body?: object, from?: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const text = body && JSON.stringify(body);
    const asked = https.request(
      new URL(path, stack.url),
      {
        method: text === undefined ? 'GET' : 'POST',
        rejectUnauthorized: false,
        ...(from === undefined ? { agent } : { agent: false, localAddress: from }),
        headers: { ...headers, origin: stack.url, ...(text && { 'content-type': 'application/json' }) },
      },
      (reply) => reply.resume().on('end', () => resolve(reply.statusCode ?? 0)),
    );
    asked.on('error', reject);
    asked.end(text);
  });
}

async function timed(times: number, what: (n: number) => Promise<unknown>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const began = performance.now();
    await what(n);
    found.push(performance.now() - began);
  }
  return found;
}

const right = { user: administrator.name, password: administrator.password };
const signIn = (from?: string) => send('/api/session', right, from);

try {
  row('signing in', ms(await timed(REPEATS, () => signIn())));
  const guess = (user: string) => (n: number) =>
    send('/api/session', { user, password: `wrong ${n}` }, `127.0.1.${1 + Math.floor(n / 5)}`);
  const known = await timed(5, guess(administrator.name));
  const unknown = await timed(5, (n) => guess('nobody')(n + 5));
  row('a wrong password of a user that is there, first five of an address', ms(known));
  row('the same of one that is not there', ms(unknown), 'the same');

  const { token } = await person.get<{ token: string }>('POST', '/api/tokens', { name: 'bench', role: 'viewer' });
  const authorization = { authorization: `Bearer ${token}` };
  const query = '/api/v1/query?query=vector(1)';
  const first = await timed(1, () => send(query, undefined, undefined, authorization));
  const again = await timed(200, () => send(query, undefined, undefined, authorization));
  row('a query with a token that nginx has not asked about', `${first[0]?.toFixed(1)} ms`);
  row('the same with its answer kept, 200 times', ms(again));
  row(
    'a request that akd answers itself, with a token',
    ms(await timed(200, () => send('/api/status', undefined, undefined, authorization))),
  );

  let [left, refusedEarly] = [FLOOD, 0];
  const began = performance.now();
  const flood = Array.from({ length: AT_ONCE }, async () => {
    while (left > 0) {
      left -= 1;
      const n = left;
      const status = await send(
        '/api/session',
        { user: administrator.name, password: `${n}` },
        `127.0.2.${1 + (n % ADDRESSES)}`,
      );
      if (status === 429) refusedEarly += 1;
    }
  });
  const during: number[] = [];
  while (left > 0) {
    const [time] = await timed(1, async () => {
      const status = await signIn('127.0.3.1');
      if (status !== 200) throw new Error(`the right password was answered with ${status}`);
    });
    during.push(time as number);
    await sleep(200);
  }
  await Promise.all(flood);
  const seconds = (performance.now() - began) / 1000;
  row(
    `the right password while ${FLOOD.toLocaleString('en-US')} wrong ones come from ${ADDRESSES} addresses`,
    ms(during),
    'answered',
  );
  row(
    'of the wrong ones, refused before hashing',
    `${((100 * refusedEarly) / FLOOD).toFixed(1)} %, ${(FLOOD / seconds).toFixed(0)} a second`,
  );
} finally {
  agent.destroy();
  await stack.stop();
}
