// A thousand alerts of one rule: one line that opens, in a browser that stays small and is sent little.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

const BAD = 1_000;
const ALL = 1_650;

let stack: Stack;
let someone: Person;
let api: ApiPerson;
let level = 9;
let sending: ReturnType<typeof setInterval>;

/** Somebody on the network. */
const SENDER = '192.0.2.9';

const send = () =>
  stack.import(
    Array.from({ length: ALL }, (_, n) => ({
      name: 'queue_length',
      labels: { host: `h${n}`, version: n < BAD + 8 ? 'v3' : 'v2' },
      value: n < BAD ? level : 5,
    })),
    SENDER,
  );

before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  await send();
  sending = setInterval(() => void send().catch(() => {}), 20_000);
  await api.get('POST', '/api/thresholds', {
    ...{
      name: 'Every queue',
      expression: 'queue_length',
      direction: 'above',
      raise: 8,
      clear: 6,
      severity: 'critical',
    },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
  });
  await until('all are raised', async () => {
    const { critical } = await api.get<{ critical: number }>('GET', '/api/alert-summary');
    return critical === BAD || undefined;
  });
  someone = await person(stack);
});
after(async () => {
  clearInterval(sending);
  await someone?.close();
  await stack?.stop();
});

test('Status answers for what is sent here: how many hosts are silent, and when it took longest', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const end = now - (now % 300);
  const durations = (name: string, time: number, bins: object) => ({
    ...{ name: 'checkout_seconds', labels: { host: name }, time },
    histogram: { bins },
  });
  await stack.import(
    [
      ...Array.from({ length: 24 }, (_, at) => durations('till', end - 300 * at - 150, { '0.012': 400 })),
      durations('till7', end - 3_100, { '0.9': 90 }),
    ],
    SENDER,
  );
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  await signInBy(page);
  await page.getByText(/Sent here: .*(?:silent|host)/).waitFor({ timeout: 60_000 });
  const { incoming } = await api.get<{ incoming: { hosts: { total: number } } }>('GET', '/api/status');
  assert.ok(incoming.hosts.total > ALL, `${incoming.hosts.total} hosts`);
  const worst = page.getByRole('region', { name: 'The day’s worst moments' });
  await worst.getByText(/checkout_seconds took up to .*, usually .*, most for host=till7/).waitFor({ timeout: 60_000 });
  await lookAt(page, 'bursts-incoming');
});

test('who begins to send is announced on Status and Inputs, until somebody says that it is known', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  await signInBy(page);
  const list = page.getByRole('list', { name: 'New senders' });
  await list.getByText('192.0.2.9').waitFor();
  const began = performance.now();
  await stack.import([{ name: 'room_temperature', labels: { room: 'cellar' }, value: 12 }], '198.51.100.7');
  const newest = list.getByRole('listitem').filter({ hasText: '198.51.100.7' });
  await newest.getByText(/began .*: 1 new series by import/).waitFor();
  t.diagnostic(`a new sender is on Status after ${Math.round(performance.now() - began)} ms`);
  await lookAt(page, 'bursts-new-senders');
  await page.getByRole('link', { name: 'Limit who may send' }).click();
  await newest.getByRole('button', { name: 'It is known: 198.51.100.7 by import' }).click();
  await newest.waitFor({ state: 'detached' });
  await list.getByRole('button', { name: 'It is known: 192.0.2.9 by import' }).click();
  await list.waitFor({ state: 'detached' });
});

