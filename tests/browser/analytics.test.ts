// A metric is sent, found, drawn each second and narrowed down; a histogram shows its outliers.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';
import { latencies } from './load.ts';

let stack: Stack;
let someone: Person;
let sending: ReturnType<typeof setInterval>;
const socket = createSocket('udp4');
before(async () => {
  stack = await withStack();
  await setUp(stack);
  await stack.import(latencies('shop_checkout_seconds', 240, { host: 'web1' }));
  await stack.import(latencies('shop_checkout_seconds', 240, { host: 'web2' }));
  let count = 0;
  sending = setInterval(() => {
    count += 1;
    const packet = `shop.orders:7|c\nshop.queue:${40 + (count % 20)}|g\nshop.render:${20 + (count % 50)}|ms`;
    socket.send(packet, stack.statsdPort, '127.0.0.1');
  }, 200);
  someone = await person(stack);
});
after(async () => {
  clearInterval(sending);
  socket.close();
  await someone?.close();
  await stack?.stop();
});

test('metrics sent by statsd are found and drawn, counters as rates', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore');
  await signInBy(page);
  await page.getByRole('textbox', { name: 'Find a metric' }).fill('orders');
  await page.getByRole('link', { name: /shop.*orders/ }).click();
  await page
    .getByText(/per second/)
    .first()
    .waitFor();
  // 7 five times a second.
  await page
    .getByRole('table', { name: /^Values of/ })
    .getByRole('cell', { name: /^3[45](\.\d+)?\/s$/ })
    .first()
    .waitFor({ timeout: 30_000 });
  await page.getByLabel('Time range').selectOption('60');
  await page.getByRole('img', { name: /orders/ }).waitFor();
  assert.match(page.url(), /range=60/);
  await lookAt(page, 'analytics-counter');
  // A copied link shows the same later, unless it is to be live.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const before = Math.floor(Date.now() / 1000);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('menuitem', { name: 'To what is shown now' }).click();
  await page.getByText('Copied: it shows this moment.').waitFor();
  const link = new URL(await copied());
  const end = Number(link.searchParams.get('end'));
  assert.ok(end > before - 10 && end <= before + 10, link.href);
  assert.equal(link.searchParams.get('range'), '60');
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('menuitem', { name: /^Live: / }).click();
  await page.getByText('Copied: it shows what is live.').waitFor();
  assert.equal(new URL(await copied()).searchParams.get('end'), null);
  await page.goto(link.href);
  await page.getByText(/^Paused: 1 minute up to/).waitFor();
});

test('what is sent here comes first; dotted names are a tree; the appliance’s own are folded', async (t) => {
  await stack.import(
    Array.from({ length: 24 }, (_, n) => ({ name: `depot.${n < 12 ? 'berlin' : 'oslo'}.shelf${n}`, value: n })),
  );
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore');
  await signInBy(page);
  await page.getByRole('heading', { name: 'Sent here' }).waitFor();
  await page.getByRole('button', { name: 'depot. (24)' }).click();
  await page.getByRole('button', { name: 'depot.oslo. (12)' }).click();
  await page
    .getByRole('grid', { name: 'Metrics below depot.oslo.' })
    .getByRole('link', { name: 'depot.oslo.shelf12' })
    .waitFor();
  assert.equal(await page.getByRole('link', { name: 'depot.berlin.shelf0' }).count(), 0, 'what is folded is not drawn');
  assert.equal(await page.getByRole('link', { name: /^cistern_/ }).count(), 0);
  await lookAt(page, 'explore-list');
  await page.getByRole('button', { name: /^The appliance’s own \(\d+\)$/ }).click();
  await page
    .getByRole('grid', { name: 'The appliance’s own metrics' })
    .getByRole('link', { name: 'cistern_host_load' })
    .waitFor();
  // A search looks into both, and lists what it finds.
  await page.getByRole('textbox', { name: 'Find a metric' }).fill('SHELF1');
  await page
    .getByRole('grid', { name: 'Metrics', exact: true })
    .getByRole('link', { name: 'depot.berlin.shelf10' })
    .waitFor();
  await page.getByText('11 metrics').first().waitFor();
});

