// Requests as the tests need them: over a Unix socket to a part, or over TLS with the stack's own certificate to nginx.
import http from 'node:http';
import https from 'node:https';

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** Of the body, as it came. */
  readonly bytes: number;
  /** The body read as JSON. */
  json<T = unknown>(): T;
}
export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
  /** How long the other side may say nothing; 20 s when left out. */
  readonly timeoutMs?: number;
  /** PEM: the certificate that is shown, and its key. */
  readonly certificate?: { readonly certificate: string; readonly key: string };
  /** For several requests over one connection. */
  readonly agent?: https.Agent;
}

export function ask(target: { socketPath: string; path: string } | URL, asked: Asked = {}): Promise<Reply> {
  const timeout = asked.timeoutMs ?? 20_000;
  return new Promise((resolve, reject) => {
    const body = asked.body === undefined || typeof asked.body === 'string' ? asked.body : JSON.stringify(asked.body);
    const headers: Record<string, string> = { ...asked.headers };
    if (body !== undefined) {
      headers['content-type'] ??= 'application/json';
      headers['content-length'] = String(Buffer.byteLength(body as string));
    }
    const options = { method: asked.method ?? (body === undefined ? 'GET' : 'POST'), headers, timeout };
    const request =
      target instanceof URL
        ? https.request(target, {
            ...options,
            rejectUnauthorized: false,
            ...(asked.certificate && { cert: asked.certificate.certificate, key: asked.certificate.key }),
            ...(asked.agent && { agent: asked.agent }),
          })
        : http.request({ ...options, ...target });
    request.on('timeout', () =>
      request.destroy(
        new Error(
          `${options.method} ${target instanceof URL ? target.pathname : target.path}: no answer within ${timeout / 1000} s`,
        ),
      ),
    );
    request.on('error', reject);
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(parts);
        const text = body.toString('utf8');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          bytes: body.length,
          json: <T>() => JSON.parse(text) as T,
        });
      });
    });
    request.end(body as string | undefined);
  });
}

/** Asks again until the answer is as wanted; a connection that fails is an answer that is not. */
export async function until<T>(what: string, wanted: () => Promise<T | false | undefined>, seconds = 60): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  let last: unknown;
  for (;;) {
    try {
      const found = await wanted();
      if (found !== false && found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`waited ${seconds} s in vain until ${what}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
