// Support beside the plain bundle: options and retry, the page that is there when management is dead, crashes, services
// with their logs, web requests.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { administrator, setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, screenshots, signInBy, startBrowser, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  // Two crashes, as a supportd that has a journal notes them.
  writeFileSync(
    path.join(stack.dir, 'support/crashes.json'),
    JSON.stringify({
      cursor: '',
      crashes: [
        {
          ...{ id: '3f9c2b7a10d4e5f6', kind: 'signal', service: 'nginx', process: 'nginx', version: '0.1.0' },
          ...{ signal: 'SIGSEGV', firstAt: '2026-01-01T00:00:00Z', lastAt: '2026-01-02T00:00:00Z', count: 100 },
          ...{ stacks: '#0 0x1 epoll_wait (libc.so.6 + 0x1)', log: ['the last thing it said'], dismissed: false },
        },
      ],
    }),
  );
  await stack.stopPart('supportd');
  await stack.startPart('supportd');
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a crash is an alert and a record, and is dismissed', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts');
  await signInBy(page);
  await page
    .getByText(/Web server \(nginx\) has crashed/)
    .first()
    .waitFor();
  await page.goto(`${stack.url}/maintenance/crashes`);
  const crash = page.getByRole('region', { name: 'Crash of nginx' });
  await crash.getByText(/100 times/).waitFor();
  await crash.getByRole('button', { name: 'Stack' }).click();
  await crash.getByText('epoll_wait').waitFor();
  await lookAt(page, 'maintenance-crash');
  await crash.getByRole('button', { name: /^Dismiss/ }).click();
  await crash.getByText('It has been dismissed.').waitFor();
  await page.goto(`${stack.url}/alerts`);
  await page.getByText('Nothing is wrong').waitFor();
});

test('a bundle with options; its failed steps are run again', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance');
  await signInBy(page);
  await page.getByRole('button', { name: 'Options' }).click();
  for (const name of ['hardware', 'kernel', 'logs', 'zfs', 'network', 'services']) {
    await page.getByRole('checkbox', { name, exact: true }).uncheck();
  }
  await page.getByLabel('Replace host names').check();
  await lookAt(page, 'maintenance-options');
  await page.getByRole('button', { name: 'Make a support bundle' }).click();
  const bundle = page.getByRole('region', { name: /^Support bundle \S/ });
  await bundle.getByRole('link', { name: /^Download/ }).waitFor({ timeout: 60_000 });
  await bundle.getByText(/without host names/).waitFor();
  const [retried] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith('/retry')),
    bundle.getByRole('button', { name: 'Run the failed steps again' }).click(),
  ]);
  assert.equal(retried.status(), 202);
  await bundle.getByRole('link', { name: /^Download/ }).waitFor({ timeout: 60_000 });
});