test('a breakdown lists its values; Enter narrows to one; back widens again; all of it is in the address', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%3Fmetric%3Dcistern_host_network_bytes_total');
  await signInBy(page);
  await page.getByLabel('Break down by').selectOption('direction');
  await page
    .getByRole('button', { name: /^(in|receive|rx|received)/ })
    .first()
    .waitFor();
  const value = page
    .getByRole('region', { name: /^Chart/ })
    .getByRole('rowheader')
    .first()
    .getByRole('button');
  const name = ((await value.textContent()) ?? '').trim();
  await value.press('Enter');
  await page.getByRole('menuitem', { name: 'As it is, without a breakdown' }).click();
  await page.getByRole('button', { name: `Remove the filter direction = ${name}` }).waitFor();
  assert.match(page.url(), new RegExp(`f\\.direction=${name}`));
  await page.reload();
  await page.getByRole('button', { name: `Remove the filter direction = ${name}` }).waitFor();
  await page.goBack();
  await until('the breakdown is back', async () => page.url().includes('by=direction') || undefined);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Go live' }).waitFor();
  assert.match(page.url(), /end=\d+/);
  await page.getByRole('group', { name: /^cistern_host_network_bytes_total/ }).focus();
  await page.keyboard.press('-');
  await until('the range is doubled', async () => page.url().includes('range=600') || undefined);
});

test('a histogram is a heatmap: a column’s distribution, and people beyond the limit', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%3Fmetric%3Dshop_checkout_seconds');
  await signInBy(page);
  const heatmap = page.getByRole('img', { name: /^Heatmap of shop_checkout_seconds/ });
  await heatmap.waitFor();
  await page.getByLabel('Limit').fill('1.5 s');
  await page.getByLabel('Limit').press('Enter');
  await page.getByText(/^[\d,]+ of [\d,]+ slower than 1\.5 s \([\d.]+ %\) since .+\.$/).waitFor();

  // The picture is not blank, and its background is: zero is no colour.
  const painted = await heatmap.evaluate((canvas: HTMLCanvasElement) => {
    const { data, width, height } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
      0,
      0,
      canvas.width,
      canvas.height,
    );
    let filled = 0;
    for (let at = 3; at < data.length; at += 4) if ((data[at] as number) > 0) filled += 1;
    return filled / (width * height);
  });
  assert.ok(painted > 0.05 && painted < 0.9, `${painted} of the canvas is painted`);

  const box = await heatmap.boundingBox();
  assert.ok(box);
  await page.getByRole('heading', { name: 'All that is shown' }).waitFor();
  const all = await page
    .getByRole('region', { name: /^Distribution/ })
    .getByText(/events?$/)
    .textContent();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
  await page.getByRole('region', { name: /^Distribution of .*: \d/ }).waitFor();
  const one = await page
    .getByRole('region', { name: /^Distribution/ })
    .getByText(/events?$/)
    .textContent();
  assert.notEqual(one, all);
  for (const name of ['p50', 'p90', 'p99', 'p99.9'])
    await page.getByRole('term').filter({ hasText: name }).first().waitFor();
  await lookAt(page, 'analytics-heatmap-hover');

  await page.getByLabel('Only').selectOption('host=web1');
  await page.getByRole('button', { name: 'Remove the filter host = web1' }).waitFor();
  await page.getByLabel('Outliers').selectOption('0.01');
  await page.getByText(/are not drawn/).waitFor();
});

test('statsd timers become histograms', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore');
  await signInBy(page);
  await page.getByRole('textbox', { name: 'Find a metric' }).fill('render');
  await page.getByRole('link', { name: /render/ }).click();
  await page.getByRole('img', { name: /^Heatmap/ }).waitFor();
});
