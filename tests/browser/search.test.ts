// `/`: what is found of each kind, by the keys alone, and what a viewer does not find.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { setUp } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack();
  const api = await setUp(stack);
  const metrics = Array.from({ length: 9 }, (_, n) => ({ name: `kiln_zone_${n}`, labels: { host: 'kiln' }, value: n }));
  await stack.import(metrics);
  // A host is who sends from outside.
  const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' });
  const sent = await ask(new URL('/write', stack.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: 'system,host=kiln load1=2,n_cpus=8i',
  });
  assert.equal(sent.status, 204, sent.text);
  await api.get('POST', '/api/worksheets', {
    ...{ name: 'Kilns of the north', description: 'How hot the glaze gets', shared: false, rangeSeconds: 300 },
    ...{ end: null, charts: [], annotations: [] },
  });
  // The alert of this rule stays: the value is above the limit from the start.
  await api.get('POST', '/api/thresholds', {
    ...{ name: 'Kiln too hot', expression: 'kiln_zone_8', direction: 'above', raise: 7, clear: 6, severity: 'warning' },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
  });
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

async function lookFor(page: Page, text: string) {
  const field = page.getByRole('combobox', { name: /^Search/ });
  if (!(await field.isVisible())) await page.keyboard.press('/');
  await field.fill(text);
}
const of = (page: Page, kind: string) => page.getByRole('group', { name: kind, exact: true });
const chosen = (page: Page) => page.getByRole('option', { selected: true });

test('each kind has its group; the keys go through all, open the rest of one, and lead there', async (t) => {
  const { page } = await someone.visit(t, '/alerts');
  await signInBy(page);
  await page
    .getByText(/Kiln too hot/)
    .first()
    .waitFor({ timeout: 30_000 });
  await page.getByRole('heading', { level: 1 }).click();

  await lookFor(page, 'kiln');
  await of(page, 'Alerts')
    .getByRole('option', { name: /Kiln too hot/ })
    .waitFor();
  await of(page, 'Hosts').getByRole('option', { name: /^kiln/ }).waitFor({ timeout: 30_000 });
  await of(page, 'Worksheets')
    .getByRole('option', { name: /Kilns of the north/ })
    .waitFor();
  await of(page, 'Metrics').getByRole('option', { name: '5 more' }).waitFor();
  assert.equal(await of(page, 'Metrics').getByRole('option').count(), 5);
  await lookAt(page, 'search');
  while (!/5 more/.test((await chosen(page).textContent()) ?? '')) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await of(page, 'Metrics')
    .getByRole('option', { name: /kiln_zone_8/ })
    .waitFor();
  assert.equal(await of(page, 'Metrics').getByRole('option').count(), 9);
  assert.match((await chosen(page).textContent()) ?? '', /^kiln_zone_4/);
  await page.keyboard.press('ArrowUp');
  assert.match((await chosen(page).textContent()) ?? '', /^kiln_zone_3/);

  // By a label of the alert, and by what the worksheet says of itself.
  await lookFor(page, 'host=kiln');
  await of(page, 'Alerts')
    .getByRole('option', { name: /Kiln too hot/ })
    .waitFor();
  await lookFor(page, 'glaze');
  await of(page, 'Worksheets')
    .getByRole('option', { name: /Kilns of the north/ })
    .waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/analytics\/worksheets\/ws-/);

  await lookFor(page, 'measurements are kept');
  await of(page, 'Settings')
    .getByRole('option', { name: /How long measurements are kept/ })
    .waitFor();
  await lookFor(page, 'integration key');
  await of(page, 'Settings')
    .getByRole('option', { name: /Integration key/ })
    .waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/alerts\/destinations$/);

  await lookFor(page, 'what a host is');
  const section = of(page, 'Manual').getByRole('option', { name: /What a host is/ });
  await section.waitFor();
  const [manual] = await Promise.all([page.context().waitForEvent('page'), page.keyboard.press('Enter')]);
  await manual.getByRole('heading', { name: 'What a host is' }).waitFor();
  assert.match(manual.url(), /\/docs\/manual\/hosts\.html#what-a-host-is$/);
  await manual.close();

  await lookFor(page, 'there is no such thing');
  await page.getByText('Nothing is called “there is no such thing”.').waitFor();
});

test('a viewer does not find what a viewer may not see', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    const session = await response.json().catch(() => null);
    if (session?.user) session.user.role = 'viewer';
    await route.fulfill({ response, json: session });
  });
  await signInBy(page);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await lookFor(page, 'firewall');
  // The manual says what it is; nothing leads there.
  await of(page, 'Manual')
    .getByRole('option', { name: /^Firewall/ })
    .waitFor();
  await lookFor(page, 'integration key');
  await of(page, 'Settings')
    .getByRole('option', { name: /Integration key/ })
    .waitFor();
  await lookFor(page, 'only from these addresses');
  await page.getByText('Nothing is called').waitFor();
  await lookFor(page, 'firewall');
  await of(page, 'Manual').waitFor();
  assert.equal(await of(page, 'Pages').count(), 0);
  assert.equal(await of(page, 'Settings').count(), 0);
});
