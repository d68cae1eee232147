// Parts that are down: the page says which, since when, and recovers automatically. Metrics go on flowing.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { eventually } from '../../appliance-kit/tests/harness.ts';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
// A test that failed in the middle leaves a part stopped: the next begins with all of them.
beforeEach(async () => {
  for (const part of ['storaged', 'akd', 'nginx'] as const) await stack.startPart(part);
});
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('management is down: a banner, the age of what is shown, metrics accepted meanwhile, and recovery', async (t) => {
  const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' });
  const send = () =>
    ask(new URL('/api/v1/import', stack.url), {
      headers: { authorization: `Bearer ${token}` },
      body: { samples: [{ name: 'still_flowing', value: 1 }] },
    });
  assert.equal((await send()).status, 200);

  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  expect(/status of 50[02]|ERR_|EventSource/);
  await signInBy(page);
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  await stack.stopPart('akd');
  await page
    .getByRole('alert')
    .filter({ hasText: 'Management is down' })
    .getByText(/seconds? old/)
    .waitFor({ timeout: 20_000 });
  await page.getByRole('heading', { name: 'Data safety' }).waitFor();
  await lookAt(page, 'status-management-down');
  assert.equal((await send()).status, 200, 'a token that was known goes on being accepted');

  // A page that is opened meanwhile says so too, and goes on when management is back.
  const other = await someone.visit(t, '/storage');
  other.expect(/status of 50[02]/);
  await other.page.getByRole('heading', { name: 'Management is down' }).waitFor();
  await lookAt(other.page, 'management-down');
  await stack.startPart('akd');
  await other.page.getByRole('button', { name: 'Sign in' }).waitFor({ timeout: 20_000 });
  await page
    .getByRole('alert')
    .filter({ hasText: 'Management is down' })
    .waitFor({ state: 'detached', timeout: 20_000 });
  await page.getByRole('heading', { name: 'Status' }).waitFor();
});

test('the telemetry store is down: said on every page, and on the chart', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fanalytics%3Fmetric%3Dcistern_host_cpu_ratio');
  expect(/status of 502/);
  await signInBy(page);
  await page.getByRole('img', { name: /cistern_host_cpu_ratio/ }).waitFor();
  await stack.stopPart('storaged');
  await page.getByRole('alert').filter({ hasText: 'The telemetry store is down' }).waitFor({ timeout: 20_000 });
  await lookAt(page, 'analytics-store-down');
  await stack.startPart('storaged');
  await page
    .getByRole('alert')
    .filter({ hasText: 'The telemetry store is down' })
    .waitFor({ state: 'detached', timeout: 30_000 });
});

test('the appliance cannot be reached: the page says how old it is', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  expect(/ERR_/);
  await signInBy(page);
  await page.getByRole('region', { name: 'Pool tank' }).waitFor();
  await stack.stopPart('nginx');
  await page
    .getByRole('alert')
    .filter({ hasText: 'The appliance does not answer' })
    .getByText(/old/)
    .waitFor({ timeout: 20_000 });
  await stack.startPart('nginx');
  await page
    .getByRole('alert')
    .filter({ hasText: 'The appliance does not answer' })
    .waitFor({ state: 'detached', timeout: 20_000 });
});

