// Hosts: real senders, through nginx, as the page shows them; filters, actions on many, the map, a host's own page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
let token = '';
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  ({ token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' }));
  someone = await person(stack);
});
let sending: NodeJS.Timeout | undefined;
/** From now on, as an agent does. */
async function keepSending(): Promise<void> {
  await send();
  sending ??= setInterval(() => void send(), 5_000);
}
after(async () => {
  clearInterval(sending);
  await someone?.close();
  await stack?.stop();
});

/** 23 web servers in two places, the fifth of which waits; and one database. */
async function send(): Promise<void> {
  const lines = Array.from({ length: 23 }, (_, at) => {
    const tags = `host=web${at + 1},site=${at % 2 ? 'berlin' : 'oslo'},tier=front`;
    return `system,${tags} load1=${at === 4 ? 40 : 5 + at / 100},n_cpus=4i\nmem,${tags} used_percent=${40 + at}`;
  });
  lines.push('system,host=db1,site=oslo,tier=back load1=2,n_cpus=8i');
  const reply = await ask(new URL('/write', stack.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: lines.join('\n'),
  });
  assert.equal(reply.status, 204, reply.text);
}

test('before anything was sent the page says how to', async (t) => {
  const { page } = await someone.visit(t, '/hosts');
  await signInBy(page);
  await page.getByRole('heading', { name: 'No hosts yet' }).waitFor();
  await page.getByRole('link', { name: 'Inputs', exact: true }).last().click();
  await page.getByRole('heading', { level: 1, name: 'Inputs' }).waitFor();
});

test('who sends is in the table, and everything is in the address', async (t) => {
  await keepSending();
  const { page } = await someone.visit(t, '/hosts');
  await signInBy(page);
  const table = page.getByRole('table', { name: 'Hosts' });
  await table.getByRole('link', { name: 'web5', exact: true }).waitFor();
  // By waiting: the one whose run queue is the longest for its processors comes first.
  await until('the one that waits is the first', async () => {
    const first = await table.getByRole('row').nth(1).textContent();
    return (first?.includes('web5') && first.includes('90')) || undefined;
  });
  await table.getByText('90%, where the median of 24 hosts is 22%').waitFor();
  await page.getByRole('searchbox', { name: 'Search hosts' }).fill('db');
  await page.getByText('1 of 24 hosts', { exact: true }).waitFor();
  assert.equal(new URL(page.url()).search, '?search=db');
  await page.getByRole('searchbox', { name: 'Search hosts' }).fill('');
  await page.getByLabel('Group by').selectOption('site');
  await page.getByRole('textbox', { name: 'Only with the label' }).fill('tier=front');
  await page.keyboard.press('Enter');
  await page.getByText('23 of 24 hosts', { exact: true }).waitFor();
  await table.getByText(/^90%, where the median of \d+ hosts with site=oslo is/).waitFor();
  await lookAt(page, 'hosts-filtered');

  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Save this view…' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Front by site');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Front by site' }).waitFor();
  const saved = new URL(page.url()).search;
  await page.getByRole('button', { name: 'Clear all' }).click();
  await page.getByText('24 hosts', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Front by site', exact: true }).click();
  await page.getByText('23 of 24 hosts', { exact: true }).waitFor();
  assert.equal(new URL(page.url()).search, saved);
});

test('an action on many asks once, names how many, and is done once', async (t) => {
  await keepSending();
  const { page } = await someone.visit(t, '/hosts?label=site%3Dberlin');
  await signInBy(page);
  await page.getByRole('checkbox', { name: /^Choose all 11 hosts/ }).check();
  await page.getByRole('button', { name: 'Actions on 11 hosts' }).click();
  await page.getByRole('menuitem', { name: 'Silence…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Silence 11 hosts?' });
  await dialog.getByLabel('What it is for').fill('Power work');
  await dialog.getByRole('button', { name: 'Silence 11 hosts' }).click();
  await page.getByText('11 hosts silenced.').waitFor();
  await page.getByRole('table', { name: 'Hosts' }).getByText('Silenced').first().waitFor();
  const { items } = await api.get<{ items: { name: string; hosts: string[] }[] }>('GET', '/api/silences');
  assert.deepEqual([items[0]?.name, items[0]?.hosts.length], ['Power work', 11]);

  // The same silence in its form keeps its hosts.
  await page.goto(`${stack.url}/alerts/silences`);
  await page
    .getByText(/about 11 hosts/)
    .first()
    .waitFor();

  await page.goto(`${stack.url}/hosts?search=web`);
  await page.getByRole('checkbox', { name: 'Choose web1', exact: true }).check();
  await page.getByRole('button', { name: 'Actions on 1 host' }).click();
  await page.getByRole('menuitem', { name: 'Retire…' }).click();
  await page.getByRole('button', { name: 'Retire 1 host' }).click();
  await page.getByText(/0 hosts retired\. 1 host left out: web1, it still sends/).waitFor();
});

test('the map has a square for each, which the keys reach', async (t) => {
  await keepSending();
  const { page } = await someone.visit(t, '/hosts?show=map&group=site');
  await signInBy(page);
  const map = page.getByRole('application', { name: /^Map of 24 hosts/ });
  await map.focus();
  await page.keyboard.press('ArrowRight');
  await page.getByText(/^web\d+, reporting, Waiting/).waitFor();
  await lookAt(page, 'hosts-map-grouped');
  await map.focus();
  await page.keyboard.press('ArrowRight');
  const words = await page.getByText(/^web\d+, reporting/).textContent();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: (words ?? '').split(',')[0] as string, exact: true }).waitFor();
});

test('a host’s page has charts of what it sends, which become a worksheet; `/` finds it', async (t) => {
  await keepSending();
  const { page } = await someone.visit(t, '/status');
  await signInBy(page);
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: /^Search/ }).fill('web17');
  await page.getByRole('option', { name: /web17.*host, reporting/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'web17' }).waitFor();
  await page.getByText(/It reports, every/).waitFor();
  await page.getByText('site=oslo, tier=front').waitFor();
  await page.getByText('Memory in use').first().waitFor();
  await lookAt(page, 'host-own');
  const explore = await page.getByRole('link', { name: 'Explore its metrics' }).getAttribute('href');
  assert.match(explore ?? '', /f\.host=web17/);
  await page.getByRole('button', { name: 'Note and labels' }).click();
  await page.getByRole('dialog').getByLabel('Note').fill('Below the stairs');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Below the stairs').waitFor();
  await page.getByRole('button', { name: 'Keep as a worksheet' }).click();
  await page.waitForURL(/\/analytics\/worksheets\/ws-/);
  await page.getByText('Memory in use').first().waitFor();
});
