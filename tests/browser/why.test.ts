// Why these? A box is drawn on a heatmap, by pointer and by keys; the label that tells its inside from the rest comes first, and
// a click filters by it. All of it is in the address.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
const SECONDS = 240;
const end = Math.floor(Date.now() / 1000);

before(async () => {
  stack = await withStack();
  await setUp(stack);
  // Version 3 answers slowly, wherever it runs.
  const samples = ['v1', 'v2', 'v3'].flatMap((version) =>
    ['berlin', 'oslo'].flatMap((site) =>
      Array.from({ length: SECONDS }, (_, second) => ({
        name: 'shop_checkout_seconds',
        labels: { version, site },
        time: end - SECONDS + second,
        histogram: { bins: version === 'v3' ? { '0.08': 4, '1.6': 6 } : { '0.08': 6, '0.12': 4 } },
      })),
    ),
  );
  await stack.import(samples);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (more: string) =>
  `/sign-in?to=${encodeURIComponent(`/analytics/explore?metric=shop_checkout_seconds&range=300&end=${end}${more}`)}`;

test('a box on a heatmap: the label that differs most comes first, and a click filters', async (t) => {
  const { page } = await someone.visit(t, to(''));
  await signInBy(page);
  const heatmap = page.getByRole('img', { name: /^Heatmap of shop_checkout_seconds.*: 14,400 events/ });
  await heatmap.waitFor();
  await page.getByRole('button', { name: 'Why these?', exact: true }).click();
  const at = await heatmap.boundingBox();
  assert.ok(at);
  await page.mouse.move(at.x + at.width * 0.4, at.y + 13);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.8, at.y + at.height * 0.3, { steps: 4 });
  await page.mouse.up();
  const why = page.getByRole('region', { name: 'Why these?' });
  await why.getByText(/inside, .* outside, of 6 series/).waitFor();
  await until('the box is in the address', async () => page.url().includes('box='));
  await why.getByText('2 of 2 labels').waitFor();
  assert.equal(await why.getByRole('heading', { level: 4 }).first().textContent(), 'version');
  await why.getByText(/no certain difference/).waitFor();
  await lookAt(page, 'why-these');
  // The same, when the link is opened.
  await page.reload();
  await why.getByRole('button', { name: 'Show only version = v3' }).click();
  await page.getByRole('button', { name: 'Remove the filter version = v3' }).waitFor();
  await page.getByRole('img', { name: /^Heatmap of shop_checkout_seconds.*: 4,800 events/ }).waitFor();
  await page.goBack();
  await why.getByRole('button', { name: 'Close “Why these?”' }).click();
  await until('the box is gone', async () => !page.url().includes('box='));
});

test('a box is drawn by keys', async (t) => {
  const { page } = await someone.visit(t, to(''));
  await signInBy(page);
  await page.getByRole('img', { name: /^Heatmap of shop_checkout_seconds.*: 14,400 events/ }).waitFor();
  await page.getByRole('button', { name: 'Why these?', exact: true }).press('Enter');
  const plot = page.getByRole('group', { name: /Enter takes it, Escape gives it up$/ });
  await until('the plot has the keys', () => plot.evaluate((element) => element === document.activeElement));
  for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowUp']) await page.keyboard.press(key);
  await plot.getByText(/^Box: /).waitFor({ state: 'attached' });
  await page.keyboard.press('Enter');
  const why = page.getByRole('region', { name: 'Why these?' });
  await why.getByRole('button', { name: 'Show only version = v3' }).waitFor();
  // Escape gives a new one up; the old one stays.
  await page.getByRole('button', { name: 'Why these?', exact: true }).press('Enter');
  await plot.press('Escape');
  await page.getByRole('button', { name: 'Why these?', exact: true }).waitFor();
  assert.equal(await why.count(), 1);
});

test('what changed: the marked time beside the time before it, grouped, and a click away from Explore', async (t) => {
  const before = 200;
  await stack.import(
    ['h1', 'h2', 'h6'].flatMap((host) =>
      ['load', 'queue'].flatMap((what) =>
        Array.from({ length: 50 }, (_, n) => ({
          name: `shop_${what}`,
          labels: { host, shelf: `s${n % 2}` },
          time: end - 250 + 5 * n - (n % 2),
          value: 10 + (n % 7) + (host === 'h6' && n * 5 >= before ? 500 : 0),
        })),
      ),
    ),
  );
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent(`/analytics/explore?metric=shop_load&range=50&end=${end}`)}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'What changed?' }).click();
  await page.getByRole('heading', { name: 'What changed?', level: 1 }).waitFor();
  await page.getByLabel('Series', { exact: true }).selectOption('sent');
  await page.getByText(/^4 of \d+ series changed; the 2 metrics that changed most:$/).waitFor();
  await page.getByText('host = h6').waitFor();
  await page
    .getByText(/; 1 more series of this metric/)
    .first()
    .waitFor();
  await page.getByRole('img', { name: /^shop_load.*: 1 series$/ }).waitFor();
  await lookAt(page, 'what-changed');
  await page.getByRole('link', { name: /^shop_load/ }).click();
  await page.getByRole('heading', { name: /^shop_load.*only host h6/ }).waitFor();
  assert.match(page.url(), new RegExp(`end=${end}`));
  await page.goBack();
  await page.getByLabel('Compared with', { exact: true }).selectOption('week');
  await page.getByText(/^Nothing changed among/).waitFor();
  await page.getByText(/series began in this time$/).waitFor();
});

test('a full file system among forty is seen without a click: the worst is a line, and it is named', async (t) => {
  await stack.import(
    Array.from({ length: 40 }, (_, n) =>
      Array.from({ length: 30 }, (_, at) => ({
        name: 'shop_disk_used_ratio',
        labels: { host: `h${n}` },
        time: end - 60 + 2 * at,
        value: n === 17 ? 1 : 0.3 + n / 200,
      })),
    ).flat(),
  );
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent(`/analytics/explore?metric=shop_disk_used_ratio&range=60&end=${end}`)}`,
  );
  await signInBy(page);
  await page.getByText(/^40 series, drawn as the worst, the median and where eight of ten lie/).waitFor();
  await page.getByText(/with 100\s*%/).waitFor();
  await page.getByRole('img', { name: /^shop_disk_used_ratio: 4 lines/ }).waitFor();
  await lookAt(page, 'worst-of-many');
  await page.getByRole('button', { name: 'h17', exact: true }).click();
  await page.getByRole('button', { name: 'Remove the filter host = h17' }).waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Draw every series' }).click();
  await page.getByText(/^40 series, drawn as one line each/).waitFor();
  assert.match(page.url(), /every=1/);
});