test('a burst is one line on Status and Alerts; it opens to pages of its alerts, and is acknowledged and silenced as one', async (t) => {
  const { page, context } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  await signInBy(page);
  await page
    .getByText(/Every queue: 1,000 of 1,650 series\. All have version=v3/)
    .first()
    .waitFor();
  await lookAt(page, 'bursts-status');
  await page.getByRole('button', { name: '99+ active alerts (1,000), the worst is critical' }).click();
  const rows = page.getByRole('list', { name: 'Active alerts' }).getByRole('listitem');
  const burst = rows.filter({ hasText: 'Every queue: 1,000 of 1,650 series' });
  await burst.getByText('All have version=v3; so do 8 of the 650 other series.').waitFor();
  assert.equal(await rows.count(), 1);

  // What it costs to have it open while one of them changes again and again.
  const cost = await context.newCDPSession(page);
  await cost.send('Network.enable');
  await cost.send('HeapProfiler.enable');
  await burst.getByRole('button', { name: 'Show its alerts' }).click();
  const members = burst.getByRole('grid', { name: /^Alerts of Every queue/ });
  await members.getByRole('link', { name: 'host="h0", version="v3"' }).waitFor();
  assert.equal(await members.getByRole('row').count(), 51);
  let bytes = 0;
  let requests = 0;
  cost.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests += 1;
  });
  const { items } = await api.get<{ items: { id: string }[] }>('GET', '/api/alerts?limit=200');
  const began = Date.now();
  for (const { id } of items.slice(0, 40)) {
    await api.get('POST', `/api/alerts/${id}/acknowledge`, { note: 'mine' });
  }
  await burst.getByText('40 acknowledged').waitFor();
  const minutes = (Date.now() - began) / 60_000;
  await cost.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cost.send('Runtime.getHeapUsage');
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  t.diagnostic(
    `1,000 alerts of one rule, opened: ${nodes} nodes, ${(usedSize / 1e6).toFixed(1)} MB of heap; while one changed ` +
      `${Math.round(40 / minutes)} times a minute: ${Math.round(bytes / 1000 / minutes)} kB and ${Math.round(requests / minutes)} requests a minute`,
  );
  assert.ok(nodes < 3_000, `${nodes} nodes`);
  // All of them, as a list, are 1.6 MB each time.
  assert.ok(bytes / requests < 20_000, `${bytes} bytes in ${requests} requests`);
  // Nothing has changed: the answer that is here is used again.
  const again = page.waitForResponse(
    (response) => response.url().endsWith('/api/alert-summary') && response.status() === 304,
  );
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await again;
  await page.getByRole('button', { name: /active alerts/ }).click();
  await burst.getByRole('button', { name: 'Show its alerts' }).click();
  await burst.getByRole('button', { name: 'Next' }).click();
  await burst.getByText('51 to 100 of 1,000').waitFor();
  await lookAt(page, 'bursts-open');

  await burst.getByRole('button', { name: /^Acknowledge 960 alerts/ }).click();
  await page.getByLabel('Note').fill('Version 3 is taken back');
  await page.getByRole('button', { name: 'Acknowledge', exact: true }).click();
  await burst.getByText('acknowledged', { exact: true }).waitFor();
  await burst.getByRole('link', { name: /^Every queue/ }).click();
  await page.getByRole('heading', { name: 'Every queue: 1,000 of 1,650 series' }).waitFor();
  await page.getByRole('button', { name: /^Silence: Every queue/ }).click();
  await lookAt(page, 'bursts-silence');
  await page.getByLabel('What it is for').fill('Taken back');
  await page.getByRole('button', { name: 'Begin the silence' }).click();
  await page.getByText('suppressed by Taken back').waitFor();
  await page.getByRole('textbox', { name: 'Search these alerts' }).fill('h999');
  await page.getByRole('link', { name: 'host="h999", version="v3"' }).waitFor();
  await lookAt(page, 'bursts-page');

  level = 5;
  await send();
  await page.getByText('all cleared').waitFor();
  await page.getByRole('link', { name: 'Alert log' }).click();
  await page.getByRole('textbox', { name: 'Search the log' }).fill('h99');
  const log = page.getByRole('list', { name: 'All alerts' }).getByRole('listitem');
  await log.getByRole('button', { name: 'Show the 11 alerts that match' }).click();
  await log.getByRole('link', { name: 'host="h995", version="v3"' }).waitFor();
  assert.equal(await log.getByRole('row').count(), 12);
  await lookAt(page, 'bursts-log');

  await page.getByRole('link', { name: 'Times' }).click();
  // A thousand alerts, one burst, which is acknowledged and over.
  const row = page.getByRole('grid', { name: /^Times by class/ }).getByRole('row', { name: /threshold\.exceeded/ });
  await row.getByText('1,000 alerts').waitFor();
  await row
    .getByText(/^(at once|\d+ (second|minute))/)
    .nth(1)
    .waitFor();
  assert.equal(await row.getByText('not over').count(), 0);
  await lookAt(page, 'alert-times');
});
