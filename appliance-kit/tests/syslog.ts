// A syslog receiver over TLS (RFC 5425) for tests, which believes nothing: each frame is counted, each message parsed as
// RFC 5424 has it, and what does not fit is an error.
import assert from 'node:assert/strict';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';

export interface Parsed {
  readonly priority: number;
  readonly time: string;
  readonly host: string;
  readonly app: string;
  readonly message: string;
  readonly data: Readonly<Record<string, string>>;
  readonly id: string;
  readonly text: string;
}

/** RFC 5424, 6: HEADER SP STRUCTURED-DATA SP MSG, with one element of structured data. */
export function parsed(text: string): Parsed {
  const header =
    /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) - ([\x21-\x7e]{1,32}) \[/;
  const [start, priority, time, host, app, message] = header.exec(text) ?? [];
  assert.ok(start !== undefined && Number(priority) <= 191, `no header of RFC 5424: ${text}`);
  const id = /^[!#-<>-\\^-~]{1,32}/.exec(text.slice(start.length))?.[0] ?? '';
  assert.match(id, /^[^@]+@\d+(\.\d+)*$/, text);
  const data: Record<string, string> = {};
  let rest = text.slice(start.length + id.length);
  for (;;) {
    const [all, name, value] = /^ ([!#-<>-\\^-~]{1,32})="((?:[^"\\\]]|\\["\\\]])*)"/.exec(rest) ?? [];
    if (all === undefined) break;
    assert.ok(!Object.hasOwn(data, name as string), `twice: ${name}`);
    data[name as string] = (value as string).replace(/\\(["\\\]])/g, '$1');
    rest = rest.slice(all.length);
  }
  assert.ok(rest.startsWith('] \ufeff'), `the structured data do not end: ${rest.slice(0, 80)}`);
  return { priority: Number(priority), time, host, app, message, data, id, text: rest.slice(3) } as Parsed;
}

export interface TlsReceiver {
  readonly port: number;
  readonly got: Parsed[];
  /** What it is given is not read any more, as when its disk is full. */
  stopReading(): void;
  /** As a process that is killed: connections are reset, and nobody listens. */
  kill(): Promise<void>;
}

/** @param port 0: any */
export async function tlsReceiver(
  t: TestContext,
  identity: { certificate: string; key: string },
  port = 0,
): Promise<TlsReceiver> {
  const got: Parsed[] = [];
  const open = new Set<Socket>();
  let reads = true;
  const server = tls.createServer({ cert: identity.certificate, key: identity.key }, (socket) => {
    let bytes = Buffer.alloc(0);
    if (!reads) socket.pause();
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        const [, digits] = /^([1-9]\d{0,5}) /.exec(bytes.subarray(0, 7).toString('latin1')) ?? [];
        if (digits === undefined) {
          assert.ok(bytes.length < 7, `no length of a frame: ${bytes.subarray(0, 20)}`);
          return;
        }
        const end = digits.length + 1 + Number(digits);
        if (bytes.length < end) return;
        const text = bytes.subarray(digits.length + 1, end);
        got.push(parsed(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text)));
        bytes = bytes.subarray(end);
      }
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  });
  server.on('secureConnection', (socket: tls.TLSSocket) => {
    if (!reads) socket.pause();
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const kill = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.resetAndDestroy();
    await closed;
  };
  t.after(() => (server.listening ? kill() : undefined));
  return {
    port: (server.address() as AddressInfo).port,
    got,
    stopReading: () => {
      reads = false;
    },
    kill,
  };
}
