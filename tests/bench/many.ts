// Many browsers at one page: what one browser asks for there is recorded, and asked for by as many programs beside it, each
// with a stream of events of its own. A browser for each would measure browsers.
import { Agent, get } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { ask } from '../stack/http.ts';

const RECORDED_MS = 10_000;
const ROUNDS = 2;

interface Recorded {
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
}

/** How long each answer took in milliseconds, and how many bytes all had, while `count` browsers are at the address. */
export async function openMany(page: Page, address: string, count: number) {
  await page.goto(address);
  await page.waitForLoadState('load');
  const began = performance.now();
  const recorded: Recorded[] = [];
  const note = (request: { method(): string; url(): string; postData(): string | null }) => {
    if (!new URL(request.url()).pathname.startsWith('/api/events'))
      recorded.push({
        ...{ at: performance.now() - began, method: request.method() },
        ...{ url: request.url(), body: request.postData() },
      });
  };
  page.on('request', note);
  await sleep(RECORDED_MS);
  page.off('request', note);
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const { origin } = new URL(address);
  const common = { cookie, origin, 'accept-encoding': 'gzip' };

  const times: number[] = [];
  let bytes = 0;
  const ending = new AbortController();
  const client = async (first: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 6, rejectUnauthorized: false });
    const tags = new Map<string, string>();
    const stream = get(`${origin}/api/events`, { agent, headers: common, signal: ending.signal }, (response) =>
      response.on('data', () => {}).on('error', () => {}),
    ).on('error', () => {});
    await sleep(first);
    const start = performance.now();
    for (let round = 0; round < ROUNDS; round++)
      await Promise.all(
        recorded.map(async ({ at, method, url, body }) => {
          await sleep(Math.max(0, round * RECORDED_MS + at - (performance.now() - start)));
          const tag = tags.get(url);
          const headers = {
            ...common,
            ...(body !== null && { 'content-type': 'application/json' }),
            ...(tag !== undefined && { 'if-none-match': tag }),
          };
          const asked = performance.now();
          const reply = await ask(new URL(url), { method, headers, agent, ...(body !== null && { body }) });
          times.push(performance.now() - asked);
          bytes += reply.bytes;
          if (reply.status >= 400) throw new Error(`${method} ${url}: ${reply.status}`);
          if (reply.headers.etag !== undefined) tags.set(url, reply.headers.etag);
        }),
      );
    stream.destroy();
    agent.destroy();
  };
  const run = performance.now();
  await Promise.all(Array.from({ length: count }, (_, n) => client((n / count) * RECORDED_MS)));
  ending.abort();
  return { seconds: (performance.now() - run) / 1000, times, bytes };
}
