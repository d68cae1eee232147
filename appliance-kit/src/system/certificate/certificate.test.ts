import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { bench } from '../../../tests/harness.ts';
import { Conditions } from '../../alerting/alerts/conditions.ts';
import type { Sample } from '../../peers/storaged.ts';
import { Hourly } from '../../schedules/hourly.ts';
import { lookAtTrend } from '../../storage/pools/filling.ts';
import { servedCertificate } from './certificate.ts';
import { lookAtCertificate } from './expiry.ts';

const DAY_MS = 86_400_000;

/** What is looked at once an hour, over made-up measurements and a made-up certificate; its alerts are those of a real akd. */
async function hourlyOf(t: TestContext) {
  const on = await bench(t);
  await on.client.setUp();
  const { clock, appliance } = on;
  const said: string[] = [];
  const now = { percent: 50, perSecond: null as number | null, validTo: clock.now() + 365 * DAY_MS, broken: false };
  const quiet = () => {};
  const log = { debug: quiet, info: (text: string) => void said.push(text), warn: quiet, error: quiet };
  const conditions = new Conditions(appliance.alerts, clock);
  const storaged = {
    query: async (expression: string): Promise<Sample[]> => {
      if (now.broken) throw new Error('storaged is down');
      const labels = { pool: 'tank' };
      if (!expression.startsWith('deriv')) return [{ labels, value: now.percent }];
      assert.match(expression, /count_over_time\(.*\[1d\]\) >= 43200/);
      return now.perSecond === null ? [] : [{ labels, value: now.perSecond }];
    },
  };
  const certificate = async () => {
    if (now.broken) throw new Error('nobody answers');
    return { validTo: now.validTo, names: 'cistern.example' };
  };
  const pools = new Hourly(log, 'how soon pools are full is not known', () => lookAtTrend(storaged, conditions));
  const ends = new Hourly(log, 'when the certificate ends is not known', () =>
    lookAtCertificate(certificate, clock, conditions),
  );
  /** Returns whether both could be looked at. */
  const look = async () => {
    const [first, second] = [await pools.look(), await ends.look()];
    return first && second;
  };
  const active = async () =>
    (await on.client.get('/api/alerts?state=active')).body.items.map(
      ({ class: kind, severity, title }: Record<string, string>) => `${kind} ${severity}: ${title}`,
    );
  return { now, look, active, said, on };
}

/** Percent a second at which a pool at 50 % is full after so many days. */
const pace = (days: number) => 50 / (days * 86_400);

test('a pool that will be full soon: how soon, worse when it is near, and over when the pace is', async (t) => {
  const { now, look, active } = await hourlyOf(t);
  await look();
  assert.deepEqual(await active(), []);
  now.perSecond = pace(20);
  await look();
  assert.deepEqual(await active(), [], 'twenty days are time enough');
  now.perSecond = pace(9.5);
  await look();
  assert.deepEqual(await active(), ['pool.filling warning: Pool “tank” will be full in 9 days']);
  now.perSecond = pace(2.5);
  await look();
  assert.deepEqual(await active(), ['pool.filling critical: Pool “tank” will be full in 2 days']);
  now.perSecond = pace(0.5);
  await look();
  assert.equal((await active()).length, 1);
  now.perSecond = -1;
  await look();
  assert.deepEqual(await active(), []);
  [now.percent, now.perSecond] = [10, pace(1)];
  await look();
  assert.deepEqual(await active(), [], 'a pool that is nearly empty fills quickly at first');
});

test('a certificate that ends: at 30, 14 and 3 days, and when it has', async (t) => {
  const { now, look, active, on } = await hourlyOf(t);
  await look();
  now.validTo = on.clock.now() + 20.5 * DAY_MS;
  await look();
  assert.deepEqual(await active(), [
    'certificate.expiring warning: The certificate of the web page expires in 20 days',
  ]);
  const [first] = (await on.client.get('/api/alerts?state=active')).body.items;
  now.validTo = on.clock.now() + 13.5 * DAY_MS;
  await look();
  assert.deepEqual(await active(), [
    'certificate.expiring warning: The certificate of the web page expires in 13 days',
  ]);
  assert.notEqual((await on.client.get('/api/alerts?state=active')).body.items[0].id, first.id, 'it is told again');
  now.validTo = on.clock.now() + 2.5 * DAY_MS;
  await look();
  assert.deepEqual(await active(), [
    'certificate.expiring critical: The certificate of the web page expires in 2 days',
  ]);
  now.validTo = on.clock.now() - DAY_MS;
  await look();
  assert.deepEqual(await active(), ['certificate.expiring critical: The certificate of the web page has expired']);
  now.validTo = on.clock.now() + 365 * DAY_MS;
  await look();
  assert.deepEqual(await active(), []);
});

test('a look that fails neither raises nor clears', async (t) => {
  const { now, look, active, said } = await hourlyOf(t);
  now.perSecond = pace(9.5);
  await look();
  now.broken = true;
  assert.equal(await look(), false);
  assert.equal((await active()).length, 1);
  now.broken = false;
  assert.equal(await look(), true);
  assert.deepEqual(said, ['how soon pools are full is not known', 'when the certificate ends is not known']);
});

test('the certificate is that of the web server, whoever signed it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'certificate-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
      ...['-subj', '/CN=cistern', '-addext', 'subjectAltName=DNS:cistern.example,IP:192.0.2.7'],
      ...['-keyout', key, '-out', cert],
    ],
    { stdio: 'pipe' },
  );
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { validTo, names } = await servedCertificate(port);
  assert.ok(Math.abs(validTo - (Date.now() + 30 * DAY_MS)) < DAY_MS, new Date(validTo).toISOString());
  assert.equal(names, 'cistern.example, 192.0.2.7');
  server.close();
  await once(server, 'close');
  await assert.rejects(servedCertificate(port), /ECONNREFUSED/);
});

test('ten wrong passwords are an alert that says from where; a right one at last is none', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const guess = (password: string, address: string) =>
    on.client.post(
      '/api/session',
      { user: 'admin', password },
      { headers: { 'x-forwarded-for': address, cookie: '' } },
    );
  for (let at = 0; at < 9; at++) assert.equal((await guess('wrong', '192.0.2.7')).status, 401);
  const raised = async () =>
    (await on.client.get('/api/alerts?state=all')).body.items.filter(
      ({ class: kind }: { class: string }) => kind === 'signin.locked',
    );
  assert.deepEqual(await raised(), []);
  assert.equal((await guess('wrong', '192.0.2.7')).status, 401);
  const [alert, ...more] = await raised();
  assert.deepEqual(more, []);
  assert.match(alert.text, /^10 wrong passwords or codes for “admin” came from 192\.0\.2\.7/);
  assert.equal((await guess('wrong', '192.0.2.7')).status, 429);
  assert.equal((await raised()).length, 1, 'those that are not listened to are no news');
});
