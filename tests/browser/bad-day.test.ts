// The bad day: from the mail of an alert to what caused it, in three clicks at most and with nothing typed.
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type Mailbox, smtp } from '../../appliance-kit/tests/smtp.ts';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';
import { linkIn } from './mail.ts';

const EVERY = 15;
const POINTS = 112;
/** For how long it has been wrong. */
const BAD = 90;
const CLICKS = 3;
const SENDER = '192.0.2.9';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
let beating: ReturnType<typeof setInterval>;
let silent = '';

type Labels = Readonly<Record<string, string>>;

/** Nearly half an hour of a metric, of which the last minute and a half is another value. */
function past(name: string, labels: Labels, usual: number, bad = usual): object[] {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: POINTS }, (_, at) => {
    const before = at * EVERY;
    const value = (before < BAD ? bad : usual) * (1 + 0.03 * Math.sin(at * 1.7));
    return { name, labels, time: now - before, value };
  });
}

/** One request in each point, so many times as slow. */
function requests(labels: Labels, usual: string, bad: string): object[] {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: POINTS }, (_, at) => ({
    ...{ name: 'checkout_seconds', labels, time: now - at * EVERY },
    histogram: { bins: { [at * EVERY < BAD ? bad : usual]: 50, '0.03': 10 } },
  }));
}

const hosts = (count: number) => Array.from({ length: count }, (_, n) => `h${String(n + 1).padStart(2, '0')}`);

before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  // Sent by the hosts themselves, until one of them stops.
  beating = setInterval(() => {
    const samples = ['m1', 'm2', 'm3']
      .filter((host) => host !== silent)
      .map((host) => ({ name: 'heartbeat', labels: { host }, value: 1 }));
    void stack.import(samples, SENDER).catch(() => {});
  }, 500);
  someone = await person(stack);
});
after(async () => {
  clearInterval(beating);
  await someone?.close();
  await stack?.stop();
});

const usual = {
  ...{ direction: 'above', raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, severity: 'critical' },
  enabled: true,
};

/** Has a rule send to a mailbox of its own. */
async function watched(t: TestContext, rule: { name: string } & Record<string, unknown>): Promise<Mailbox> {
  const mail = await smtp(t);
  const email = { host: '127.0.0.1', port: mail.port, security: 'none', verifyCertificate: true };
  const { id } = await api.get<{ id: string }>('POST', '/api/destinations', {
    ...{ name: `For ${rule.name}`, kind: 'email', enabled: true },
    email: { ...email, from: 'cistern@example.com', to: ['oncall@example.com'] },
  });
  const made = await api.get<{ id: string }>('POST', '/api/thresholds', { ...usual, ...rule, destinations: [id] });
  t.after(async () => {
    await api.get('DELETE', `/api/thresholds/${made.id}`);
    await api.get('DELETE', `/api/destinations/${id}`);
  });
  return mail;
}

