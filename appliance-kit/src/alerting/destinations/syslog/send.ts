// Sends an alert to a syslog server: over TCP (RFC 6587) or TLS (RFC 5425), each message with its length before it. Syslog
// answers nothing: it counts as delivered when the other side has closed the connection well after our end of it, or, as
// many servers keep it open, has not refused it within a moment.
import net from 'node:net';
import tls from 'node:tls';
import { fail } from '../../../base/problems/problem.ts';
import type { Message } from '../../alerts/index.ts';
import type { OnLine } from '../exchange.ts';
import type { SyslogInput } from '../schema.ts';
import { syslogMessage } from './message.ts';

const CONNECT_MS = 10_000;
/** How long a refusal may take after the message was sent. */
const REFUSAL_MS = 500;

function deliver(syslog: SyslogInput, frame: Buffer, onLine: OnLine, lookup?: net.LookupFunction): Promise<void> {
  return new Promise((resolve, reject) => {
    const { host, port } = syslog;
    const servername = net.isIP(host) === 0 ? { servername: host } : {};
    const socket =
      syslog.transport === 'tls'
        ? tls.connect({
            ...{ host, port, ...(lookup && { lookup }), rejectUnauthorized: syslog.verifyCertificate, ...servername },
            ...(syslog.ca !== undefined && { ca: syslog.ca }),
          })
        : net.connect({ host, port, ...(lookup && { lookup }) });
    let sent = false;
    let waiting: NodeJS.Timeout | undefined;
    const done = (error?: Error) => {
      clearTimeout(waiting);
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.setTimeout(CONNECT_MS, () => done(new Error(`no answer within ${CONNECT_MS / 1000} s`)));
    socket.on('error', done);
    socket.on('close', () => (sent ? done() : done(new Error('it closed the connection'))));
    socket.on(syslog.transport === 'tls' ? 'secureConnect' : 'connect', () => {
      onLine('!', syslog.transport === 'tls' ? 'Connected, encrypted' : 'Connected');
      onLine('>', frame.toString('utf8').slice(0, 2000));
      // The end of our side goes after the last byte; what the system still holds is sent by it.
      socket.end(frame, () => {
        sent = true;
        waiting = setTimeout(done, REFUSAL_MS);
      });
    });
    socket.resume();
  });
}

export async function sendSyslog(
  syslog: SyslogInput,
  message: Message,
  onLine: OnLine,
  lookup?: net.LookupFunction,
): Promise<void> {
  const text = Buffer.from(syslogMessage(message));
  const frame = Buffer.concat([Buffer.from(`${text.length} `), text]);
  const where = `${syslog.host}:${syslog.port}`;
  onLine('!', `Connecting to ${where} (${syslog.transport === 'tls' ? 'TLS' : 'without encryption'})`);
  try {
    await deliver(syslog, frame, onLine, lookup);
  } catch (error) {
    const words = (error as Error).message;
    throw fail(
      'command_failed',
      `The syslog server ${where} did not take the message: ${words}`,
      /certificate|self.signed|altnames/i.test(words)
        ? 'Check that the server’s certificate is valid for its name.'
        : 'Check the host, the port and the encryption chosen, and that the server may be reached from here.',
    );
  }
  onLine('!', 'Sent. Syslog confirms nothing: see whether it has arrived.');
}
