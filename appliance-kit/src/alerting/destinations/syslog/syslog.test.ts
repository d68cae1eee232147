import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { eventually } from '../../../../tests/harness.ts';
import type { Message } from '../../alerts/message.ts';
import { testMessage } from '../handlers.ts';
import { syslogMessage } from './message.ts';
import { sendSyslog } from './send.ts';

const message = (change: Partial<Message['alert']> = {}, event: Message['event'] = 'raise'): Message => {
  const made = testMessage('first', Date.UTC(2026, 0, 1));
  return { ...made, event, alert: { ...made.alert, ...change } };
};

/** Frames as RFC 6587 counts them. */
function framesOf(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const length = Number(bytes.subarray(at, space));
    frames.push(bytes.subarray(space + 1, space + 1 + length).toString('utf8'));
    at = space + 1 + length;
  }
  return frames;
}

test('a message is one line of RFC 5424, whatever an alert holds', () => {
  const wild = 'a "quote", a ]bracket, a \\slash,\nand a line';
  const text = syslogMessage(message({ severity: 'critical', text: wild, labels: { 'a=b"]': wild } }));
  const form =
    /^<26>1 2026-01-01T00:00:00\.000Z first cistern - test\.message \[cistern@8072\.9999\.9999\.7710( [!-<>-~]{1,32}="([^"\\\]]|\\["\\\]])*")+\] \ufeff(.*)$/;
  assert.match(text, form);
  assert.ok(text.includes('label.a_b__="a \\"quote\\", a \\]bracket, a \\\\slash, and a line"'), text);
  assert.ok(!text.includes('\n'));
  // Warning 3·8+4, informational 3·8+6, and the end of one a notice 3·8+5.
  assert.match(syslogMessage(message({ severity: 'warning' })), /^<28>/);
  assert.match(syslogMessage(message({ severity: 'info' })), /^<30>/);
  assert.match(syslogMessage(message({ severity: 'critical' }, 'clear')), /^<29>.*\ufeffCleared: /);
});

test('it arrives over TCP, with its length, also at a server that keeps the connection', async (t) => {
  for (const keeps of [true, false]) {
    const got: Buffer[] = [];
    const server = net.createServer({ allowHalfOpen: keeps }, (socket) => {
      socket.on('data', (chunk) => got.push(chunk));
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const syslog = { host: '127.0.0.1', port, transport: 'tcp' as const, verifyCertificate: true };
    await sendSyslog(syslog, message({ text: 'größer' }), () => {});
    await eventually(async () => {
      const [frame] = framesOf(Buffer.concat(got));
      assert.match(frame ?? '', /größer/);
    });
  }
  const nobody = { host: '127.0.0.1', port: 1, transport: 'tcp' as const, verifyCertificate: true };
  await assert.rejects(
    sendSyslog(nobody, message(), () => {}),
    /127\.0\.0\.1:1 did not take the message: .*ECONNREFUSED/,
  );
});

test('over TLS a certificate that does not verify is refused in words, and taken when it need not', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'cistern-syslog-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const [key, cert] = [join(dir, 'key'), join(dir, 'cert')];
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  const got: Buffer[] = [];
  const server = tls.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
    socket.on('data', (chunk) => got.push(chunk));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const syslog = { host: '127.0.0.1', port, transport: 'tls' as const };
  await assert.rejects(
    sendSyslog({ ...syslog, verifyCertificate: true }, message(), () => {}),
    /self.signed certificate/,
  );
  assert.equal(got.length, 0);
  await sendSyslog({ ...syslog, verifyCertificate: false }, message(), () => {});
  await eventually(async () => assert.equal(framesOf(Buffer.concat(got)).length, 1));
});
