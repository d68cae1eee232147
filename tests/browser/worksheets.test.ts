// Worksheets and statistics: drawn, drilled into, moved through time, held against a limit, saved, taken away.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Download, Locator, Page } from 'playwright-core';
import { setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack({ tracerd: { historySeconds: 600, gap: { from: 200, to: 140 } } });
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;
const charts = (...list: object[]) =>
  `/analytics/charts?charts=${encodeURIComponent(JSON.stringify(list.map((chart, at) => ({ id: `c${at + 1}`, ...chart }))))}`;
const plot = (page: Page | Locator, name: string | RegExp) => page.getByRole('group', { name });

/** How much of a chart's canvas is painted within a part of its width, 0..1. */
async function painted(page: Page | Locator, name: RegExp, from = 0, until = 1): Promise<number> {
  return page.getByRole('img', { name }).evaluate(
    (canvas: HTMLCanvasElement, [left, right]) => {
      // A copy, because reading back makes a canvas slow for good.
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, 0);
      const [inner, edge] = [72 / canvas.clientWidth, 12 / canvas.clientWidth];
      const x = (share: number) => Math.round((inner + share * (1 - inner - edge)) * canvas.width);
      const width = Math.max(1, x(right as number) - x(left as number));
      const top = Math.round((canvas.height * 12) / canvas.clientHeight);
      const height = Math.round((canvas.height * (canvas.clientHeight - 40)) / canvas.clientHeight);
      const { data } = context.getImageData(x(left as number), top, width, height);
      let filled = 0;
      for (let at = 3; at < data.length; at += 4) if ((data[at] as number) > 200) filled += 1;
      return filled / (width * height);
    },
    [from, until],
  );
}

test('the ready worksheet draws this machine, live, without anybody having set it up', async (t) => {
  const { page } = await someone.visit(t, to('/analytics'));
  await signInBy(page);
  for (const name of [/^CPU utilization by mode/, /^Disk bytes by disk/, /^Network bytes by direction/]) {
    await plot(page, name).first().waitFor();
    await until(`${name} is drawn`, async () => (await painted(page, name)) > 0.05);
  }
  await page
    .getByRole('region', { name: 'Disk bytes by disk' })
    .getByRole('button', { name: 'sda', exact: true })
    .waitFor();
  await lookAt(page, 'analytics-worksheet');
});