test('a service that fails is named with its reason; a restart mends it', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fservices');
  await signInBy(page);
  await page.getByText('All 9 services are running.').waitFor();
  await stack.simulate('service', { name: 'snmpd', state: 'failed', reason: 'it ended with code 1' });
  await page.getByText('SNMP agent is failed: it ended with code 1.').waitFor({ timeout: 30_000 });
  await lookAt(page, 'services-failed');
  await page.getByRole('button', { name: 'Restart SNMP agent' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
  await page.getByText('All 9 services are running.').waitFor({ timeout: 30_000 });
});

test('a damaged block is named in an alert with what to do; putting the sound one back clears it', async (t) => {
  const blocks = path.join(stack.dir, 'data', 'blocks');
  await stack.import([{ name: 'kept_for_long', value: 1 }]);
  await stack.stopPart('storaged'); // which puts what is in memory into a block
  const [name] = readdirSync(blocks).filter((file) => file.endsWith('.block'));
  assert.ok(name);
  const sound = readFileSync(path.join(blocks, name));
  const damaged = Buffer.from(sound);
  damaged[3] = (damaged[3] ?? 0) ^ 0x10;
  writeFileSync(path.join(blocks, name), damaged);
  await stack.startPart('storaged');

  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts');
  await signInBy(page);
  const alerts = page.getByRole('list', { name: 'Active alerts' });
  await alerts
    .getByText(`Stored measurements are damaged (block ${path.parse(name).name})`)
    .waitFor({ timeout: 30_000 });
  await lookAt(page, 'alerts-store-damaged');

  await stack.stopPart('storaged');
  writeFileSync(path.join(blocks, name), sound);
  rmSync(path.join(blocks, `${name}.damaged`));
  await stack.startPart('storaged');
  await alerts.getByText('Stored measurements are damaged').waitFor({ state: 'detached', timeout: 30_000 });
});

test('the journal is damaged: what was lost is an alert, what could be read is there', async (t) => {
  const journal = path.join(stack.dir, 'data', 'journal');
  for (const value of [1, 2, 3]) await stack.import([{ name: `in_the_journal_${value}`, value }]);
  await stack.killPart('storaged');
  const [file] = readdirSync(journal).filter((name) => {
    return name.endsWith('.journal') && readFileSync(path.join(journal, name)).includes('in_the_journal_2');
  });
  assert.ok(file);
  const content = readFileSync(path.join(journal, file));
  content.write('X', content.indexOf('in_the_journal_2'));
  writeFileSync(path.join(journal, file), content);
  await stack.startPart('storaged');
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts');
  await signInBy(page);
  const alerts = page.getByRole('list', { name: 'Active alerts' });
  await alerts.getByText('Measurements were lost from the journal').first().waitFor({ timeout: 30_000 });
  await lookAt(page, 'alerts-journal-damaged');
  for (const [value, there] of [
    [1, 1],
    [2, 0],
    [3, 1],
  ]) {
    const path = `/api/v1/query?query=last_over_time(in_the_journal_${value}[1h])`;
    const { data } = (await stack.socket('storaged', path)).json<{ data: { result: unknown[] } }>();
    assert.equal(data.result.length, there, `in_the_journal_${value}`);
  }
  await stack.stopPart('storaged');
  await stack.startPart('storaged');
  await alerts.getByText('Measurements were lost').waitFor({ state: 'detached', timeout: 30_000 });
});

test('datagrams come faster than they are taken in: those that the kernel drops are an alert', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts');
  expect(/status of 50[0-9]|ERR_|EventSource/);
  await signInBy(page);
  const dropped = async () =>
    (await stack.socket('storaged', '/api/v1/status/storage')).json<{ statsd: { kernelDrops: number } }>().statsd
      .kernelDrops;
  assert.equal(await dropped(), 0);
  // No metric: a line that is too long is counted, and costs nothing.
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const send = (bytes: number) =>
    new Promise<void>((resolve, reject) =>
      socket.send(Buffer.alloc(bytes, 'x'), stack.statsdPort, '127.0.0.1', (error) =>
        error ? reject(error) : resolve(),
      ),
    );
  stack.hang('storaged', true);
  try {
    for (let n = 0; n < 5000; n++) await send(60_000);
  } finally {
    stack.hang('storaged', false);
  }
  await eventually(async () => {
    await send(10); // the kernel reports with the next datagram how many it dropped before
    assert.ok((await dropped()) > 0);
  }, 20_000);
  t.diagnostic(`${await dropped()} of 5000 datagrams were dropped`);
  await page
    .getByRole('list', { name: 'Active alerts' })
    .getByText(/^[\d,]+ datagrams of statsd were dropped/)
    .first()
    .waitFor({ timeout: 30_000 });
  await lookAt(page, 'alerts-dropped');
});