test('its viewer shows the last day and lets one read the steps, without a network', async (t) => {
  // One that was begun before is made first.
  const id = await until('a bundle is begun', async () => {
    const body = { categories: ['identity', 'statistics', 'stacks'] };
    const made = await stack.socket('supportd', '/bundles', { body });
    return made.status === 202 && made.json<{ id: string }>().id;
  });
  // Progress is reported from the start to the end.
  const lines = (await stack.socket('supportd', `/bundles/${id}/progress`)).text.trim().split('\n');
  const last = JSON.parse(lines.at(-1) ?? '') as { state: string };
  assert.equal(last.state, 'done');
  const dir = mkdtempSync(path.join(tmpdir(), 'bundle-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const archive = path.join(stack.dir, 'support', `${id}.tar.zst`);
  execFileSync('tar', ['--zstd', '-xf', archive, '-C', dir, '--strip-components=1']);
  assert.match(readFileSync(path.join(dir, 'stacks/supportd.txt'), 'utf8'), /goroutine/);
  const browser = await startBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, offline: true });
  // A stack that has just begun has no day behind it: charts as the step writes them.
  const viewer = path.join(dir, 'viewer.html');
  const day = {
    ...{ start: 1_767_225_600, end: 1_767_312_000, step: 300 },
    charts: [
      {
        ...{ title: 'CPU utilization', unit: 'percent' },
        series: ['user', 'system'].map((label, n) => ({
          label,
          values: Array.from({ length: 288 }, (_, i) => [
            1_767_225_600 + i * 300,
            20 + 15 * Math.sin(i / (20 + n * 9)),
          ]),
        })),
      },
    ],
  };
  const text = readFileSync(viewer, 'utf8');
  assert.match(text, /const statistics = (null|\{)/);
  writeFileSync(viewer, text.replace(/const statistics = .*;\n/, `const statistics = ${JSON.stringify(day)};\n`));
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(`file://${viewer}`);
  await page.getByRole('img', { name: /CPU utilization: at most/ }).waitFor();
  await page.getByLabel('Filter').fill('versions');
  await page.getByRole('button', { name: /identity\/versions\.txt/ }).click();
  await page
    .frameLocator('iframe')
    .getByText(/Linux version/)
    .first()
    .waitFor({ state: 'attached' });
  // A frame that is out of sight is not laid out.
  await page.locator('iframe').scrollIntoViewIfNeeded();
  await page.screenshot({ path: path.join(screenshots, 'bundle-viewer.png'), fullPage: true });
  assert.deepEqual(errors, []);
});

test('services: why, needs, log; stopped and started again', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fservices');
  await signInBy(page);
  await page.getByRole('link', { name: 'Telemetry store' }).click();
  await page.getByRole('heading', { level: 1, name: 'Telemetry store' }).waitFor();
  await page.getByRole('list', { name: /^Log/ }).getByText(/ready/).first().waitFor();
  await page.getByText('Following').waitFor();
  await lookAt(page, 'service');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/It was stopped by a user/).waitFor();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.getByText(/It runs as it should/).waitFor();
  await stack.simulate('service', {
    name: 'snmpd',
    state: 'maintenance',
    reason: 'It failed too often and is not started again.',
  });
  await page.goto(`${stack.url}/services/snmpd`);
  await page.getByText(/mend the cause that its log shows, then clear it/).waitFor();
  await page.getByRole('button', { name: 'Clear and start' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clear and start' }).click();
  await page.getByText(/It runs as it should/).waitFor();
});

test('logs: filtered, live, back in time', async (t) => {
  for (let n = 0; n < 450; n++) stack.note('tracerd', `older line ${n}`);
  const { page } = await someone.visit(t, '/sign-in?to=%2Fservices%2Flogs');
  await signInBy(page);
  const log = page.getByRole('list', { name: /^Log/ });
  await page.getByLabel('Text').fill('older line');
  await page.getByLabel('Text').press('Enter');
  await log.getByText('older line 449', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Older lines' }).click();
  await log.getByText('older line 100', { exact: true }).waitFor();
  await page.getByText('Following').waitFor();
  stack.note('tracerd', 'older line that is new');
  await log.getByText('older line that is new').waitFor();
  await lookAt(page, 'logs');
  await page.getByLabel('Level').selectOption('error');
  await page.getByText('No line matches').waitFor();
});

test('web requests: by status and URL, live', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fservices%2Frequests');
  await signInBy(page);
  const table = page.getByRole('grid', { name: 'Web requests' });
  await table.getByText('/api/session').first().waitFor();
  await page.getByLabel('URL').fill('/api/no-such-*');
  await page.getByLabel('Status').fill('4xx');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('No request matches').waitFor();
  await ask(new URL('/api/no-such-thing?token=very-secret', stack.url));
  await table.getByText('/api/no-such-thing?token=[redacted]').waitFor();
  await lookAt(page, 'requests');
});

test('management is dead: the page of supportd', async (t) => {
  await stack.stopPart('akd');
  t.after(() => stack.startPart('akd'));
  const { page, expect } = await someone.visit(t, '/support/');
  expect(/status of 401/);
  await page.getByRole('textbox', { name: 'Name' }).fill(administrator.name);
  await page.getByLabel('Password').fill('not this one');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page
    .getByRole('alert')
    .getByText(/is wrong/)
    .waitFor();
  await lookAt(page, 'support-sign-in');
  await page.getByLabel('Password').fill(administrator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Options').click();
  for (const name of ['logs', 'zfs', 'hardware', 'kernel', 'network', 'services']) {
    await page.getByRole('checkbox', { name, exact: true }).uncheck();
  }
  await lookAt(page, 'support-options');
  await page.getByRole('button', { name: 'Make a support bundle' }).click();
  const bundle = page.getByRole('article').first();
  const link = bundle.getByRole('link', { name: /^Download/ });
  await link.waitFor({ timeout: 60_000 });
  await bundle.getByText('What is missing, and why').click();
  await lookAt(page, 'support');
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  assert.match(download.suggestedFilename(), /^cistern-.*\.tar\.zst$/);
  const file = await download.path();
  assert.match(execFileSync('tar', ['--zstd', '-tf', file], { encoding: 'utf8' }), /manifest\.json/);
  // Resumable: nginx itself serves it.
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const href = (await link.getAttribute('href')) ?? '';
  const part = await ask(new URL(href, stack.url), { headers: { cookie, range: 'bytes=0-3' } });
  assert.deepEqual([part.status, part.headers['content-range']?.replace(/\/.*/, '')], [206, 'bytes 0-3']);
  const other = await ask(new URL('/internal/bundles/pool/x', stack.url));
  assert.equal(other.status, 404);
  await bundle.getByRole('button', { name: /^Delete/ }).click();
  await bundle.getByText(new RegExp(`^${download.suggestedFilename()}`)).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Signed out.').waitFor();
  assert.ok(existsSync(path.join(stack.dir, 'akd/administrators.json')));
});