/** Opens the link of the mail, and clicks on, until the cause is there. */
async function fromTheMail(
  t: TestContext,
  mail: Mailbox,
  { fault, way = [], cause }: { fault: string; way?: ((page: Page) => Locator)[]; cause: (page: Page) => Locator },
) {
  const letter = await until('the mail', async () => mail.letters[0]);
  const { page } = await someone.visit(t, '/sign-in');
  await signInBy(page);
  // What was there is found two seconds after the raise.
  const began = performance.now();
  // The link names the machine, which has no name in this network.
  await page.goto(stack.url + new URL(linkIn(letter, /\/alerts\//)).pathname);
  for (const step of way) await step(page).click();
  await cause(page).first().waitFor();
  const clicks = 1 + way.length;
  t.diagnostic(
    `${fault}: ${clicks} click(s), ${((performance.now() - began) / 1000).toFixed(1)} s from the mail to its cause`,
  );
  assert.ok(clicks <= CLICKS);
  return page;
}

const changed = (page: Page) => page.getByRole('list', { name: 'Series that changed most' });

test('a slow disk on one of fifty hosts', async (t) => {
  await stack.import([
    ...hosts(50).flatMap((host) =>
      ['sda', 'sdb'].flatMap((disk) =>
        past('disk_wait_seconds', { host, disk }, 0.004, host === 'h17' && disk === 'sdb' ? 0.34 : 0.004),
      ),
    ),
    ...hosts(50).flatMap((host) => past('disk_busy_ratio', { host }, 0.3)),
    ...past('orders_waiting', { service: 'orders' }, 3, 120),
  ]);
  const mail = await watched(t, { name: 'Orders wait', expression: 'orders_waiting', raise: 50, clear: 40 });
  const page = await fromTheMail(t, mail, {
    fault: 'a slow disk',
    cause: (one) => changed(one).getByText('disk_wait_seconds{disk="sdb", host="h17"}'),
  });
  await lookAt(page, 'bad-day-disk');
});

test('a bad deployment of one version', async (t) => {
  await stack.import(
    hosts(40).flatMap((host, n) =>
      requests({ host, version: n % 5 === 0 ? 'v3' : 'v2' }, '0.03', n % 5 === 0 ? '2.5' : '0.03'),
    ),
  );
  const form = {
    kind: 'over-limit',
    metric: 'checkout_seconds',
    slowerThan: 1,
    overSeconds: 60,
    by: ['host', 'version'],
  };
  const mail = await watched(t, { name: 'Slow checkouts', expression: '-', form, raise: 5, clear: 1 });
  await fromTheMail(t, mail, {
    fault: 'a bad deployment',
    cause: (one) => one.getByText(/All have version=v3/),
  });
});

test('a file system that is full', async (t) => {
  await stack.import([
    ...hosts(40).flatMap((host) =>
      ['/', '/var'].flatMap((mount) =>
        past('filesystem_free_bytes', { host, mount }, 4e10, host === 'h06' && mount === '/var' ? 0 : 4e10),
      ),
    ),
    ...past('failed_writes', { host: 'h06', service: 'mail' }, 0.1, 40),
  ]);
  const mail = await watched(t, { name: 'Writes fail', expression: 'failed_writes', raise: 5, clear: 1 });
  await fromTheMail(t, mail, {
    fault: 'a full file system',
    cause: (one) => changed(one).getByText('filesystem_free_bytes{host="h06", mount="/var"}'),
  });
});

test('a link that is saturated', async (t) => {
  await stack.import([
    ...hosts(30).flatMap((host) =>
      ['eth0', 'eth1'].flatMap((link) =>
        past('link_in_use_ratio', { gateway: host, link }, 0.3, host === 'h03' && link === 'eth1' ? 0.99 : 0.3),
      ),
    ),
    ...past('copy_behind_seconds', { site: 'berlin' }, 4, 800),
  ]);
  const mail = await watched(t, {
    name: 'Copies are behind',
    expression: 'copy_behind_seconds',
    raise: 300,
    clear: 60,
  });
  await fromTheMail(t, mail, {
    fault: 'a saturated link',
    cause: (one) => changed(one).getByText('link_in_use_ratio{gateway="h03", link="eth1"}'),
  });
});

test('a sender that is silent', async (t) => {
  const mail = await watched(t, {
    ...{ name: 'Heartbeat', expression: 'last_over_time(heartbeat[10s])', direction: 'below', raise: 0, clear: 0 },
    noDataSeconds: 10,
  });
  await until('the rule knows the host', async () => {
    const { items } = await api.get<{ items: { name: string; state: { series: { labels: Labels }[] } }[] }>(
      'GET',
      '/api/thresholds',
    );
    const series = items.find(({ name }) => name === 'Heartbeat')?.state.series ?? [];
    return series.some(({ labels }) => labels.host === 'm2') || undefined;
  });
  await until('it is known how often it sends', async () => {
    const reply = await api.ask('GET', '/api/hosts/m2');
    return reply.status === 200 && reply.json<{ intervalSeconds: number | null }>().intervalSeconds !== null;
  });
  silent = 'm2';
  await fromTheMail(t, mail, {
    fault: 'a silent sender',
    way: [(one) => one.getByRole('link', { name: 'The host m2 at that time' })],
    cause: (one) => one.getByText(/It is (late|absent)/),
  });
});
