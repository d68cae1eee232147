// What openid-client asks providers with: `fetch`, but with the authorities that were given, to hosts that may be reached, and
// with an end to how long and how much.
import { request } from 'node:https';
import { isIP } from 'node:net';
import type { Reach } from '../../alerting/destinations/index.ts';

const DEADLINE_MS = 10_000;
const MOST_BYTES = 1024 * 1024;

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export function fetchBy(reach: Reach, ca: string | undefined): (url: string, asked: Asked) => Promise<Response> {
  return (text, { method = 'GET', headers = {}, body, signal }) =>
    new Promise((resolve, reject) => {
      const url = new URL(text);
      if (url.protocol !== 'https:') throw new Error(`${url.origin} is not https`);
      const problem = reach.problem(url.hostname);
      if (problem !== null) throw new Error(`${url.hostname} ${problem}`);
      const sent = body === undefined || body === null ? undefined : String(body);
      const asking = request(
        url,
        {
          method,
          headers: { ...headers, ...(sent !== undefined && { 'content-length': String(Buffer.byteLength(sent)) }) },
          ...(isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0 && { lookup: reach.lookup }),
          ...(ca !== undefined && { ca }),
          signal: AbortSignal.any([AbortSignal.timeout(DEADLINE_MS), ...(signal ? [signal] : [])]),
          agent: false,
        },
        (answer) => {
          const parts: Buffer[] = [];
          let bytes = 0;
          answer.on('data', (part: Buffer) => {
            parts.push(part);
            bytes += part.length;
            if (bytes > MOST_BYTES) asking.destroy(new Error('its answer is larger than a megabyte'));
          });
          answer.on('error', reject);
          answer.on('end', () => {
            const given = new Headers();
            for (const [name, value] of Object.entries(answer.headers))
              for (const one of Array.isArray(value) ? value : [value ?? '']) given.append(name, one);
            const status = answer.statusCode ?? 500;
            const empty = [101, 204, 205, 304].includes(status);
            resolve(new Response(empty ? null : Buffer.concat(parts), { status, headers: given }));
          });
        },
      );
      asking.on('error', reject);
      asking.end(sent);
    });
}
