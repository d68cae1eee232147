// Talks to the appliance's other processes over their Unix sockets: with a deadline, a limit on the answer, and
// their problem documents passed on as they are.
import http from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fail, ProblemError } from '../base/problems/problem.ts';
import { Problem } from '../base/problems/schema.ts';
import { fits } from '../base/validate.ts';

export interface PeerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly deadlineMs: number;
  readonly maxBytes?: number;
  /** Over a connection that is kept: for what is asked hundreds of times a second. Only for what may be asked twice. */
  readonly kept?: boolean;
}

export interface PeerAnswer {
  readonly status: number;
  readonly body: unknown;
}

const MAX_BYTES = 8 * 1024 * 1024;

/** A peer that has just ended leaves connections behind that it will never answer on: they are tried again on a new connection. */
const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 8, timeout: 60_000 });

export class Peer {
  readonly name: string;
  readonly socketPath: string;

  constructor(name: string, socketPath: string) {
    this.name = name;
    this.socketPath = socketPath;
  }

  unavailable(error: Error): ProblemError {
    return fail(
      'service_unavailable',
      `${this.name} does not answer (${(error as NodeJS.ErrnoException).code ?? error.message}).`,
      'The reason is shown under Services. It is restarted automatically; try again in a moment.',
    );
  }

  /** Whatever it answered. Throws only when there was no readable answer. */
  ask(request: PeerRequest): Promise<PeerAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<PeerAnswer>();
    const [type, payload] =
      request.form !== undefined
        ? ['application/x-www-form-urlencoded', new URLSearchParams(request.form).toString()]
        : request.json !== undefined
          ? ['application/json', JSON.stringify(request.json)]
          : [undefined, undefined];
    const timer = setTimeout(
      () => sent.destroy(fail('timeout', `${this.name} did not answer within ${request.deadlineMs / 1000} s.`)),
      request.deadlineMs,
    );
    const sent = http.request(
      {
        socketPath: this.socketPath,
        method: request.method,
        path: request.path,
        agent: request.kept ? agent : false,
        headers: {
          host: this.name,
          ...request.headers,
          ...(type && { 'content-type': type, 'content-length': Buffer.byteLength(payload as string) }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > (request.maxBytes ?? MAX_BYTES)) {
            sent.destroy(fail('service_unavailable', `${this.name} answered with more than can be taken in.`));
          }
          chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8');
          try {
            resolve({ status: response.statusCode ?? 0, body: body === '' ? undefined : JSON.parse(body) });
          } catch {
            const start = body.slice(0, 100);
            reject(fail('service_unavailable', `${this.name} answered what is not JSON: ${start}`));
          }
        });
      },
    );
    sent.on('error', (error) => {
      if (error instanceof ProblemError) return reject(error);
      const stale = sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (stale) this.ask({ ...request, kept: false }).then(resolve, reject);
      else reject(this.unavailable(error));
    });
    sent.end(payload);
    return promise.finally(() => clearTimeout(timer));
  }

  /** The content of a success as it comes, with its length; a problem document is thrown. */
  open(request: Pick<PeerRequest, 'path' | 'json' | 'deadlineMs'>): Promise<{ content: Readable; bytes: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ content: Readable; bytes: number }>();
    const payload = JSON.stringify(request.json);
    const sent = http.request(
      {
        socketPath: this.socketPath,
        method: 'POST',
        path: request.path,
        agent: false,
        headers: {
          host: this.name,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        },
      },
      (response) => {
        if (response.statusCode === 200) {
          return resolve({ content: response, bytes: Number(response.headers['content-length'] ?? 0) });
        }
        text(response).then((body) => {
          try {
            const content = JSON.parse(body);
            if (fits(Problem, content)) return reject(new ProblemError(content as Problem));
          } catch {
            // Said below.
          }
          reject(fail('service_unavailable', `${this.name} answered with status ${response.statusCode}.`));
        }, reject);
      },
    );
    // Only until it begins to answer: what is read may be long.
    const timer = setTimeout(
      () => sent.destroy(fail('timeout', `${this.name} did not answer within ${request.deadlineMs / 1000} s.`)),
      request.deadlineMs,
    );
    sent.on('error', (error) => reject(error instanceof ProblemError ? error : this.unavailable(error)));
    sent.end(payload);
    return promise.finally(() => clearTimeout(timer));
  }

  /** The body of a success; a problem document is thrown as the problem it is. */
  async call(request: PeerRequest): Promise<unknown> {
    const { status, body } = await this.ask(request);
    if (status >= 200 && status < 300) return body;
    if (fits(Problem, body)) throw new ProblemError(body as Problem);
    const { status: code, detail } = (body ?? {}) as { status?: unknown; detail?: unknown };
    const words = typeof detail === 'string' ? detail : `${this.name} answered with status ${String(code ?? status)}.`;
    throw fail('service_unavailable', words);
  }
}
